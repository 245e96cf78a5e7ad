"""What pods make of their group: its phase, whether it is ready, and what it asks for, holds and waits for.

The phase follows the pods. The stored one only shows what pods cannot: that a group was let in
before it had pods, or had completed before they were deleted.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final

from maar.core.model.pod_group import PodGroupPhase
from maar.core.tables.axis import PODS_ROW, Needs, ResourceAxis
from maar.core.tables.counting import add
from maar.core.tables.rows import AmountColumn, GroupRow, Holding, PodRow, QueueRow
from maar.core.tables.tolerated import Tolerated

ADMITTED_PHASES: Final = ("Inqueue", "Running", "Unknown")


def is_finished(group: GroupRow) -> bool:
    """Whether a group has done its work: none of its pods is live, or it completed and has no pods left."""
    for pod in group.pods.values():
        if pod.is_live:
            return False
    return bool(group.pods) or group.stored_phase == "Completed"


def _phase_before(group: GroupRow) -> PodGroupPhase:
    """The phase with which a cycle finds a group.

    A group with a pod on a node, or with the promise of one, has been let in. One without is to be let in,
    unless it was and has not had pods yet: whatever else is stored belongs to pods that have gone or ended.
    """
    if is_finished(group):
        return "Completed"
    stored, was_admitted = group.stored_phase, group.stored_phase in ADMITTED_PHASES
    for pod in group.pods.values():
        is_placed = pod.is_live and (pod.node_name or pod.counted is not None)
        if is_placed and (was_admitted or not pod.is_terminating):
            return stored if was_admitted else "Inqueue"
    return "Inqueue" if stored == "Inqueue" else "Pending"


def phase_with(
    group: GroupRow, phase: PodGroupPhase, there: Iterable[PodRow], *, is_unschedulable: bool
) -> PodGroupPhase:
    """The phase of an unfinished group after a cycle that found or left it in `phase`, and these on nodes.

    Pods that leave or have ended still count towards minMember: a gang runs on when a member has failed.
    """
    count, is_running, stays, leaves = 0, False, False, False
    for pod in there:
        count += 1
        is_running |= pod.is_running
        stays |= pod.is_live and not pod.is_terminating
        leaves |= pod.is_live and pod.is_terminating
    if stays or (leaves and phase != "Pending"):
        if is_unschedulable and is_running:
            return "Unknown"
        if count >= group.min_member:
            return "Running"
    if stays:
        return "Unknown" if is_running else "Inqueue"
    return "Inqueue" if phase == "Inqueue" else "Pending"


def phase_at_rest(group: GroupRow) -> PodGroupPhase:
    """The phase of a group that no cycle had to look at."""
    before = _phase_before(group)
    if before == "Completed":
        return before
    there = [pod for pod in group.pods.values() if pod.node_name]
    return phase_with(group, before, there, is_unschedulable=is_short(group))


def is_ready(group: GroupRow) -> bool:
    """Whether enough pods of a group, and of each task, have a place; as it was last summed up."""
    least = group.min_task_member
    return group.placed >= group.min_member and all(group.tasks[task] >= least[task] for task in least)


def ready_with(group: GroupRow) -> int | None:
    """The minMember that a group is ready with, by pods that are on nodes; None while it is not."""
    there = [
        pod
        for pod in group.pods.values()
        if pod.has_succeeded or (pod.node_name and pod.is_live and not pod.is_terminating)
    ]
    holds = any(pod.is_live for pod in there)
    return group.min_member if holds and len(there) >= group.min_member and _has_tasks(group, there) else None


def _has_tasks(group: GroupRow, pods: Sequence[PodRow]) -> bool:
    least = group.min_task_member
    return not least or all(sum(pod.task == task for pod in pods) >= least[task] for task in least)


def is_short(group: GroupRow) -> bool:
    """Whether a group holds nodes and has fewer pods there than minMember; pods that ended there count."""
    if not group.placed or is_ready(group):
        return False
    there = [pod for pod in group.pods.values() if pod.node_name]
    if not any(pod.is_live and not pod.is_terminating for pod in there):
        return False
    return len(there) < group.min_member or not _has_tasks(group, there)


def sum_up(group: GroupRow, axis: ResourceAxis) -> None:
    """Compute again what a group's pods request, hold and wait for."""
    placed, gated = _sort_out(group)
    live = [*[pod for pod in placed if pod.is_live], *group.pending] if placed else group.pending
    if group.min_task_member:
        group.tasks = {task: sum(pod.task == task for pod in placed) for task in group.min_task_member}
    group.used = _together(_holders_of(placed), axis) if placed else ()
    shapes = {pod.shape for pod in live} if len(live) > 1 else [pod.shape for pod in live]
    group.tolerations = (
        next(iter(shapes)).toleration_set
        if len(shapes) == 1
        else frozenset([shape.tolerations for shape in shapes])
    )
    group.to_start = _to_start(group, live, gated)
    group.phase = _phase_before(group)
    group.phase_if_well = _phase_if_well(group)
    group.asked = group.admitted = ()
    if group.phase != "Completed":
        group.asked = _together(live, axis, group.to_start)
        if placed and any(pod.is_live for pod in placed):
            group.admitted = _admitted_with(group, axis)


