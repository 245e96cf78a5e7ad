"""Philly: `cluster_job_log`, a JSON list of jobs, and `cluster_machine_list`, a table of machines.

A job becomes a pod for each machine (`ip`) of its first attempt, with its GPUs in equal parts; it
runs for as long as all attempts together. Times are local, without a zone.
"""

from collections.abc import Iterable, Iterator
from math import ceil
from typing import Final

import msgspec

from maar.core.model.node import Node
from maar.core.traces.columns import Table
from maar.core.traces.json_objects import json_objects
from maar.core.traces.lines import numbered
from maar.core.traces.openb import gpu_node
from maar.core.traces.options import TraceOptions, queue_field
from maar.core.traces.records import TraceRecord
from maar.core.traces.skips import SkipReason, Skips, excerpt
from maar.core.traces.sources import Source
from maar.core.traces.values import number, time_of

_QUEUE_FIELDS: Final = ("vc", "user")
_MOST_GPUS: Final = 1_000_000  # of a machine


class PhillyMachine(msgspec.Struct, frozen=True, gc=False):
    """Where a part of a job ran."""

    ip: str
    gpus: tuple[str, ...] = ()


class PhillyAttempt(msgspec.Struct, frozen=True):
    """One run of a job."""

    start_time: str | None = None
    end_time: str | None = None
    detail: tuple[PhillyMachine, ...] = ()


class PhillyJob(msgspec.Struct, frozen=True):
    """A job of the list."""

    jobid: str
    submitted_time: str | None = None
    vc: str | None = None
    user: str | None = None
    attempts: tuple[PhillyAttempt, ...] = ()


_JOB: Final = msgspec.json.Decoder(PhillyJob)


def looks_like_philly(lines: list[str]) -> bool:
    """Whether the first lines are JSON with a job."""
    text = "".join(lines).lstrip("\ufeff \t\r\n")
    return text.startswith("[") and (text[1:].strip() in ("", "]") or ('"' in text and "{" in text))


def read_philly(pieces: Iterable[str], options: TraceOptions, skips: Skips) -> Source:
    """Prepare to read the jobs."""
    field = queue_field(options.queue_from, _QUEUE_FIELDS, "Philly")
    return Source(_records(pieces, options, skips, field), field)


def _records(pieces: Iterable[str], options: TraceOptions, skips: Skips, field: str) -> Iterator[TraceRecord]:
    for line, text in json_objects(pieces, skips):
        try:
            job = _JOB.decode(text)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            skips.add(SkipReason.BAD_JSON, line, excerpt(str(error)))
            continue
        try:
            submitted = time_of(job.submitted_time or "", options.utc_offset)
            run_time = _run_time(job)
        except ValueError:
            skips.add(SkipReason.BAD_TIME, line, excerpt(job.jobid))
            continue
        machines = job.attempts[0].detail if job.attempts else ()
        pods = len({one.ip for one in machines})
        gpus = sum(len(one.gpus) for one in machines)
        yield TraceRecord(
            line=line,
            id=job.jobid,
            submitted=submitted,
            run_time=run_time,
            estimate=None,
            pods=pods,
            cpu=0.0,
            memory=0.0,
            gpu=-(-gpus // pods) * 1000 if pods else 0,
            queue=(job.vc if field == "vc" else job.user if field == "user" else "") or "",
            user=job.user or "",
        )


def _run_time(job: PhillyJob) -> float | None:
    """The seconds of all attempts together; None where one has no end, or there is none."""
    total = 0.0
    for attempt in job.attempts:
        begin, end = time_of(attempt.start_time or "", 0), time_of(attempt.end_time or "", 0)
        if begin is None or end is None:
            return None
        if end < begin:
            return end - begin
        total += end - begin
    return total if job.attempts else None


def read_philly_machines(lines: Iterable[str], options: TraceOptions, skips: Skips) -> Iterator[Node]:
    """The nodes of `cluster_machine_list`; it says nothing of their CPUs and memory."""
    table = Table(numbered(lines, skips), skips, "Philly machines")
    table.require("machineId", "number of GPUs")
    at_name, at_gpus = table.at("machineId") or 0, table.at("number of GPUs") or 0
    for line, row in table.rows():
        try:
            gpus = ceil(number(row[at_gpus]) or 0)
        except ValueError:
            skips.add(SkipReason.BAD_NUMBER, line, excerpt(",".join(row)))
            continue
        if not 0 <= gpus <= _MOST_GPUS:
            skips.add(SkipReason.OUT_OF_RANGE, line, f"{gpus:g} GPUs")
            continue
        yield gpu_node(row[at_name], {}, gpus, {}, options)
