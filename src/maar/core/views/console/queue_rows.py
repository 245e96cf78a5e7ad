"""Rows of queues: what a queue claims, deserves and uses, in the whole units of the core."""

import math
from collections.abc import Mapping

import msgspec

from maar.core.fairshare import QueueDemand, QueueTree
from maar.core.fairshare.queue_demand import HUNDRED_PERCENT
from maar.core.model.queue import ROOT, Queue
from maar.core.model.queue_state import queue_state
from maar.core.model.resources import PODS, Resources


class QueueAmounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One resource of a queue; None where the queue claims nothing, or no scheduler has said anything."""

    guarantee: int | None
    soft_guarantee: int | None
    capability: int | None
    real_capability: int | None
    deserved: int
    used: int
    allocated: int
    preempting: int


class ConsoleQueue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A queue as the console shows it; the counts are of pod groups in it and below it."""

    name: str
    parent: str
    weight: int
    state: str
    share: str
    priority: int
    reclaimable: bool
    running: int
    inqueue: int
    pending: int
    factor: float | None  # what past use makes of its weight
    resources: dict[str, QueueAmounts]
    remarks: tuple[str, ...]
    set_aside: str  # why it takes no part; empty where it does


def queue_row(queue: Queue, total: Resources, set_aside: str = "") -> ConsoleQueue:
    """The row of a queue; parts of a hundred are of the cluster's total."""
    spec, status = queue.spec, queue.status
    is_root = queue.key == ROOT
    return ConsoleQueue(
        name=queue.key,
        parent="" if is_root else queue.parent,
        weight=spec.weight,
        state=status.state or queue_state(is_asked_to_close=queue.is_asked_to_close, has_work=False),
        share=status.share or "0.00",
        priority=spec.priority,
        reclaimable=spec.reclaimable,
        running=status.running,
        inqueue=status.inqueue,
        pending=status.pending,
        factor=_number(status.weight_factor),
        resources={name: _amounts(queue, name, total) for name in _resources(queue)},
        remarks=tuple(f"{one.type}: {one.message}" for one in status.conditions if one.status == "True"),
        set_aside=set_aside,
    )


def set_aside(queues: Mapping[str, Queue]) -> Mapping[str, str]:
    """The queues that are not below the root, and why."""
    claims = (
        QueueDemand(name=name, parent=ROOT if name == ROOT else queue.parent)
        for name, queue in queues.items()
    )
    return QueueTree.of(claims).set_aside


def _resources(queue: Queue) -> list[str]:
    """The resources that a queue claims, deserves or uses, all but pods."""
    spec, status = queue.spec, queue.status
    found = {*spec.capability, *spec.guarantee.resource, *spec.guarantee.percentage, *spec.deserved}
    for amounts in (status.deserved, status.used, status.allocated, status.preempting):
        found.update(name for name, units in amounts.items() if units)
    return sorted(found - {PODS})


def _amounts(queue: Queue, resource: str, total: Resources) -> QueueAmounts:
    spec, status = queue.spec, queue.status
    claimed = [spec.guarantee.resource[resource]] if resource in spec.guarantee.resource else []
    if resource in spec.guarantee.percentage:
        claimed.append(spec.guarantee.percentage[resource] * total.get(resource, 0) // HUNDRED_PERCENT)
    return QueueAmounts(
        guarantee=max(claimed, default=None),
        soft_guarantee=spec.deserved.get(resource),
        capability=spec.capability.get(resource),
        real_capability=status.real_capability.get(resource),
        deserved=status.deserved.get(resource, 0),
        used=status.used.get(resource, 0),
        allocated=status.allocated.get(resource, 0),
        preempting=status.preempting.get(resource, 0),
    )


def _number(text: str) -> float | None:
    """A number that another client may have written."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
