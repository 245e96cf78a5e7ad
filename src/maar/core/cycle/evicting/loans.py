"""Loans: units that alone exceed what their queue deserves, and so can never run within it.

Of such a unit reclaim asks only that its queue is overused, and for all other units it counts as if
those on loan were gone: what a queue has within its share is not evicted for the queue's loans.

A unit is part of what its group uses, so a queue without a group that uses more than the queue
deserves has nothing on loan. Most queues have none, and their units are not looked at.
"""

from collections.abc import Collection, Iterator, Mapping

from maar.core.cycle.evicting.protection import Protection
from maar.core.cycle.evicting.units import Unit, units_of
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.state import State
from maar.core.tables.axis import Needs
from maar.core.tables.counting import add_needs
from maar.core.tables.rows import Column, PodRow


def would_run_on_loan(needs: Needs, deserved: Column) -> bool:
    """Whether what starts together is, on some resource, more than its queue deserves."""
    return any(amount > deserved[resource] for resource, amount in needs)


class Loans:
    """What of every leaf is on loan while an action runs."""

    def __init__(self, state: State, protection: Protection) -> None:
        self.state, self._protection = state, protection
        self._groups = {row.index: self._large_groups(row.index) for row in state.ledger.rows if row.is_leaf}

    def of(self, resources: Collection[int]) -> "LoanedPods":
        """The pods that are on loan on one of these resources."""
        ledger, pods = self.state.ledger, dict[str, tuple[int, PodRow]]()
        for leaf, groups in self._groups.items():
            for group in groups:
                for unit in self._on_loan(group, ledger.deserved[leaf], resources):
                    pods.update({pod.key: (leaf, pod) for pod in unit.pods})
        return LoanedPods(self.state, pods)

    def _large_groups(self, leaf: int) -> list[GroupState]:
        """The groups of a leaf that use more of some resource than it deserves."""
        row, deserved = self.state.ledger.rows[leaf], self.state.ledger.deserved[leaf]
        if all(used <= most for used, most in zip(row.used, deserved, strict=True)):
            return []
        return [
            self.state.group(group)
            for group in row.groups.values()
            if group.used and any(used > most for used, most in zip(group.used, deserved, strict=False))
        ]

    def _on_loan(self, group: GroupState, deserved: Column, resources: Collection[int]) -> Iterator[Unit]:
        """Units that exceed what the leaf deserves, and all surplus of a gang that does."""
        units = list(units_of(self.state, group, self._protection))
        gang = [unit for unit in units if not unit.is_surplus]
        is_gang_on_loan = any(_exceeds(unit, deserved, resources) for unit in gang)
        for unit in units:
            if is_gang_on_loan or _exceeds(unit, deserved, resources):
                yield unit


def _exceeds(unit: Unit, deserved: Column, resources: Collection[int]) -> bool:
    """Whether a unit uses more than deserved; pods on nodes that are not ready use nothing."""
    amounts = dict.fromkeys(resources, 0)
    for pod in unit.pods:
        if pod.counted is not None and pod.counted.is_used:
            for resource, amount in pod.shape.needs:
                if resource in amounts:
                    amounts[resource] += amount
    return any(amount > deserved[resource] for resource, amount in amounts.items())


class LoanedPods:
    """The pods that were on loan when an attempt began."""

    def __init__(self, state: State, pods: Mapping[str, tuple[int, PodRow]]) -> None:
        self._state, self._pods = state, pods

    @property
    def are_any(self) -> bool:
        """Whether there are any."""
        return bool(self._pods)

    def has(self, unit: Unit) -> bool:
        """Whether a unit is on loan."""
        return bool(self._pods) and unit.pods[0].key in self._pods

    def left(self) -> dict[int, Column]:
        """What those of them use that are still there, by queue."""
        found = dict[int, Column]()
        if not self._pods:
            return found
        ledger = self._state.ledger
        for leaf, pod in self._pods.values():
            if pod.key not in self._state.gone and pod.counted is not None and pod.counted.is_used:
                for queue in ledger.paths[leaf]:
                    column = found.setdefault(queue, [0] * len(ledger.total))
                    add_needs(column, pod.shape.needs, 1)
        return found
