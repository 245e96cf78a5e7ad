"""Which pods of a group a turn is about: those that make it ready, or one more."""

from maar.core.cycle.group_state import GroupState
from maar.core.tables.rows import PodRow


def for_allocate(group: GroupState) -> list[PodRow]:
    """The pods that allocate places: those that ask for something, and all of a gang that mixes both."""
    pods = group.pending
    if len(pods) == 1 or (pods and group.of_class is not None and group.of_class.shape is not None):
        return [] if pods[0].shape.asks_for_nothing else pods
    for pod in pods:
        if pod.shape.asks_for_nothing:
            break
    else:
        return pods
    asking = [pod for pod in pods if not pod.shape.asks_for_nothing]
    return pods if asking and len(asking) < len(pods) and not group.is_ready else asking


def for_backfill(group: GroupState) -> list[PodRow]:
    """The pods that backfill places: those that ask for nothing."""
    one = group.of_class
    if one is not None and one.shape is not None and not one.shape.asks_for_nothing:
        return []  # all its pods are equal
    return [pod for pod in group.pending if pod.shape.asks_for_nothing]


def for_eviction(group: GroupState) -> list[PodRow]:
    """The pods of the group's next turn that may preempt others; none where they are too few."""
    return next_turn(group, [pod for pod in group.pending if not pod.never_preempts])


def for_next_turn(group: GroupState) -> list[PodRow]:
    """The pods that the group's next turn has to place; none where they are too few."""
    return next_turn(group, for_allocate(group) or for_backfill(group))


def next_turn(group: GroupState, pods: list[PodRow]) -> list[PodRow]:
    """Of pods those that make the group ready, or one more; none where they are too few."""
    missing_pods, tasks = group.missing()
    if not tasks:
        return pods[: max(missing_pods, 1)] if len(pods) >= missing_pods else []
    chosen: list[PodRow] = []
    for pod in pods:
        if tasks.get(pod.task, 0) > 0:
            tasks[pod.task] -= 1
            chosen.append(pod)
    for pod in pods:
        if len(chosen) >= max(missing_pods, 1):
            break
        if pod not in chosen:
            chosen.append(pod)
    return chosen if len(chosen) >= missing_pods and not any(tasks.values()) else []
