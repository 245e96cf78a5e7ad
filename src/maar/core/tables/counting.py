"""Where pods and groups count: on their node, in their leaf and namespace, and in the cluster's budget."""

from collections.abc import Iterable, Mapping
from operator import attrgetter

from maar.core.tables.axis import Needs, ResourceAxis
from maar.core.tables.rows import Amounts, Column, Counted, GroupRow, NodeRow, PodRow

ADMITTED_PHASES = ("Inqueue", "Running", "Unknown")


def add(column: Column, other: Amounts, sign: int) -> None:
    """Add amounts to a column, or take them away."""
    for row, amount in enumerate(other):
        if amount:
            column[row] += sign * amount


def add_needs(column: Column, needs: Needs, sign: int) -> None:
    """Add what a pod needs to a column, or take it away."""
    for row, amount in needs:
        column[row] += sign * amount


def count(pod: PodRow, nodes: Mapping[str, NodeRow], budget: Column) -> None:
    """Count a pod where it is: on its node, or on the node that is promised to it."""
    pod.counted = _place(pod, nodes)
    if pod.counted is not None:
        _apply(pod, pod.counted, budget, 1)


def uncount(pod: PodRow, budget: Column) -> None:
    """Take a pod out of wherever it was counted."""
    if pod.counted is not None:
        _apply(pod, pod.counted, budget, -1)
        pod.counted = None


def is_waiting(pod: PodRow) -> bool:
    """Whether a pod has no node yet and still wants one."""
    return pod.is_live and not pod.node_name and not pod.is_terminating


def is_finished(group: GroupRow) -> bool:
    """Whether a group has done its work: it is completed, or has pods and none of them lives."""
    if group.phase == "Completed":
        return True
    for pod in group.pods.values():
        if pod.is_live:
            return False
    return bool(group.pods)


def is_ready(group: GroupRow) -> bool:
    """Whether enough pods of a group, and of each task, have a place; as it was last summed up."""
    least = group.min_task_member
    return group.placed >= group.min_member and all(group.tasks[task] >= least[task] for task in least)


def is_starving(group: GroupRow) -> bool:
    """Whether a group holds nodes and has too few pods there to work; who has ended there was enough."""
    if not group.placed or is_ready(group):
        return False
    there = [pod for pod in group.pods.values() if pod.node_name]
    if not any(pod.is_live and not pod.is_terminating for pod in there):
        return False
    return len(there) < group.min_member or any(
        sum(pod.task == task for pod in there) < least for task, least in group.min_task_member.items()
    )


def sum_up(group: GroupRow, axis: ResourceAxis) -> None:
    """Work out anew what a group's pods ask for, hold and wait for."""
    asked, pending, placed, gated = axis.zeros(), [], [], 0
    for pod in group.pods.values():
        if pod.is_live and not pod.is_terminating:
            for row, amount in pod.shape.needs:
                asked[row] += amount
            if pod.node_name or pod.counted is not None:
                placed.append(pod)
            elif pod.is_gated:
                gated += 1
            else:
                pending.append(pod)
        elif pod.has_succeeded:
            placed.append(pod)
    if len(pending) > 1:
        pending.sort(key=attrgetter("order"))
    group.pending, group.gated, group.placed = pending, gated, len(placed)
    if group.min_task_member:
        group.tasks = {task: sum(pod.task == task for pod in placed) for task in group.min_task_member}
    group.used = tuple(_together(holders_of(placed), axis)) if placed else ()
    group.asked = group.admitted = ()
    if not is_finished(group):
        _raise(asked, group.min_resources)
        group.asked = tuple(asked)
        group.admitted = admitted_with(group, axis) if _is_admitted(group, placed) else ()


def holders_of(pods: Iterable[PodRow]) -> list[PodRow]:
    """The pods that count as using what they ask for."""
    return [pod for pod in pods if pod.counted is not None and pod.counted.is_used]


def admitted_with(group: GroupRow, axis: ResourceAxis) -> Amounts:
    """The larger of minResources and what a group's pods hold without the surplus above minMember."""
    holders = sorted(holders_of(group.pods.values()), key=attrgetter("order"))
    column = _together(holders[: group.min_member], axis)
    _raise(column, group.min_resources)
    return tuple(column)


def _is_admitted(group: GroupRow, placed: list[PodRow]) -> bool:
    """Whether a group counts as let in, with anything at all: by its phase, or because a pod is on a node."""
    if group.phase in ADMITTED_PHASES:
        return bool(placed or group.min_resources)
    return any(pod.node_name and pod.is_live and not pod.is_terminating for pod in placed)


def _together(pods: list[PodRow], axis: ResourceAxis) -> Column:
    column = axis.zeros()
    for pod in pods:
        add_needs(column, pod.shape.needs, 1)
    return column


def _raise(column: Column, least: Needs | None) -> None:
    for row, amount in least or ():
        column[row] = max(column[row], amount)


def _place(pod: PodRow, nodes: Mapping[str, NodeRow]) -> Counted | None:
    if not pod.is_live:
        return None
    leaf = pod.group.leaf if pod.group is not None else None
    if pod.node_name:
        node = nodes.get(pod.node_name)
        if node is None:
            return None
        stays = not pod.is_terminating
        if not node.is_ready:
            return Counted(node, True, stays, None, False, False, 0)
        budget = -1 if leaf is None and node.is_schedulable else 0
        if leaf is not None and not node.is_schedulable:
            budget = 1
        return Counted(node, True, stays, leaf, stays and leaf is not None, leaf is not None, budget)
    node = nodes.get(pod.nominated)
    if node is None or pod.is_terminating:
        return None
    return Counted(node, False, True, leaf, leaf is not None, False, 0)


def _apply(pod: PodRow, where: Counted, budget: Column, sign: int) -> None:
    needs = pod.shape.needs
    if where.is_now:
        add_needs(where.node.now, needs, sign)
    if where.is_later:
        add_needs(where.node.later, needs, sign)
    if where.leaf is not None:
        where.leaf.changes += 1
        if where.is_used:
            add_needs(where.leaf.used, needs, sign)
            namespace = where.leaf.namespaces.get(pod.namespace)
            if namespace is None:
                namespace = where.leaf.namespaces[pod.namespace] = [0] * len(budget)
            add_needs(namespace, needs, sign)
        if where.is_status_used:
            add_needs(where.leaf.status_used, needs, sign)
    if where.budget:
        add_needs(budget, needs, sign * where.budget)
