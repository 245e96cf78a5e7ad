"""Queues as rows of a table, in kubectl's manner."""

from collections.abc import Mapping, Sequence
from typing import Final

import typer

from maar.cli.tables import NONE, Document, Output, Rows, ShownKind, data_text
from maar.core.model.durations import age
from maar.core.model.kinds import BadObjectError, from_document
from maar.core.model.queue import ROOT, Queue
from maar.core.model.resources import Percentages, roughly

_HEADINGS: Final = ("NAME", "PARENT", "WEIGHT", "STATE", "DESERVED", "USED", "SHARE", "AGE")
_WIDE: Final = (
    "RUNNING", "INQUEUE", "PENDING", "GUARANTEE", "SOFT-GUARANTEE", "CAPABILITY", "REQUEST", "PRIORITY",
    "RECLAIMABLE",
)  # fmt: skip


def _cells(queue: Queue, now: float, wide: bool) -> list[str]:  # noqa: FBT001  # a column of ShownKind
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


QUEUES: Final = ShownKind(Queue, "queue", _HEADINGS, _WIDE, _cells, "STATE", "Closing")


def print_queues(documents: Sequence[Document], output: Output | None, *, as_list: bool) -> None:
    """Print queues once."""
    if output in ("json", "yaml"):
        typer.echo(data_text(documents, output, as_list=as_list))
    else:
        Rows(QUEUES, read_queues(documents), output)


def read_queues(documents: Sequence[Document]) -> list[Queue]:
    """Read queues; one that cannot be read is left out with a warning."""
    queues = []
    for document in documents:
        try:
            queues.append(from_document(Queue, document))
        except BadObjectError as error:
            typer.echo(f"warning: a queue cannot be read and is left out: {error}", err=True)
    return queues


def _amounts(amounts: Mapping[str, int]) -> str:
    return ",".join(f"{name}={roughly(name, units)}" for name, units in sorted(amounts.items())) or NONE


def _guarantee(queue: Queue) -> str:
    resource, parts = queue.spec.guarantee.resource, queue.spec.guarantee.percentage
    written = [_amounts(resource) if resource else "", _percentages(parts)]
    return ",".join(filter(None, written)) or NONE


def _percentages(parts: Percentages) -> str:
    return ",".join(f"{name}={text}%" for name, text in sorted(parts.quantities().items()))
