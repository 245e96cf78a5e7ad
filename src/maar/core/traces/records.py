"""Records of a trace, and the jobs that are made of them.

Every format gives `TraceRecord`s; what is true of all formats is checked here: names that
Kubernetes allows and that occur once, numbers in range, queues that exist, sizes that fit. Memory
stays bounded however long the trace is: `SeenNames` keeps a bit for each of 64 neighbouring
numbers, which is what ids are in practice.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from math import ceil, isfinite
from typing import Final, NamedTuple

from maar.core.model.resources import CPU, MEMORY, Resources
from maar.core.simulation.jobs import TraceJob
from maar.core.traces.options import TraceOptions
from maar.core.traces.skips import SkipReason, Skips

LAST_TIME: Final = 32_503_680_000.0  # the year 3000, in seconds since the epoch
LONGEST_RUN_TIME: Final = 3_155_760_000.0  # a hundred years
MOST_PODS: Final = 1_000_000  # of a job
_LARGEST_AMOUNT: Final = 2**62
_BLOCKS: Final = 500_000  # of 64 names each that are remembered, twice
_BITS: Final = 6
_NOT_IN_NAMES: Final = re.compile("[^a-z0-9]+")
_NUMBER_AT_END: Final = re.compile("[1-9][0-9]{0,17}$")
_LONGEST_NAME: Final = 52  # so that the number of a pod fits into a label
_NO_LABELS: Final[Mapping[str, tuple[str, ...]]] = {}


class TraceRecord(NamedTuple):
    """A job as a trace has it; what is not known is None or empty."""

    line: int
    id: str
    submitted: float | None
    run_time: float | None
    estimate: float | None
    pods: int
    cpu: float  # CPUs of a pod
    memory: float  # bytes of a pod
    gpu: int = 0  # thousandths of GPUs of a pod
    queue: str = ""
    user: str = ""
    node_labels: Mapping[str, tuple[str, ...]] = _NO_LABELS


class SeenNames:
    """Which names have come; the last half million blocks of 64 numbers are remembered, or more."""

    def __init__(self) -> None:
        self._recent: dict[tuple[str, int], int] = {}
        self._before: dict[tuple[str, int], int] = {}
        self.forgets = False  # whether names are no longer compared with all others

    def add(self, name: str) -> bool:
        """Tell whether a name is new, and remember it."""
        found = _NUMBER_AT_END.search(name)
        number = int(found[0]) if found else 0
        stem = name[: found.start()] if found else name
        block, bit = (stem, number >> _BITS), 1 << (number & (1 << _BITS) - 1)
        seen = self._recent.get(block)
        if seen is None:
            seen = self._before.get(block, 0)
            if len(self._recent) >= _BLOCKS:
                self.forgets = self.forgets or bool(self._before)
                self._before, self._recent = self._recent, {}
        self._recent[block] = seen | bit
        return not seen & bit


class JobMaker:
    """Makes jobs of records, and counts those that cannot be."""

    def __init__(self, options: TraceOptions, skips: Skips, queue_prefix: str) -> None:
        self._options, self._skips, self._queue_prefix = options, skips, queue_prefix
        self._names = SeenNames()
        self._limits = [
            (limit, is_of_all, reason)
            for limit, is_of_all, reason in (
                (options.largest_node, False, SkipReason.LARGER_THAN_NODE),
                (options.cluster, True, SkipReason.LARGER_THAN_CLUSTER),
            )
            if limit is not None
        ]

    def job(self, record: TraceRecord) -> TraceJob | None:
        """The job of a record; None: it is left out, and counted."""
        reason, detail = self._problem(record)
        if reason is None:
            made = self._made(record)
            reason, detail = self._misfit(made)
            if reason is None and self._names.add(made.name):
                if self._names.forgets:
                    made = made._replace(name=f"{made.name}-{record.line}")
                return made
            if reason is None:
                reason, detail = SkipReason.DUPLICATE, made.name
        self._skips.add(reason, record.line, detail)
        return None

    def _problem(self, record: TraceRecord) -> tuple[SkipReason | None, str]:
        """What is wrong with the numbers of a record."""
        submitted, run_time = record.submitted, record.run_time
        if submitted is None or submitted < 0:
            return SkipReason.NO_SUBMISSION, ""
        if run_time is None:
            return SkipReason.NO_RUN_TIME, ""
        if run_time < 0:
            return SkipReason.NEGATIVE_RUN_TIME, f"{run_time:g} s"
        if record.pods < 1 or not (record.cpu > 0 or record.gpu > 0 or record.memory > 0):
            return SkipReason.NO_RESOURCES, ""
        largest = max(record.cpu * 1000, record.memory, record.gpu) * min(record.pods, MOST_PODS + 1)
        if (
            submitted <= LAST_TIME
            and run_time <= LONGEST_RUN_TIME
            and record.pods <= MOST_PODS
            and largest < _LARGEST_AMOUNT  # what is not a number is not
        ):
            return None, ""
        return (
            SkipReason.OUT_OF_RANGE,
            f"submitted {submitted:g}, {run_time:g} s, {float(record.pods):g} pods",
        )

    def _made(self, record: TraceRecord) -> TraceJob:
        options, run_time, estimate = self._options, record.run_time or 0.0, record.estimate
        if estimate is not None and not (isfinite(estimate) and 0 < estimate <= LONGEST_RUN_TIME):
            estimate = None
        if estimate is not None and options.stops_at_estimate:
            run_time = min(run_time, estimate)
        return TraceJob(
            name=job_name(record.id),
            time=record.submitted or 0.0,
            namespace=kubernetes_name(record.user, "user") if options.namespace_from and record.user
            else options.namespace,
            queue=kubernetes_name(record.queue, self._queue_prefix) if record.queue else options.queue,
            pods=record.pods,
            requests=_requests(ceil(record.cpu * 1000), ceil(record.memory), record.gpu, *self._gpu_names()),
            run_time=run_time,
            estimate=estimate,
            node_labels=record.node_labels,
        )  # fmt: skip

    def _gpu_names(self) -> tuple[str, bool]:
        is_whole = self._options.shared_gpus == "whole"
        return self._options.gpu if is_whole else self._options.gpu_thousandths, is_whole

    def _misfit(self, job: TraceJob) -> tuple[SkipReason | None, str]:
        """Why a job could never run in the cluster at hand."""
        options = self._options
        if options.queues is not None and job.queue not in options.queues:
            return SkipReason.NO_QUEUE, job.queue
        for limit, is_of_all, reason in self._limits:
            times = job.pods if is_of_all else 1
            for name, amount in job.requests.items():
                if amount * times > limit.get(name, 0):
                    return reason, f"{job.name} asks for {name}"
        return None, ""


def pods_of(processors: int, per_pod: int) -> tuple[int, int]:
    """How many equal pods a job of so many processors becomes, and the processors of each."""
    pods = -(-processors // per_pod)
    return pods, -(-processors // pods) if pods else 0


@lru_cache(maxsize=4096)
def _requests(cpu: int, memory: int, gpu: int, gpu_name: str, is_whole: bool) -> Resources:  # noqa: FBT001
    """Equal requests share an object; what is not asked for is not named."""
    amounts = {CPU: cpu, MEMORY: memory, gpu_name: -(-gpu // 1000) if is_whole else gpu}
    return Resources({name: amount for name, amount in amounts.items() if amount})


def job_name(identifier: str) -> str:
    """The name of a job with an id of a trace."""
    if identifier.isdecimal() and identifier.isascii() and len(identifier) < _LONGEST_NAME:
        return f"job-{identifier}"
    return _kubernetes_name(identifier, "job")


@lru_cache(maxsize=65_536)
def kubernetes_name(text: str, prefix: str) -> str:
    """A name of a trace as Kubernetes allows it; a number gets a prefix that says what it is."""
    return _kubernetes_name(text, prefix)


def _kubernetes_name(text: str, prefix: str) -> str:
    name = _NOT_IN_NAMES.sub("-", text.lower()).strip("-")
    if not name or name[0].isdecimal():
        name = f"{prefix}-{name}".strip("-")
    if len(name) <= _LONGEST_NAME:
        return name
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=5).hexdigest()
    return f"{name[: _LONGEST_NAME - 11].rstrip('-')}-{digest}"
