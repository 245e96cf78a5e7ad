"""The Standard Workload Format, version 2.2, of the Parallel Workloads Archive: read and written.

A line is a job: 18 numbers with blanks between, where -1 is "not known". Dialects have more fields
after these, which are not read. Lines that start with `;` are a header at the top, and comments
elsewhere. A job asks for what its user requested, or for what it got where that is not known.
Statuses 2 to 4 are parts of a job that has a line of its own.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from math import ceil, isfinite
from typing import Final

from maar.core.model.resources import CPU, MEMORY
from maar.core.simulation.jobs import TraceJob
from maar.core.traces.lines import Numbered
from maar.core.traces.options import TraceOptions, queue_field
from maar.core.traces.records import TraceRecord, kubernetes_name, pods_of
from maar.core.traces.skips import SkipReason, Skips, excerpt
from maar.core.traces.sources import Source

FIELDS: Final = 18
_QUEUE_FIELDS: Final = {"queue": 14, "partition": 15, "user": 11, "group": 12, "executable": 13}
_PARTS: Final = frozenset({"2", "3", "4"})
_CANCELLED: Final = "5"
_UNKNOWN: Final = "-1"
_HEADER: Final = re.compile(r";\s*(\w+)\s*:\s*(.*)")
_NAMED: Final = re.compile(r"(\d+)\s+(\S+)")
_MOST_NAMES: Final = 10_000  # of queues in a header
_KIB: Final = 1024


def looks_like_swf(lines: list[str]) -> bool:
    """Whether the first lines of a file are a header with `;`, or 18 numbers each and more."""
    jobs = [line.split() for line in lines if line.strip() and not line.lstrip().startswith(";")]
    if not jobs:
        return any(_HEADER.match(line.strip()) for line in lines)
    return any(len(fields) >= FIELDS and _are_numbers(fields[:FIELDS]) for fields in jobs)


def read_swf(lines: Numbered, options: TraceOptions, skips: Skips) -> Source:
    """Read the header, and prepare to read the jobs."""
    field = queue_field(options.queue_from, tuple(_QUEUE_FIELDS), "SWF")
    header, first = _Header(), list[tuple[int, str]]()
    for number, line in lines:
        if not line.startswith(";"):
            first.append((number, line))
            break
        header.add(line)
    per_pod = options.processors_per_pod or header.processors_per_node or 1
    records = _records(chain(first, lines), options, skips, header, per_pod, field)
    queues = tuple(kubernetes_name(name, field) for name in header.names.get(field, {}).values())
    return Source(records, field, header.nodes, header.processors, queues)


class _Header:
    """What the comments say; names of queues may come later than at the top."""

    def __init__(self) -> None:
        self.nodes: int | None = None
        self.processors: int | None = None
        self.start = 0.0
        self.names: dict[str, dict[str, str]] = {field: {} for field in _QUEUE_FIELDS}  # by number

    def add(self, line: str) -> None:
        found = _HEADER.match(line)
        if found is None:
            return
        key, text = found[1], found[2]
        number = _whole(text.partition(" ")[0])
        if key == "MaxNodes":
            self.nodes = number or self.nodes
        elif key == "MaxProcs":
            self.processors = number or self.processors
        elif key == "UnixStartTime":
            self.start = float(number or 0)
        elif key.lower() in self.names and (named := _NAMED.match(text)):
            names = self.names[key.lower()]
            if len(names) < _MOST_NAMES:
                names[named[1]] = named[2]

    @property
    def processors_per_node(self) -> int | None:
        if not self.nodes or not self.processors:
            return None
        return max(1, self.processors // self.nodes)


def _records(
    lines: Iterable[tuple[int, str]],
    options: TraceOptions,
    skips: Skips,
    header: _Header,
    per_pod: int,
    field: str,
) -> Iterator[TraceRecord]:
    default_memory, start = options.memory_per_processor, header.start
    queue_at = _QUEUE_FIELDS.get(field)
    users, queues = header.names["user"], header.names.get(field, {})
    for number, line in lines:
        if line.startswith(";"):
            header.add(line)
            continue
        skips.read += 1
        fields = line.split()
        if len(fields) < FIELDS:
            skips.add(SkipReason.BAD_FIELDS, number, f"{len(fields)} fields, not {FIELDS}")
            continue
        status = fields[10]
        if status in _PARTS:
            skips.add(SkipReason.PARTIAL, number)
            continue
        try:
            submitted, run_time, estimate = float(fields[1]), float(fields[3]), float(fields[8])
            processors = ceil(float(fields[7]))
            if processors < 1:
                processors = ceil(float(fields[4]))
            memory = float(fields[9]) * _KIB
        except (ValueError, OverflowError):  # NaN and infinity have no whole number
            skips.add(SkipReason.BAD_NUMBER, number, excerpt(line))
            continue
        if not isfinite(submitted + run_time):
            skips.add(SkipReason.BAD_NUMBER, number, excerpt(line))
            continue
        is_without_run = run_time == -1 or (status == _CANCELLED and run_time <= 0)
        pods, of_pod = pods_of(processors, per_pod) if processors > 0 else (0, 0)
        queue = _UNKNOWN if queue_at is None else fields[queue_at]
        yield TraceRecord(
            line=number,
            id=fields[0],
            submitted=start + submitted if submitted >= 0 else None,
            run_time=None if is_without_run else run_time,
            estimate=estimate,
            pods=pods,
            cpu=of_pod,
            memory=(memory if memory > 0 else default_memory) * of_pod,
            queue="" if queue == _UNKNOWN else queues.get(queue, queue),
            user="" if fields[11] == _UNKNOWN else users.get(fields[11], fields[11]),
        )


def write_swf(jobs: Iterable[TraceJob]) -> Iterator[str]:
    """Jobs as lines of the format; queues and namespaces are numbers, which comments before their use name.

    Whole CPUs, memory in KiB per CPU, and times in seconds are kept; GPUs, priorities and selectors have no
    field. A reader that knows the number of processors of a pod makes the same pods.
    """
    yield "; Version: 2.2\n"
    numbers: dict[tuple[str, str], int] = {}
    for index, job in enumerate(jobs, start=1):
        ids = []
        for kind, name in (("User", job.namespace), ("Queue", job.queue)):
            if (kind, name) not in numbers:
                numbers[kind, name] = 1 + sum(one == kind for one, _ in numbers)
                yield f"; {kind}: {numbers[kind, name]} {name}\n"
            ids.append(numbers[kind, name])
        processors = max(1, -(-job.requests.get(CPU, 0) // 1000))
        memory = job.requests.get(MEMORY, 0) // processors // _KIB or -1
        together = processors * job.pods
        estimate = -1 if job.estimate is None else job.estimate
        yield (
            f"{index} {_number(job.time)} -1 {_number(job.run_time)} {together} -1 -1 {together}"
            f" {_number(estimate)} {memory} 1 {ids[0]} -1 -1 {ids[1]} -1 -1 -1\n"
        )


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < FIELDS else None


def _are_numbers(fields: list[str]) -> bool:
    try:
        return all(isfinite(float(one)) for one in fields)
    except ValueError:
        return False
