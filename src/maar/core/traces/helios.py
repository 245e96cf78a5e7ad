"""Helios: `cluster_log.csv`, a job in each row, and `cluster_gpu_number.csv`, the GPUs of queues by day.

`vc`, the virtual cluster, is the queue. `gpu_num` and `cpu_num` are totals over `node_num` nodes: a
job becomes a pod for each node. A job without a start never ran.

Acme (`trace_seren.csv`, `trace_kalos.csv`) has the same columns but for `vc`: the type of the work
or its user is the queue. Times have an offset from UTC. Kalos has the memory of a pod. A job ran
from its start to its end: the `duration` of Kalos includes its wait.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from maar.core.traces.columns import Table, column_names
from maar.core.traces.lines import Numbered, numbered
from maar.core.traces.options import TraceOptions, queue_field
from maar.core.traces.records import MOST_PODS, TraceRecord, kubernetes_name
from maar.core.traces.skips import SkipReason, Skips, excerpt
from maar.core.traces.sources import Source
from maar.core.traces.values import number, time_of

GIGABYTE: Final = 10**9
_NEEDED: Final = ("job_id", "gpu_num", "cpu_num", "submit_time", "start_time")
_DURATION: Final = "duration"
_DAY: Final = "date"
_TOTAL: Final = "total"


def looks_like_helios(lines: list[str]) -> bool:
    """Whether a first line has the columns of Helios."""
    return {"job_id", "vc", "gpu_num", "submit_time"} <= set(column_names(lines[0], ","))


def read_helios(lines: Numbered, options: TraceOptions, skips: Skips) -> Source:
    """Read the header, and prepare to read the jobs."""
    return read_gpu_jobs(lines, options, skips, "Helios", ("vc", "user"))


def read_gpu_jobs(
    lines: Numbered,
    options: TraceOptions,
    skips: Skips,
    format_name: str,
    queue_fields: tuple[str, ...],
    *,
    ends_at: str = "",
) -> Source:
    """Read a table with the columns that Helios and Acme share; jobs run for `duration`, or until an end."""
    field = queue_field(options.queue_from, queue_fields, format_name)
    table = Table(lines, skips, format_name)
    table.require(*_NEEDED, ends_at or _DURATION)
    if field in queue_fields:
        table.require(field)
    return Source(_records(table, options, skips, field, ends_at), field)


def _records(
    table: Table, options: TraceOptions, skips: Skips, field: str, ends_at: str
) -> Iterator[TraceRecord]:
    at_id, at_gpus, at_cpus, at_submit, at_start = (table.at(name) or 0 for name in _NEEDED)
    at_duration, at_end = table.at(_DURATION), table.at(ends_at) if ends_at else None
    at_nodes, at_queue, at_user = table.at("node_num"), table.at(field), table.at("user")
    at_memory = table.at("mem_per_pod_gb")
    for line, row in table.rows():
        try:
            gpus, cpus = number(row[at_gpus]), number(row[at_cpus])
            duration = number(row[at_duration]) if at_duration is not None and at_end is None else None
            nodes = number(row[at_nodes]) if at_nodes is not None else None
            memory = number(row[at_memory]) if at_memory is not None else None
        except ValueError:
            skips.add(SkipReason.BAD_NUMBER, line, excerpt(",".join(row)))
            continue
        try:
            submitted = time_of(row[at_submit], options.utc_offset)
            started = time_of(row[at_start], options.utc_offset)
            ended = time_of(row[at_end], options.utc_offset) if at_end is not None else None
        except ValueError:
            skips.add(SkipReason.BAD_TIME, line, excerpt(f"{row[at_submit]}, {row[at_start]}"))
            continue
        if started is not None and ended is not None:
            duration = ended - started
        pods = int(min(max(nodes or 0, 1), 2 * MOST_PODS))
        cpus, gpus = max(cpus or 0, 0), max(gpus or 0, 0)
        yield TraceRecord(
            line=line,
            id=row[at_id],
            submitted=submitted,
            run_time=duration if started is not None else None,
            estimate=None,
            pods=pods,
            cpu=cpus / pods,
            memory=max(memory or 0, 0) * GIGABYTE or options.memory_per_processor * cpus / pods,
            gpu=-(-int(gpus) // pods) * 1000,
            queue=row[at_queue] if at_queue is not None else "",
            user=row[at_user] if at_user is not None else "",
        )


class GpusOfQueues(NamedTuple):
    """How many GPUs belong to each queue from a time on."""

    time: float
    gpus: dict[str, int]
    total: int


def read_helios_gpus(lines: Iterable[str], options: TraceOptions, skips: Skips) -> Iterator[GpusOfQueues]:
    """The rows of `cluster_gpu_number.csv` in which anything changes."""
    table = Table(numbered(lines, skips), skips, "Helios")
    table.require(_DAY, _TOTAL)
    queues = {name: table.at(name) or 0 for name in table.columns if name not in ("", _DAY, _TOTAL)}
    at_day, at_total, last = table.at(_DAY) or 0, table.at(_TOTAL) or 0, GpusOfQueues(0.0, {}, -1)
    for line, row in table.rows():
        try:
            time = time_of(row[at_day], options.utc_offset)
            amounts = {name: int(number(row[at]) or 0) for name, at in queues.items()}
            total = int(number(row[at_total]) or 0)
        except ValueError:
            skips.add(SkipReason.BAD_NUMBER, line, excerpt(",".join(row)))
            continue
        if time is None:
            skips.add(SkipReason.BAD_TIME, line)
            continue
        named = {kubernetes_name(name, "vc"): amount for name, amount in amounts.items()}
        if (named, total) != last[1:]:
            last = GpusOfQueues(time, named, total)
            yield last


def looks_like_acme(lines: list[str]) -> bool:
    """Whether a first line has the columns of Acme."""
    columns = set(column_names(lines[0], ","))
    return {"job_id", "type", "gpu_num", "submit_time"} <= columns and "vc" not in columns


def read_acme(lines: Numbered, options: TraceOptions, skips: Skips) -> Source:
    """Read the header, and prepare to read the jobs."""
    return read_gpu_jobs(lines, options, skips, "Acme", ("type", "user"), ends_at="end_time")
