"""What the terms of docs/specification mean for one pod group or one pod, from their definitions."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from math import inf

from maar.core.model.affinity import Toleration
from maar.core.model.node import Taint
from maar.core.model.pod import TASK_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup

Amounts = Counter[str]  # whole units by resource; what is not named is 0


def total(amounts: Iterable[Mapping[str, int]]) -> Amounts:
    """Add up, resource by resource."""
    result = Amounts()
    for one in amounts:
        result.update(one)
    return result


def asked(amounts: Mapping[str, int]) -> dict[str, int]:
    """A quantity of 0 asks for nothing."""
    return {resource: units for resource, units in amounts.items() if units > 0}


def ratio(part: int, whole: int) -> Fraction | float:
    """Share: 0 / 0 is 0, x / 0 is infinite."""
    return Fraction(part, whole) if whole > 0 else inf if part > 0 else Fraction(0)


def lacking(group: PodGroup, pods: Collection[Pod]) -> tuple[int, dict[str, int]]:
    """How many pods, and how many of each task, are missing if only these are placed."""
    tasks = Counter(pod.metadata.annotations.get(TASK_ANNOTATION, "") for pod in pods)
    least, tasks_least = group.spec.min_member, group.spec.min_task_member
    binds = least >= sum(tasks_least.values())  # `minTaskMember` binds only then
    missing = {task: least - tasks[task] for task, least in tasks_least.items() if binds}
    return max(0, least - len(pods)), {task: n for task, n in missing.items() if n > 0}


def falls_short(group: PodGroup, standing_minimum: int, pods: Collection[Pod]) -> bool:
    """Starving: whether these are fewer than the standing minimum; minima of tasks go with minMember."""
    if standing_minimum < group.spec.min_member:
        return len(pods) < standing_minimum
    return lacking(group, pods) != (0, {})


def is_there(pod: Pod) -> bool:
    """A pod is live, and one with scheduling gates is not there yet."""
    return not pod.is_finished and (bool(pod.spec.node_name) or not pod.spec.scheduling_gates)


def asked_by_first(least: int, pods: Collection[Pod]) -> Amounts:
    """What so many live pods of a group ask for, less those that have succeeded, and one at least."""
    there = [pod for pod in pods if not pod.is_finished and not pod.is_terminating and is_there(pod)]
    succeeded = sum(pod.status.phase == "Succeeded" for pod in pods)
    return total(pod.request for pod in there[: max(min(1, least), least - succeeded)])


def resources_of_pods(amounts: Mapping[str, int]) -> dict[str, int]:
    """`requests.x` is x where that is missing; other quota names count for nothing."""
    plain = {one: n for one, n in amounts.items() if not one.startswith(("requests.", "limits.", "count/"))}
    for one, units in amounts.items():
        if one.startswith("requests."):
            plain.setdefault(one.removeprefix("requests."), units)
    return plain


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """As Kubernetes has it; an empty key or effect stands for all."""
    same = toleration.effect in ("", taint.effect) and toleration.key in ("", taint.key)
    return same and (toleration.operator == "Exists" or toleration.value == taint.value)


def number(pod: Pod) -> int:
    """The last segment of a pod's name where that is a number of at most four digits; none has an index."""
    segment = pod.metadata.name.rpartition("-")[2]
    return int(segment) if segment.isdecimal() and len(segment) <= 4 else 0
