"""Evictions: for a beneficiary whose turn it is, units are taken until it fits, then all that was not needed.

The whole plan is simulated in a trial: the victims gone, the beneficiary's pods on their nodes. Unless that
works out nothing is evicted.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from maar.core.cycle.allocate import for_eviction
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.order import Turns
from maar.core.cycle.protection import Protection
from maar.core.cycle.room import NOWHERE
from maar.core.cycle.state import Eviction, State
from maar.core.cycle.units import Pool, Unit, is_gang, next_unit
from maar.core.tables.axis import Needs


class Hunt:
    """What one action shares over all its attempts: pools of victims, budgets, protection."""

    def __init__(self, state: State, action: Literal["reclaim", "preempt"]) -> None:
        self.state, self.action, self.budgets = state, action, state.budgets
        self.protection = Protection(state.tables, state.configuration, action)
        self._pools: dict[int, Pool] = {}

    def pool(self, leaf: int) -> Pool:
        """The units of a leaf."""
        if leaf not in self._pools:
            self._pools[leaf] = Pool(self.state, leaf, self.protection)
        return self._pools[leaf]

    def refresh(self, group: GroupState) -> None:
        """What a group holds has changed."""
        if group.leaf in self._pools:
            self._pools[group.leaf].refresh(group)

    def run(self, attempt: "type[Attempt]") -> None:
        """Let every group in allocate's order try until it succeeds no more."""
        waiting = [group for group in self.state.waiting() if group.pending and self.state.is_admitted(group)]
        turns = Turns(self.state, "fair", waiting)
        while group := turns.next():
            victims = attempt(self, group).succeeds()
            if victims is None:
                turns.done(group)
                continue
            group.pending = [pod for pod in group.pending if pod.key not in self.state.promised]
            self.refresh(group)
            if group.pending:
                turns.again(group)
            else:
                turns.done(group)
            for victim in {unit.group.row.key: unit.group for unit in victims}.values():
                turns.refresh_group(victim)


