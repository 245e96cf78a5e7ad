"""Gangs that cannot start because pods of theirs are missing, or must not be placed yet.

Pods are missing also where a ResourceQuota leaves too little for those that a gang lacks.
"""

from typing import Final

from maar.core.cycle.inspect import GroupState
from maar.core.model.namespace import ResourceQuota
from maar.core.model.pod import QUEUE_GATE
from maar.core.model.reasons import Cure, Reason, Refusal, Shortage
from maar.core.model.resources import PODS, BadAmountError, amount
from maar.core.tables.axis import PODS_ROW
from maar.core.tables.counting import add_needs
from maar.core.tables.rows import Column, GroupRow
from maar.core.tables.tables import Tables

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


_OF_PODS: Final = {"pods": PODS, "count/pods": PODS}
_REQUESTS: Final = "requests."
_OTHERS: Final = ("limits.", "count/")  # that are about something else than what pods request


def exceeded_quota(tables: Tables, group: GroupState, short: Refusal) -> Refusal | None:
    """The first quota that leaves too little for the pods that are missing; None where none does."""
    wanted, own = _missing(tables, group.row, short.wanted - short.available)
    for quota in tables.quotas_of(group.row.namespace) if wanted else ():
        if shortages := tuple(_shortages(quota, wanted)):
            is_never = any(one.wanted + own.get(one.resource, 0) > one.limit for one in shortages)
            return Refusal(
                reason=Reason.EXCEEDED_QUOTA,
                cure=Cure.NEVER if is_never else Cure.SOMEBODY_ACTS,
                queue=short.queue,
                wanted=short.wanted,
                available=short.available,
                shortages=shortages,
                others=(quota.key,),
            )
    return None


def _missing(tables: Tables, group: GroupRow, count: int) -> tuple[dict[str, int], dict[str, int]]:
    """What so many pods that do not exist ask for, by resource, only what is sure; and what its pods do."""
    column, live = tables.axis.zeros(), [pod for pod in group.pods.values() if pod.is_live]
    own = tables.axis.zeros()
    for pod in live:
        add_needs(own, pod.shape.needs, 1)
    if group.min_resources is not None:
        add_needs(column, group.min_resources, 1)
        column = [whole - has for whole, has in zip(column, own, strict=True)]
    elif len({pod.shape for pod in live}) == 1:
        add_needs(column, live[0].shape.needs, count)
    column[PODS_ROW] = count
    return _by_name(tables, column), _by_name(tables, own)


def _by_name(tables: Tables, column: Column) -> dict[str, int]:
    return {tables.axis.names[row]: units for row, units in enumerate(column) if units > 0}


def _shortages(quota: ResourceQuota, wanted: dict[str, int]) -> list[Shortage]:
    if quota.spec.scopes or quota.spec.scope_selector:
        return []
    found = dict[str, Shortage]()
    for name, hard in (quota.status.hard or quota.spec.hard).items():
        resource = _OF_PODS.get(name) or name.removeprefix(_REQUESTS)
        if resource not in wanted or (name.startswith(_OTHERS) and resource != PODS):
            continue
        try:
            limit, used = amount(resource, str(hard)), amount(resource, str(quota.status.used.get(name, 0)))
        except BadAmountError:
            continue
        if used + wanted[resource] > limit:
            found[resource] = Shortage(resource=resource, wanted=wanted[resource], used=used, limit=limit)
    return list(found.values())
