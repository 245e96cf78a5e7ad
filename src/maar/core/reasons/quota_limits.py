"""ResourceQuotas that leave too little for the pods that a gang lacks, so that they cannot be created.

The API server refuses a pod that a quota has no room for, and tells nobody but whoever creates it. What the
missing pods ask for is known from minResources, or from the other pods of the group where all are alike. A
quota with scopes is about some pods only, and is not looked at.
"""

from typing import Final

from maar.core.cycle.inspect import GroupState
from maar.core.model.namespace import ResourceQuota
from maar.core.model.reasons import Cure, Reason, Refusal, Shortage
from maar.core.model.resources import PODS, BadAmountError, amount
from maar.core.tables.axis import PODS_ROW
from maar.core.tables.counting import add_needs
from maar.core.tables.rows import Column, GroupRow
from maar.core.tables.tables import Tables

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