class Attempt:
    """One try to make room for one group."""

    action: ClassVar[Literal["reclaim", "preempt"]]

    def __init__(self, hunt: Hunt, group: GroupState) -> None:
        self.hunt, self.state, self.books = hunt, hunt.state, hunt.state.books
        self.group, self.leaf = group, group.leaf
        self.pods = for_eviction(group)
        amounts: dict[int, int] = {}
        for pod in self.pods:
            for resource, amount in pod.shape.needs:
                amounts[resource] = amounts.get(resource, 0) + amount
        self.request: Needs = tuple(amounts.items())
        self.saw_candidates = False  # whether anybody at all could have been taken
        self.held_before = {
            queue: list(self.books.held[queue]) for queue in (*self.books.paths[self.leaf], 0)
        }

    # --- what the actions differ in

    def is_worthwhile(self) -> bool:
        """Whether there is anything to try."""
        return bool(self.pods)

    def leaves(self) -> Sequence[int]:
        """The leaves that may have to pay, the first to pay first."""
        raise NotImplementedError

    def may_take(self, unit: Unit) -> bool:
        """Whether a unit may be taken after those that have been."""
        raise NotImplementedError

    def allows(self) -> bool:
        """Whether the beneficiary's queue may grow by its request, with the victims gone."""
        raise NotImplementedError

    def refusal(self, unit: Unit) -> object:
        """What units have in common that are refused for the same reason: what they give."""
        return tuple(pod.shape.needs for pod in unit.pods)

    # --- the search

    def succeeds(self) -> list[Unit] | None:
        """Evict and promise if a lawful set exists, anywhere or on one node alone; say who had to go."""
        if not self.is_worthwhile():
            return None
        taken = self._collect(None)
        for node in self._hopeful_nodes() if taken is None and self.saw_candidates else ():
            taken = self._collect(node)
            if taken is not None:
                break
        if not taken:
            return None
        self._commit(taken)
        return taken

    def _collect(self, node: int | None) -> list[Unit] | None:
        """Take units in order until the beneficiary fits; then trim, and check again."""
        with self.state.trial():
            taken: list[Unit] = []
            while not self._fits():
                unit = next(self._candidates(node), None)
                if unit is None:
                    break
                self._take(unit)
                taken.append(unit)
            found = bool(taken) and self._fits()
        self._put_back(taken)
        if not found:
            return None
        taken = self._trimmed(taken)
        return taken if self._is_lawful(taken) else None

    def _candidates(self, node: int | None) -> Iterator[Unit]:
        """The units that may be taken next, the first to pay first."""
        for leaf in self.leaves():
            refused: set[object] = set()
            for unit in self.hunt.pool(leaf).in_order() if node is None else self._units_on(node, leaf):
                if unit.group is self.group or not self.hunt.budgets.allow(unit.pods):
                    continue
                alike = self.refusal(unit)
                if alike not in refused and self.may_take(unit):
                    self.saw_candidates = True
                    yield unit
                refused.add(alike)

    def _units_on(self, node: int, leaf: int) -> list[Unit]:
        """The units of a leaf that are on one node, in the order in which they pay."""
        state, row = self.state, self.state.room.nodes[node]
        groups = {pod.group.key: pod.group for pod in row.pods.values() if pod.group is not None}
        rows = [group for group in groups.values() if group.leaf is not None and group.leaf.index == leaf]
        units = [next_unit(state, state.group(one), self.hunt.protection, row.name) for one in rows]

        def order(unit: Unit) -> tuple[object, ...]:
            one = unit.group.row
            namespace, job = state.namespace_share(leaf, one.namespace), self.books.dominant(unit.group.used)
            return (unit.rank, -namespace, -job, -one.created, one.key)

        return sorted((unit for unit in units if unit is not None), key=order)

    def _take(self, unit: Unit) -> None:
        for pod in unit.pods:
            self.state.evict(pod)
        self.hunt.budgets.spend(unit.pods)
        self.hunt.refresh(unit.group)

    def _put_back(self, taken: Sequence[Unit]) -> None:
        """The trial is over: the pools see the units again."""
        for unit in taken:
            self.hunt.budgets.spend(unit.pods, -1)
            self.hunt.refresh(unit.group)

    def _fits(self) -> bool:
        """Whether the beneficiary may grow and finds its places, with the victims gone."""
        if not self.allows():
            return False
        with self.state.trial():
            return self._promise()

    def _promise(self) -> bool:
        for pod in self.pods:
            node = self.state.places.best(pod, "later")
            if node == NOWHERE:
                return False
            self.state.promise(pod, node)
        return True

    def _works_with(self, units: Sequence[Unit]) -> bool:
        with self.state.trial():
            for unit in units:
                for pod in unit.pods:
                    self.state.evict(pod)
            return self._fits() and self._cripples_nobody(units)

    def _trimmed(self, taken: list[Unit]) -> list[Unit]:
        """Drop what was not needed, from the most important unit down."""
        for unit in reversed(list(taken)):
            rest = [other for other in taken if other is not unit]
            if self._works_with(rest):
                taken = rest
        return taken

    def _cripples_nobody(self, units: Sequence[Unit]) -> bool:
        for unit in units:
            left = [*self.state.holders(unit.group), *self.state.newly_bound(unit.group)]
            if left and not is_gang(unit.group.row, left):
                return False
        return True

    def _is_lawful(self, taken: Sequence[Unit]) -> bool:
        """Check every unit again after the trimming, in order."""
        with self.state.trial():
            for unit in taken:
                if not self.may_take(unit):
                    return False
                for pod in unit.pods:
                    self.state.evict(pod)
            return bool(taken) and self._cripples_nobody(taken) and self._fits()

    def _commit(self, taken: Sequence[Unit]) -> None:
        with self.state.trial() as trial:
            for unit in taken:
                self._take(unit)
                for pod in unit.pods:
                    self.state.record(Eviction(pod, self.group.row, self.action))
            self._promise()
            trial.keep()

    def _hopeful_nodes(self) -> list[int]:
        """Nodes where the first pod would fit if all of the leaves in question that is there were gone."""
        leaves, room, needs = set(self.leaves()), self.state.room, self.pods[0].shape.needs
        nodes = []
        for row in room.nodes if leaves else ():
            freed = dict.fromkeys((resource for resource, _ in needs), 0)
            for pod in row.pods.values() if row.is_usable else ():
                leaf = pod.group.leaf if pod.group is not None else None
                if (
                    leaf is not None
                    and leaf.index in leaves
                    and not pod.is_terminating
                    and pod.key not in self.state.gone
                ):
                    for resource, amount in pod.shape.needs:
                        freed[resource] = freed.get(resource, 0) + amount
            later = room.later[row.index]
            if any(freed.values()) and all(
                later[resource] - freed[resource] + amount <= row.allocatable[resource]
                for resource, amount in needs
            ):
                nodes.append(row.index)
        return nodes
