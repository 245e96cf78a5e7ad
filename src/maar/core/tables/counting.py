"""Where pods count: on their node, in their leaf and namespace, and in the cluster's budget."""

from collections.abc import Callable, Iterable, Mapping

from maar.core.model.names import natural
from maar.core.tables.axis import Needs
from maar.core.tables.rows import AmountColumn, Column, Counted, NodeRow, PodRow


def add(column: Column, other: AmountColumn, sign: int) -> None:
    """Add amounts to a column, or take them away."""
    for row, amount in enumerate(other):
        if amount:
            column[row] += sign * amount


def add_needs(column: Column, needs: Needs, sign: int) -> None:
    """Add what a pod needs to a column, or take it away."""
    for row, amount in needs:
        column[row] += sign * amount


def together(pods: Iterable[PodRow]) -> Needs:
    """What pods need together."""
    amounts: dict[int, int] = {}
    for pod in pods:
        for resource, amount in pod.shape.needs:
            amounts[resource] = amounts.get(resource, 0) + amount
    return tuple(amounts.items())


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


def prioritise(pod: PodRow, priority_of: Callable[[str, int], int]) -> None:
    """Work out the priority of a pod, and its place in its group."""
    default = pod.group.priority if pod.group else 0
    stated = pod.stated_priority
    pod.priority = priority_of(pod.priority_class, default) if stated is None else stated
    pod.order = (-pod.priority, pod.number, not pod.is_lead, pod.created, natural(pod.key))


def is_waiting(pod: PodRow) -> bool:
    """Whether a pod has no node yet and still wants one."""
    return pod.is_live and not pod.node_name and not pod.is_terminating


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
        budget = -1 if leaf is None and node.is_shared else 0
        if leaf is not None and not node.is_shared:
            budget = 1
        return Counted(node, True, stays, leaf, stays and leaf is not None, leaf is not None, budget)
    node = nodes.get(pod.nominated or pod.promised_with_job)
    if node is None or pod.is_terminating:
        return None
    return Counted(node, False, True, leaf, leaf is not None, False, 0)


def _apply(pod: PodRow, where: Counted, budget: Column, sign: int) -> None:
    needs = pod.shape.needs
    if where.is_now:
        add_needs(where.node.now, needs, sign)
    if where.is_later:
        add_needs(where.node.later, needs, sign)
    if where.is_now and where.leaf is None and pod.is_daemon:
        add_needs(where.node.daemons, needs, sign)
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
