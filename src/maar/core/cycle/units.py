"""Victims come in units: a surplus pod, or a whole gang; never one that leaves a gang crippled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.heaps import LazyHeap
from maar.core.cycle.protection import Protection
from maar.core.cycle.state import State
from maar.core.tables.rows import GroupRow, PodRow

Class = tuple[bool, int, bool]  # not starving, priority, not surplus: the smaller pays first


@dataclass(frozen=True, slots=True)
class Unit:
    """Pods that go together or stay together."""

    group: GroupState
    pods: tuple[PodRow, ...]
    is_surplus: bool
    is_starving: bool = False

    @property
    def rank(self) -> Class:
        """How early it pays, before shares are compared."""
        return (not self.is_starving, self.group.row.priority, not self.is_surplus)


def is_gang(row: GroupRow, pods: Sequence[PodRow]) -> bool:
    """Whether these pods alone are enough for the group's minimum, and for that of each task."""
    if len(pods) < row.min_member:
        return False
    return all(sum(pod.task == task for pod in pods) >= least for task, least in row.min_task_member.items())


def next_unit(state: State, group: GroupState, protection: Protection, node: str = "") -> Unit | None:
    """The unit that a group would give next, anywhere or on one node: a surplus pod, else the whole gang.

    A starving group's pods are one unit. A gang with a protected pod gives only surplus.
    """
    pods = sorted(state.holders(group), key=lambda pod: (pod.priority, -pod.number, pod.created, pod.key))
    if any(pod.key in state.promised for pod in group.row.pods.values()):
        return None  # room is being freed for it; taking part of it would cripple it
    near = [pod for pod in pods if not node or pod.node_name == node]
    if not near:
        return None
    free = [pod for pod in near if not protection.covers(pod)]
    is_free = len(free) == len(pods)
    if not group.is_ready:
        return Unit(group, tuple(pods), is_surplus=False, is_starving=True) if is_free else None
    new = state.newly_bound(group)
    for pod in free:
        if is_gang(group.row, [*new, *(other for other in pods if other is not pod)]):
            return Unit(group, (pod,), is_surplus=True)
    is_whole = group.row.min_member > 0 and is_free and not new  # what is just being bound cannot go with it
    return Unit(group, tuple(pods), is_surplus=False) if is_whole else None


class Pool:
    """The units of one leaf in the order in which they pay; kept while an action runs."""

    def __init__(self, state: State, leaf: int, protection: Protection) -> None:
        self.state, self.leaf, self.protection = state, leaf, protection
        self._units: dict[str, Unit] = {}
        self._classes: dict[Class, LazyHeap[str]] = {}  # namespaces
        self._groups: dict[tuple[Class, str], LazyHeap[str]] = {}
        for row in state.books.rows[leaf].groups.values():
            if any(pod.node_name for pod in row.pods.values()):
                self.refresh(state.group(row))

    def refresh(self, group: GroupState) -> None:
        """Work out anew what a group would give."""
        key, namespace = group.row.key, group.row.namespace
        old = self._units.pop(key, None)
        unit = next_unit(self.state, group, self.protection)
        if old is not None:
            self._groups[old.rank, namespace].drop(key)
        if unit is not None:
            self._units[key] = unit
            self._classes.setdefault(unit.rank, LazyHeap())
            self._put_job(unit)
        for rank in self._classes:
            self._put_namespace(rank, namespace)

    def in_order(self) -> Iterator[Unit]:
        """Units, the first to pay first; one that is given comes once."""
        for rank in sorted(self._classes):
            yield from self._of_class(rank)

    def _of_class(self, rank: Class) -> Iterator[Unit]:
        given: list[str] = []
        try:
            while (first := self._classes[rank].first()) is not None:
                namespace = first[-1]
                jobs = self._groups[rank, namespace]
                job = jobs.first()
                if job is not None:
                    jobs.drop(job[-1])
                    given.append(job[-1])
                self._put_namespace(rank, namespace)
                if job is not None:
                    yield self._units[job[-1]]
        finally:
            for key in given:
                unit = self._units.get(key)
                if unit is not None and unit.rank == rank:
                    self._put_job(unit)
                    self._put_namespace(rank, unit.group.row.namespace)

    def _put_job(self, unit: Unit) -> None:
        row = unit.group.row
        job = (-self.state.books.dominant(unit.group.used), -row.created, row.key)
        self._groups.setdefault((unit.rank, row.namespace), LazyHeap()).put(job)

    def _put_namespace(self, rank: Class, namespace: str) -> None:
        """Namespaces by what they use per weight; of equals the one whose job pays first."""
        jobs = self._groups.get((rank, namespace))
        first = jobs.first() if jobs is not None else None
        if first is None:
            self._classes[rank].drop(namespace)
        else:
            share = self.state.namespace_share(self.leaf, namespace)
            self._classes[rank].put((-share, *first, namespace))