def _phase_if_well(group: GroupRow) -> PodGroupPhase:
    """The phase of a group after a cycle that does nothing to it, if it is not unschedulable."""
    if group.phase == "Completed":
        return "Completed"
    if not group.on_nodes:
        return "Inqueue" if group.phase == "Inqueue" else "Pending"
    there = [pod for pod in group.pods.values() if pod.node_name]
    return phase_with(group, group.phase, there, is_unschedulable=False)


def is_not_started(group: GroupRow) -> bool:
    """Whether a group was let in and holds nothing; one that was evicted whole and has no new pods leaves."""
    if group.admitted or group.phase not in ADMITTED_PHASES:
        return False
    return group.phase == "Inqueue" or bool(group.pending)


def _sort_out(group: GroupRow) -> tuple[list[PodRow], list[PodRow]]:
    """Find the pods that wait, in order; give those with a place, the succeeded included, and the gated."""
    pending, placed, gated, on_nodes, stays = [], [], [], 0, 0
    group.has_queue_gate = False
    for pod in group.pods.values():
        if pod.node_name:
            on_nodes += 1
        if pod.is_live and not pod.is_terminating:
            group.has_queue_gate |= bool(pod.queue_gate) and not pod.node_name
            if pod.node_name:
                stays += 1
                placed.append(pod)
            elif pod.counted is not None:
                placed.append(pod)
            elif pod.is_gated:
                gated.append(pod)  # it counts in no request yet
            else:
                pending.append(pod)
        elif pod.has_succeeded:
            placed.append(pod)
    if len(pending) > 1:
        pending.sort(key=attrgetter("order"))
    group.pending, group.gated, group.placed = pending, len(gated), len(placed)
    group.on_nodes, group.stays = on_nodes, stays
    return placed, gated


def _to_start(group: GroupRow, live: Sequence[PodRow], gated: Sequence[PodRow]) -> Needs | None:
    """What a group with minResources needs to start, for the gate, its queue's request and what is admitted.

    Its first minMember pods, less those that have succeeded, say so where minResources is less: operators
    leave resources out or write wrong units. What pods with scheduling gates ask for is taken off. Pods are
    counted where minResources does.
    """
    if group.min_resources is None:
        return None
    succeeded = group.placed + len(group.pending) - len(live)
    needed = max(min(1, group.min_member), group.min_member - succeeded)
    first = sorted(live, key=attrgetter("order"))[:needed] if len(live) > needed else live
    return _larger_of(
        group.min_resources,
        tuple([pod.shape.needs for pod in gated]),
        tuple([pod.shape.needs for pod in first]),
    )


@lru_cache(maxsize=4096)
def _larger_of(least_stated: Needs, gated: tuple[Needs, ...], first: tuple[Needs, ...]) -> Needs:
    """The larger of what is stated, less what gated pods ask for, and what the first pods ask for."""
    least, together = dict(least_stated), dict[int, int]()
    for needs in gated:
        for row, amount in needs:
            least[row] = max(0, least.get(row, 0) - amount)
    for needs in first:
        for row, amount in needs:
            together[row] = together.get(row, 0) + amount
    if PODS_ROW not in least:
        together.pop(PODS_ROW, None)
    for row, amount in together.items():
        least[row] = max(least.get(row, 0), amount)
    return tuple([(row, amount) for row, amount in sorted(least.items()) if amount])


