"""When pods are enough for a gang and for its subgroups, and what a gang can lose."""

from collections import defaultdict
from collections.abc import Sequence

from reference.objects import Pod, PodGroup, Subgroup


def is_gang(group: PodGroup, pods: Sequence[Pod]) -> bool:
    """Whether these pods alone are enough for `minMember` and `minTaskMember`."""
    tasks = group.min_task_member.items()
    if any(
        len(complete_subgroups(group, pods, position)) < policy.least
        for position, policy in enumerate(group.policies)
    ):
        return False
    return len(pods) >= group.min_member and all(
        sum(pod.task == task for pod in pods) >= least for task, least in tasks
    )


def complete_subgroups(group: PodGroup, pods: Sequence[Pod], position: int | None = None) -> set[Subgroup]:
    """The subgroups, of one policy or of all, that have `subGroupSize` of these pods."""
    counts: dict[Subgroup, int] = defaultdict(int)
    for pod in pods:
        if pod.subgroup is not None and position in (None, pod.subgroup[0]):
            counts[pod.subgroup] += 1
    return {subgroup for subgroup, count in counts.items() if count >= group.policies[subgroup[0]].size}


def lacking_in(group: PodGroup, pod: Pod, placed: Sequence[Pod]) -> int:
    """How many pods the subgroup of a pod lacks."""
    return (
        group.policies[pod.subgroup[0]].size - sum(other.subgroup == pod.subgroup for other in placed)
        if pod.subgroup
        else 1
    )


def peel(
    group: PodGroup, pods: Sequence[Pod], free: Sequence[Pod], placed: Sequence[Pod]
) -> tuple[list[tuple[int, list[Pod]]], list[Pod]]:
    """What a group with subgroups can lose and stay ready, least important first, and what is left then."""
    left, units, may_go = list(pods), [], {pod.name for pod in free}
    complete = complete_subgroups(group, placed)

    def lose(part: list[Pod], rank: int) -> None:
        nonlocal left
        names = {pod.name for pod in part}
        remaining = [pod for pod in left if pod.name not in names]
        if part and names <= may_go and is_gang(group, remaining):
            units.append((rank, part))
            left = remaining

    subgroups = list(dict.fromkeys(pod.subgroup for pod in pods if pod.subgroup is not None))
    for subgroup in subgroups:
        if subgroup not in complete:
            lose([pod for pod in left if pod.subgroup == subgroup], 0)
    for pod in pods:
        size = group.policies[pod.subgroup[0]].size if pod.subgroup else 0
        if pod.subgroup is None or (
            pod.subgroup in complete and sum(other.subgroup == pod.subgroup for other in left) > size
        ):
            lose([pod], 1)
    for subgroup in subgroups:
        if subgroup in complete:
            lose([pod for pod in left if pod.subgroup == subgroup], 2)
    return units, left


def splits(group: PodGroup, before: Sequence[Pod], after: Sequence[Pod]) -> bool:
    """Whether a loss leaves a gang below its minimum, or part of a subgroup, complete before or not."""
    if after and not is_gang(group, after):
        return True
    names, complete = {pod.name for pod in after}, complete_subgroups(group, before)
    for subgroup in {pod.subgroup for pod in before if pod.subgroup is not None}:
        lost = any(pod.subgroup == subgroup and pod.live and pod.name not in names for pod in before)
        left = [pod for pod in after if pod.subgroup == subgroup]
        if lost and left and (subgroup not in complete or subgroup not in complete_subgroups(group, left)):
            return True
    return False


def is_constrained(group: PodGroup) -> bool:
    """Whether a topology binds the group or a subgroup of it."""
    return group.topology is not None or any(policy.topology is not None for policy in group.policies)
