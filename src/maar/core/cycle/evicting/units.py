"""Victims come in units: a surplus pod, or a whole gang; no gang keeps too few pods.

The problem. A gang that loses one pod too many does no work and still holds its nodes. So a search
for victims must not choose among pods, but among sets of pods that may go without harm to the rest.

The units of a group, in the order in which it gives them:

1. Of a starving group (fewer pods than its standing minimum) all pods are one unit: they do no
   work.
2. Of a ready group each surplus pod, above the standing minimum, is a unit. The youngest goes
   first, which is the reverse of the order of placing. What stays must keep the minimum of each
   task too.
3. Then the whole gang is one unit.

A protected pod stays, and so does its gang, which gives only surplus. The same holds for a pod that
this cycle has bound. A group that is promised room gives nothing: it would lose what its promise is
for. Pods of a Job of batch/v1 are surplus only where the Job survives it (`batch_jobs.py`).

Invariants. Units of a group do not overlap. A unit is valid until a step changes its group; the
pools compute it again then (`unit_pool.py`). Its rank (starving first, then the lower priority,
then surplus) depends on the group alone, so pools are sorted by it.

Complexity. A unit costs one pass over the pods of its group. Where the row alone tells that all
pods are one unit (`is_whole`), no state of the group is made, and most groups of a full cluster are
such.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from maar.core.cycle.evicting.batch_jobs import LonePods
from maar.core.cycle.evicting.protection import Protection
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.placing.room import NOWHERE
from maar.core.cycle.state import State
from maar.core.tables.axis import Needs
from maar.core.tables.rows import Column, GroupRow, PodRow

Size = tuple[tuple[Needs, ...], Needs]


class Rank(NamedTuple):
    """How early a unit is evicted, before shares are compared: the smaller first."""

    is_not_starving: bool
    priority: int
    is_not_surplus: bool

    @property
    def is_whole(self) -> bool:
        """Whether these are whole gangs that can do their work; nothing of such a job would be left."""
        return self.is_not_starving and self.is_not_surplus


@dataclass(slots=True, eq=False)
class Unit:
    """Pods that are evicted together or not at all; not to be changed."""

    state: State
    row: GroupRow
    pods: tuple[PodRow, ...]
    is_surplus: bool
    is_starving: bool = False
    rank: Rank = field(init=False)  # how early it is evicted
    needs: tuple[Needs, ...] = field(init=False)  # what each of the pods needs
    used: Needs = field(init=False)  # what they use; on nodes that are not ready they use nothing

    def __post_init__(self) -> None:
        self.rank = Rank(not self.is_starving, self.row.priority, not self.is_surplus)
        if len(self.pods) == 1:
            needs, counted = self.pods[0].shape.needs, self.pods[0].counted
            self.needs, self.used = (needs,), needs if counted is not None and counted.is_used else ()
            return
        self.needs = tuple([pod.shape.needs for pod in self.pods])
        used = [pod.shape.needs for pod in self.pods if pod.counted is not None and pod.counted.is_used]
        self.used = tuple([one for needs in used for one in needs])

    @property
    def group(self) -> GroupState:
        """The group of its pods."""
        return self.state.group(self.row)

    @property
    def leaf(self) -> int:
        """The leaf queue of its group."""
        return NOWHERE if self.row.leaf is None else self.row.leaf.index

    def is_on(self, node: str) -> bool:
        """Whether all its pods are on a node."""
        return self.pods[0].node_name == node and (
            len(self.pods) == 1 or all(pod.node_name == node for pod in self.pods)
        )

    @property
    def resources(self) -> frozenset[int]:
        """The resources that its pods ask for."""
        return _resources(self.needs)

    @property
    def size(self) -> Size:
        """What its pods need and use: of units of equal size as many may be taken."""
        return (self.needs, self.used)

    def left_of(self, used: Column) -> Column:
        """What is left of what its job, its namespace or its queue uses once it is gone."""
        left = list(used)
        for resource, amount in self.used:
            left[resource] -= amount
        return left


@lru_cache(maxsize=1024)
def _resources(needs: tuple[Needs, ...]) -> frozenset[int]:
    return frozenset([resource for each in needs for resource, _ in each])


def is_gang(group: GroupState, pods: Sequence[PodRow]) -> bool:
    """Whether these pods alone are enough for the group's standing minimum, and for that of each task."""
    row, least = group.row, group.standing_minimum
    if len(pods) < least or least < row.min_member:
        return len(pods) >= least
    return all(sum(pod.task == task for pod in pods) >= least for task, least in row.min_task_member.items())


def is_whole(row: GroupRow) -> bool:
    """Whether the pods of a group that no step has changed are one unit, which they give next if any.

    They all stay on nodes, and are no more than its standing minimum.
    """
    count = len(row.pods)
    return row.stays == count <= row.standing_minimum == row.min_member and not row.min_task_member


def whole_unit(
    state: State, row: GroupRow, protection: Protection, young: Collection[str] = ()
) -> Unit | None:
    """The unit that such a group would give; its state is not needed for it."""
    pods, is_starving = tuple(row.pods.values()), len(row.pods) < row.min_member
    for pod in pods:
        if protection.covers(pod) or (pod.key in young and not is_starving):
            return None
    if len(pods) > 1:
        pods = tuple(sorted(pods, key=state.pod_order, reverse=True))
    return Unit(state, row, pods, is_surplus=False, is_starving=is_starving)


def next_unit(
    state: State, group: GroupState, protection: Protection, node: str = "", young: Collection[str] = ()
) -> Unit | None:
    """The unit that a group would give next, anywhere or on one node."""
    return next(units_of(state, group, protection, node, young), None)


def units_of(
    state: State,
    group: GroupState,
    protection: Protection,
    node: str = "",
    young: Collection[str] = (),  # keys of pods that have not run for the minimum run time
) -> Iterator[Unit]:
    """The units that a group would give one after the other: surplus pods, then the whole gang.

    Pods of a Job of batch/v1 that an eviction could end or delay are no surplus. A starving group's pods are
    one unit, however young. A gang with a protected pod gives only surplus.
    """
    pods = sorted(state.holders(group), key=state.pod_order, reverse=True)
    if any(pod.key in state.promised for pod in group.row.pods.values()):
        return  # room is being freed for it; evicting a part would leave it with too few pods
    near = [pod for pod in pods if not node or pod.node_name == node]
    if not near:
        return
    free = [pod for pod in near if not protection.covers(pod)]
    is_free = len(free) == len(pods)
    if group.is_starving:
        if is_free:
            yield Unit(state, group.row, tuple(pods), is_surplus=False, is_starving=True)
        return
    if young:
        free = [pod for pod in free if pod.key not in young]
        is_free = len(free) == len(pods)
    new, alone = state.newly_bound(group), LonePods(state, pods)
    for pod in free if len(new) + len(pods) > group.standing_minimum else ():
        left = [other for other in pods if other is not pod]
        if is_gang(group, [*new, *left]) and alone.take(pod):
            yield Unit(state, group.row, (pod,), is_surplus=True)
            pods = left
    is_whole = group.row.min_member > 0 or alone.go_with_job
    if pods and is_whole and is_free and not new:  # what is just being bound cannot go with it
        yield Unit(state, group.row, tuple(pods), is_surplus=False)
