"""What a reader of a format gives."""

from collections.abc import Iterator
from typing import NamedTuple

from maar.core.traces.records import TraceRecord


class Source(NamedTuple):
    """The records of a trace, and what its header says."""

    records: Iterator[TraceRecord]
    queue_prefix: str  # before queues whose names are numbers
    nodes: int | None = None
    processors: int | None = None  # of all nodes
    queues: tuple[str, ...] = ()