def lacks_gated_pods(group: GroupRow) -> bool:
    """Whether a group cannot start before scheduling gates of its pods are gone."""
    return group.gated > 0 and group.placed + len(group.pending) < group.min_member


def are_all_gated(group: GroupRow) -> bool:
    """Whether no pod of a group may be placed before scheduling gates are gone, and there is one."""
    return group.gated > 0 and not group.placed and not group.pending


def missing_group_key(pod: PodRow) -> str:
    """The key in a plan of what holds a pod without a group; no key of a group has two slashes."""
    return pod.group_key or f"{pod.namespace}/pod/{pod.key.rpartition('/')[2]}"


def _holders_of(pods: Iterable[PodRow]) -> list[PodRow]:
    """The pods that count as using what they ask for."""
    return [pod for pod in pods if pod.counted is not None and pod.counted.is_used]


def _admitted_with(group: GroupRow, axis: ResourceAxis) -> AmountColumn:
    """The larger of what a group needs to start and what its pods hold without surplus above minMember."""
    holders = sorted(_holders_of(group.pods.values()), key=attrgetter("order"))
    return _together(holders[: group.min_member], axis, group.to_start)


def _together(pods: Iterable[PodRow], axis: ResourceAxis, least: Needs | None = None) -> AmountColumn:
    """What pods need together, and no less than some amounts."""
    return _sum_of(tuple([pod.shape.needs for pod in pods]), least, len(axis.names))


@lru_cache(maxsize=4096)  # thousands of groups are of few kinds
def _sum_of(pods: tuple[Needs, ...], least: Needs | None, resources: int) -> AmountColumn:
    column = [0] * resources
    for needs in pods:
        for row, amount in needs:
            column[row] += amount
    for row, amount in least or ():
        column[row] = max(column[row], amount)
    return tuple(column)


def attach(group: GroupRow, queue: QueueRow | None) -> None:
    """Count a group in the queue that it names, if that is a leaf."""
    group.leaf = queue if queue is not None and queue.is_leaf else None
    if group.leaf is not None:
        group.leaf.groups[group.key] = group
        group.leaf.members[group.namespace] += 1
        group.leaf.changes += 1


def count_in(leaf: QueueRow | None, group: GroupRow, tolerated: Tolerated) -> None:
    """Count what a group requests, was admitted with and holds in a leaf, and nowhere else."""
    before, held_as = group.counted_in, group.held_as
    if before is not None:
        add(before.asked, group.asked, -1)
        add(before.admitted, group.admitted, -1)
        tolerated.add(group.tolerations, -1)
    if before is not None and held_as is not None:
        del before.holders[held_as][group.key]
        if not before.holders[held_as]:
            del before.holders[held_as]
    group.counted_in = group.held_as = None
    if leaf is not None:
        add(leaf.asked, group.asked, 1)
        add(leaf.admitted, group.admitted, 1)
        tolerated.add(group.tolerations, 1)
        group.counted_in, group.held_as = leaf, _holding(group)
        if group.held_as is not None:
            leaf.holders.setdefault(group.held_as, {})[group.key] = group


def _holding(group: GroupRow) -> Holding | None:
    """What it has in common with other holders of its leaf; None: no pod of it is on a node."""
    if not group.on_nodes:
        return None
    least, placed = group.min_member, group.placed
    is_plain = group.standing_minimum == least and not group.min_task_member
    is_quiet = group.phase != "Pending" and not group.pending and not group.gated
    return Holding(group.namespace, group.priority, placed < least, placed > least, is_plain, is_quiet)


def keep(group: GroupRow, *places: tuple[dict[str, GroupRow], bool]) -> None:
    """Have a group among others where it belongs, and nowhere else."""
    for groups, is_there in places:
        if is_there:
            groups[group.key] = group
        else:
            groups.pop(group.key, None)
