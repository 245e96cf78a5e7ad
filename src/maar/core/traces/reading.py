"""Traces: which format a file has, and its jobs in order of submission.

Jobs come while lines are read. Order is restored among `window` jobs at a time: twice as many are
held and sorted, the earlier half is handed on. A job that should have come before those is left out
and counted, so that memory is bounded however long a file is and however badly it is sorted.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from maar.core.simulation.jobs import TraceJob
from maar.core.traces.helios import looks_like_acme, looks_like_helios, read_acme, read_helios
from maar.core.traces.lines import Numbered, numbered
from maar.core.traces.openb import looks_like_openb, read_openb
from maar.core.traces.options import TraceOptions
from maar.core.traces.philly import looks_like_philly, read_philly
from maar.core.traces.records import JobMaker, TraceRecord
from maar.core.traces.sacct import looks_like_sacct, read_sacct
from maar.core.traces.skips import Skip, SkipReason, Skips, TraceError
from maar.core.traces.sources import Source
from maar.core.traces.swf import looks_like_swf, read_swf

__all__ = [
    "FORMATS",
    "Skip",
    "SkipReason",
    "Skips",
    "Trace",
    "TraceError",
    "TraceOptions",
    "detect_format",
    "read_trace",
]

Reader = Callable[[Numbered, TraceOptions, Skips], Source]

_TABLES: Final[dict[str, tuple[Callable[[list[str]], bool], Reader]]] = {
    "helios": (looks_like_helios, read_helios),
    "acme": (looks_like_acme, read_acme),
    "openb": (looks_like_openb, read_openb),
    "sacct": (looks_like_sacct, read_sacct),
    "swf": (looks_like_swf, read_swf),
}
PHILLY: Final = "philly"
RECORDING: Final = "recording"  # of a scheduler of Maar; it is read by `recordings.py`
FORMATS: Final = ("swf", "helios", "acme", PHILLY, "openb", "sacct")
FIRST_LINES: Final = 200  # that a format is recognised by


@dataclass(frozen=True, eq=False)
class Trace:
    """A trace that is being read: its jobs come one by one, and `skips` counts along."""

    format: str
    jobs: Iterator[TraceJob]  # in order of submission
    skips: Skips
    nodes: int | None = None  # as its header says
    processors: int | None = None  # of all nodes
    queues: tuple[str, ...] = ()


def detect_format(first_lines: Iterable[str]) -> str:
    """The format of a file by its first lines; raises where it has none that is known."""
    lines = [line.removeprefix("\ufeff") for line in islice(first_lines, FIRST_LINES)]
    if not any(line.strip() for line in lines):
        raise TraceError("the trace is empty: name a file with jobs")
    if any("\0" in line for line in lines):
        raise TraceError("the trace is not text: unpack it, or name another file")
    lines = [line for line in lines if line.strip()]
    if looks_like_recording(lines):
        return RECORDING
    if looks_like_philly(lines):
        return PHILLY
    for name, (looks_like, _) in _TABLES.items():
        if looks_like(lines):
            return name
    raise TraceError(f"the format of the trace is not known; name it: {', '.join(FORMATS)}")


def looks_like_recording(lines: list[str]) -> bool:
    """Whether the first line is one of a recording of Maar."""
    return lines[0].startswith('{"line":"')


def read_trace(lines: Iterable[str], format: str = "", options: TraceOptions | None = None) -> Trace:  # noqa: A002
    """Read the header of a trace, and give its jobs as they are asked for; no format: it is recognised."""
    options = options or TraceOptions()
    lines, skips = iter(lines), Skips(may_end_early=options.most_jobs is not None)
    if not format:
        first = list(islice(lines, FIRST_LINES))
        format, lines = detect_format(first), chain(first, lines)  # noqa: A001
    if format not in FORMATS:
        raise TraceError(f"{format} is not a format of traces: choose one of {', '.join(FORMATS)}")
    if format == PHILLY:
        source = read_philly(lines, options, skips)
    else:
        source = _TABLES[format][1](numbered(lines, skips), options, skips)
    maker = JobMaker(options, skips, source.queue_prefix)
    ordered = _in_order(source.records, maker, options.window, skips)
    jobs = _shifted(_first(ordered, options.most_jobs, skips), options.start)
    return Trace(format, jobs, skips, source.nodes, source.processors, source.queues)


def _in_order(
    records: Iterator[TraceRecord], maker: JobMaker, window: int, skips: Skips
) -> Iterator[tuple[TraceJob, int]]:
    """Jobs in order of time, each with the number of records that had been read with it."""
    held, passed = list[tuple[TraceJob, int]](), -1.0
    for record in records:
        job = maker.job(record)
        if job is None:
            continue
        if job.time < passed:
            skips.add(SkipReason.OUT_OF_ORDER, record.line, job.name)
            continue
        held.append((job, skips.read))
        if len(held) >= 2 * window:
            held.sort(key=_time)
            yield from held[:window]
            passed = held[window - 1][0].time
            del held[:window]
    held.sort(key=_time)
    yield from held


def _time(held: tuple[TraceJob, int]) -> float:
    return held[0].time


def _shifted(jobs: Iterator[TraceJob], start: float | None) -> Iterator[TraceJob]:
    """Jobs as far from each other as before, the first at a given time."""
    first = next(jobs, None)
    if first is None:
        return
    if start is None:
        yield first
        yield from jobs
        return
    for job in chain([first], jobs):
        yield job._replace(time=start + (job.time - first.time))


def _first(jobs: Iterator[tuple[TraceJob, int]], most: int | None, skips: Skips) -> Iterator[TraceJob]:
    """The first jobs, counted; of what was read ahead of the last of them nothing counts."""
    last = 0
    for job, read in jobs:
        skips.jobs, last = skips.jobs + 1, max(last, read)
        yield job
        if skips.jobs == most:
            skips.end_at(last)
            return
