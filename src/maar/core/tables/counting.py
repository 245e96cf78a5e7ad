"""Where pods and groups count: on their node, in their leaf and namespace, and in the cluster's budget."""

from collections.abc import Mapping

from maar.core.tables.axis import Needs, ResourceAxis
from maar.core.tables.rows import Column, Counted, GroupRow, NodeRow, PodRow

ADMITTED_PHASES = ("Inqueue", "Running", "Unknown")


def add(column: Column, other: Column, sign: int) -> None:
    """Add a column to another, or take it away."""
    for row, amount in enumerate(other):
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
    return group.phase == "Completed" or (
        bool(group.pods) and not any(pod.is_live for pod in group.pods.values())
    )


def group_amounts(group: GroupRow, axis: ResourceAxis) -> tuple[Column, Column]:
    """What a group asks of its leaf, and what it counts as admitted with.

    It asks for the larger of minResources and its live pods; it is admitted with the larger of minResources
    and what its pods hold without the surplus above minMember.
    """
    asked, admitted, holders, is_running = axis.zeros(), axis.zeros(), [], False
    for pod in group.pods.values():
        if pod.is_live and not pod.is_terminating:
            add_needs(asked, pod.shape.needs, 1)
            counted = pod.counted
            is_running |= bool(pod.node_name)
            if counted is not None and counted.is_used:
                holders.append(pod)
    for pod in sorted(holders, key=lambda one: one.order)[: group.min_member]:
        add_needs(admitted, pod.shape.needs, 1)
    for row, amount in group.min_resources or ():
        asked[row], admitted[row] = max(asked[row], amount), max(admitted[row], amount)
    if is_finished(group):
        return axis.zeros(), axis.zeros()
    is_admitted = group.phase in ADMITTED_PHASES or is_running
    return asked, admitted if is_admitted else axis.zeros()


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
