"""Queues as rows of a table, in kubectl's manner."""

from collections.abc import Mapping
from typing import Final

from maar.cli.tables import NONE, Table
from maar.core.model.durations import age
from maar.core.model.queue import ROOT, Queue
from maar.core.model.resources import Percentages, roughly

HEADINGS: Final = ("NAME", "PARENT", "WEIGHT", "STATE", "DESERVED", "USED", "SHARE", "AGE")
WIDE: Final = (
    "RUNNING", "INQUEUE", "PENDING", "GUARANTEE", "SOFT-GUARANTEE", "CAPABILITY", "REQUEST", "PRIORITY",
    "RECLAIMABLE",
)  # fmt: skip


def headings(*, wide: bool) -> list[str]:
    """The names of the columns."""
    return [*HEADINGS, *WIDE] if wide else list(HEADINGS)


def cells(queue: Queue, now: float, *, wide: bool) -> list[str]:
    """One queue, a text for each column."""
    spec, status, made = queue.spec, queue.status, queue.metadata.creation_timestamp
    row = [
        queue.key,
        NONE if queue.key == ROOT else queue.parent,
        f"{spec.weight} x {status.weight_factor}" if status.weight_factor else str(spec.weight),
        status.state or "Unknown",
        status.deserved.summary() or NONE,
        status.used.summary() or NONE,
        status.share or NONE,
        age(made.isoformat() if made else "", now),
    ]
    if wide:
        counts = (status.running, status.inqueue, status.pending)
        claims = (_amounts(spec.deserved), _amounts(spec.capability), _amounts(spec.request or {}))
        row += [
            *map(str, counts),
            _guarantee(queue),
            *claims,
            str(spec.priority),
            str(spec.reclaimable).lower(),
        ]
    return row


TABLE: Final = Table(
    Queue, HEADINGS, WIDE, lambda queue, now, wide: cells(queue, now, wide=wide), "STATE", "Closing"
)


def _amounts(amounts: Mapping[str, int]) -> str:
    return ",".join(f"{name}={roughly(name, units)}" for name, units in sorted(amounts.items())) or NONE


def _guarantee(queue: Queue) -> str:
    resource, parts = queue.spec.guarantee.resource, queue.spec.guarantee.percentage
    written = [_amounts(resource) if resource else "", _percentages(parts)]
    return ",".join(filter(None, written)) or NONE


def _percentages(parts: Percentages) -> str:
    return ",".join(f"{name}={text}%" for name, text in sorted(parts.quantities().items()))
