"""Slurm's accounting: `sacct -a -P -X -o JobID,User,Account,Partition,Submit,Start,End,ElapsedRaw,...`.

Fields are separated by `|`; the first line names them, in any order. What a job requested is in
ReqTRES, and in AllocTRES where that is empty. The account, the partition, the QOS or the user is
the queue. A time limit, in minutes, is the estimate. Steps of jobs (`123.batch`) are passed over:
their job has a line.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from maar.core.traces.columns import Table, column_names
from maar.core.traces.lines import Numbered
from maar.core.traces.options import TraceOptions, queue_field
from maar.core.traces.records import MOST_PODS, TraceRecord
from maar.core.traces.skips import SkipReason, Skips, excerpt
from maar.core.traces.sources import Source
from maar.core.traces.values import number, time_of

_NEEDED: Final = ("JobID", "Submit", "Start", "End", "ElapsedRaw")
_QUEUE_FIELDS: Final = ("account", "partition", "qos", "user")
_SIZES: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_WITHOUT_LIMIT: Final = frozenset({"unlimited", "partition_limit"})
_GPU: Final = "gres/gpu"
_MINUTE: Final = 60


def looks_like_sacct(lines: list[str]) -> bool:
    """Whether a first line has columns of sacct."""
    return {"jobid", "submit"} <= set(column_names(lines[0], "|"))


def read_sacct(lines: Numbered, options: TraceOptions, skips: Skips) -> Source:
    """Read the header, and prepare to read the jobs."""
    field = queue_field(options.queue_from, _QUEUE_FIELDS, "sacct")
    table = Table(lines, skips, "sacct", "|")
    table.require(*_NEEDED)
    if field in _QUEUE_FIELDS:
        table.require(field)
    if table.at("ReqTRES") is None and table.at("AllocTRES") is None:
        table.require("ReqTRES")
    return Source(_records(table, options, skips, field), field)


def _records(table: Table, options: TraceOptions, skips: Skips, field: str) -> Iterator[TraceRecord]:
    at_id, at_submit, at_start, at_end, at_elapsed = (table.at(name) or 0 for name in _NEEDED)
    at_limit, at_nodes, at_user = table.at("TimelimitRaw"), table.at("NNodes"), table.at("User")
    at_requested, at_allocated, at_queue = table.at("ReqTRES"), table.at("AllocTRES"), table.at(field)
    for line, row in table.rows():
        if "." in row[at_id]:
            skips.add(SkipReason.STEP, line, excerpt(row[at_id]))
            continue
        try:
            times = [time_of(row[at], options.utc_offset) for at in (at_submit, at_start, at_end)]
        except ValueError:
            skips.add(SkipReason.BAD_TIME, line, excerpt("|".join(row)))
            continue
        try:
            elapsed = number(row[at_elapsed])
            limit = _minutes(row[at_limit]) if at_limit is not None else None
            allocated = _tres(row[at_allocated]) if at_allocated is not None else {}
            requested = _tres(row[at_requested]) if at_requested is not None else {}
            tres = {**allocated, **requested}
            nodes = tres.get("node") or (number(row[at_nodes]) if at_nodes is not None else None)
        except ValueError:
            skips.add(SkipReason.BAD_NUMBER, line, excerpt("|".join(row)))
            continue
        submitted, started, ended = times
        pods = int(min(max(nodes or 0, 1), 2 * MOST_PODS))
        cpu = max(tres.get("cpu", 0), 0) / pods
        yield TraceRecord(
            line=line,
            id=row[at_id],
            submitted=submitted,
            run_time=None if started is None or ended is None else elapsed,
            estimate=None if limit is None else limit * _MINUTE,
            pods=pods,
            cpu=cpu,
            memory=max(tres.get("mem", 0), 0) / pods or options.memory_per_processor * cpu,
            gpu=-(-int(min(max(tres.get(_GPU, 0), 0), 2**53)) // pods) * 1000,
            queue=row[at_queue] if at_queue is not None else "",
            user=row[at_user] if at_user is not None else "",
        )


def _minutes(text: str) -> float | None:
    return None if text.strip().lower() in _WITHOUT_LIMIT else number(text)


@lru_cache(maxsize=4096)
def _tres(text: str) -> Mapping[str, float]:
    """A list such as `cpu=16,mem=64G,node=2,gres/gpu=8`; GPUs of types count where no total does."""
    found = dict[str, float]()
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals:
            found[name.strip().lower()] = _amount(value)
    if _GPU not in found:
        typed = sum(amount for name, amount in found.items() if name.startswith(f"{_GPU}:"))
        if typed:
            found[_GPU] = typed
    return found


def _amount(text: str) -> float:
    factor = _SIZES.get(text[-1:].lower(), 1)
    found = number(text[:-1] if factor > 1 else text)
    return (found or 0.0) * factor
