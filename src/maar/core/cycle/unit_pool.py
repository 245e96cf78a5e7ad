"""The units of one leaf in the order in which they pay, kept while an action runs."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from heapq import merge
from itertools import repeat

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.protection import Protection
from maar.core.cycle.state import State
from maar.core.cycle.units import Rank, Unit, next_unit
from maar.core.tables.rows import GroupOrder

Job = tuple[float, GroupOrder, str]  # what it uses, its order and its key: the largest pays first
MayPay = Callable[[Rank, str, float], bool]  # the rank, the namespace, and what that uses per weight


class UnitPool:
    """Units by rank, then by namespace and job: those that use most pay first.

    Whole namespaces are passed over where nobody there can have to pay: a cluster is full of units, and each
    of the many who wait must not look at every one of them.
    """

    def __init__(self, state: State, leaf: int, protection: Protection) -> None:
        self.state, self.leaf, self.protection = state, leaf, protection
        self._units: dict[str, tuple[Unit, Job]] = {}
        self._jobs: dict[Rank, dict[str, list[Job]]] = {}  # by namespace, sorted
        self._shares: dict[str, float] = {}  # of namespaces, per weight
        for row in state.ledger.rows[leaf].groups.values():
            if any(pod.node_name for pod in row.pods.values()):
                self.refresh(state.group(row))

    def refresh(self, group: GroupState) -> None:
        """Work out anew what a group would give."""
        key, namespace = group.row.key, group.row.namespace
        self._shares[namespace] = self.state.namespace_share(self.leaf, namespace)
        known = self._units.pop(key, None)
        if known is not None:
            unit, job = known
            jobs = self._jobs[unit.rank][namespace]
            del jobs[bisect_left(jobs, job)]
        new = next_unit(self.state, group, self.protection)
        if new is not None:
            job = (self.state.ledger.dominant(group.used), group.row.order, key)
            self._units[key] = new, job
            insort(self._jobs.setdefault(new.rank, {}).setdefault(namespace, []), job)

    def in_order(self, may_pay: MayPay) -> Iterator[Unit]:
        """Units of the namespaces that may have to pay, the first to pay first; of equals the job decides."""
        for rank in sorted(self._jobs):
            paying = [
                zip(repeat(self._shares[namespace]), reversed(jobs))
                for namespace, jobs in self._jobs[rank].items()
                if jobs and may_pay(rank, namespace, self._shares[namespace])
            ]
            for _, job in merge(*paying, reverse=True):
                yield self._units[job[-1]][0]

    def __contains__(self, key: str) -> bool:
        return key in self._units

    def unit_on(self, node: str, key: str, may_pay: MayPay) -> Unit | None:
        """What a group would give on one node: its unit if that is nowhere else, or a surplus pod."""
        unit, _ = self._units[key]
        namespace = unit.group.row.namespace
        if not may_pay(unit.rank, namespace, self._shares[namespace]):
            return None
        if unit.is_surplus:
            return next_unit(self.state, unit.group, self.protection, node)
        return unit if all(pod.node_name == node for pod in unit.pods) else None
