"""Gangs that cannot start because pods of theirs are missing, or must not be placed yet."""

from typing import Final

from maar.core.cycle.inspect import GroupState
from maar.core.model.pod import QUEUE_GATE
from maar.core.model.reasons import Cure, Reason, Refusal
from maar.core.tables.rows import GroupRow

_OF_STATEFUL_SET: Final = "statefulset.kubernetes.io/pod-name"  # a label


def too_few_pods(group: GroupState, leaving: int) -> Refusal | None:
    """A gang that cannot start because its pods are not there, or must not be placed yet."""
    row, there = group.row, group.placed + len(group.pending) + leaving
    name, acts = row.queue_name, Cure.SOMEBODY_ACTS
    exist = there + row.gated
    too_few = Refusal(
        reason=Reason.NOT_ENOUGH_TASKS,
        cure=acts,
        queue=name,
        wanted=row.min_member,
        available=exist,
        others=_stateful_sets(row),
    )
    if row.gated and (there < row.min_member or not group.pending):
        are_queues = all(pod.queue_gate for pod in row.pods.values() if pod.is_gated)
        return Refusal(
            reason=Reason.SCHEDULING_GATED,
            cure=Cure.OTHERS_FINISH if are_queues else acts,
            others=(QUEUE_GATE,) if are_queues else (),
            queue=name,
            wanted=row.min_member,
            available=row.gated,
            further=(too_few,) if exist < row.min_member else (),
        )
    if there < row.min_member:
        return too_few
    for task, least in row.min_task_member.items():
        have = group.tasks[task] + sum(pod.task == task for pod in group.pending)
        if have < least and not leaving:
            reason = Reason.NOT_ENOUGH_PODS_OF_TASK
            return Refusal(reason=reason, cure=acts, queue=name, others=(task,), wanted=least, available=have)
    return None


def _stateful_sets(group: GroupRow) -> tuple[str, ...]:
    """The StatefulSets of its pods: they make one pod at a time unless their policy says otherwise."""
    pods = group.pods.values()
    made = {pod.owner for pod in pods if any(name == _OF_STATEFUL_SET for name, _ in pod.labels)}
    return tuple(sorted(made))
