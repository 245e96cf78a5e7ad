"""Synthetic workloads: gangs of random sizes and run times that arrive at random in several queues.

What jobs are like follows what studies of real logs agree on: sizes are mostly powers of two and
small ones are as frequent as each larger power (log-uniform), run times are log-normal with a long
tail, arrivals are a Poisson process, users state a bound of the run time that is often far too
large. Some jobs may ask for GPUs, their CPUs and memory in proportion. Arrivals are spread so that
all jobs together ask for exactly the wanted part of the cluster between the first and the last
arrival: of its CPUs or its GPUs, whichever is scarcer.

All randomness comes from uniform numbers that are handed in; the same numbers give the same jobs.
Times are whole seconds, so that rounding of logarithms does not show.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import cos, exp, log, pi, sqrt
from typing import Final, Literal, Protocol, TypeVar

from maar.core.model.resources import CPU, MEMORY, Resources
from maar.core.simulation.jobs import TraceJob

Estimates = Literal["exact", "bound", "none"]

_LARGEST_FACTOR: Final = 4.0  # by which users overestimate, at most
_Chosen = TypeVar("_Chosen")


class UniformNumbers(Protocol):
    """A source of random numbers, such as `random.Random(seed)`."""

    def random(self) -> float:
        """A number of at least 0 and less than 1."""


@dataclass(frozen=True)
class GpuMix:
    """What jobs that ask for GPUs are like."""

    cluster: int  # GPUs of all nodes
    share: float = 0.5  # part of the jobs
    largest_job: int = 64  # log-uniform from one GPU
    largest_pod: int = 8  # a larger job is a gang of pods of this size
    cpu_per_gpu: int = 8_000
    resource: str = "nvidia.com/gpu"


@dataclass(frozen=True)
class JobMix:
    """What the jobs of a synthetic workload are like."""

    jobs: int
    cluster_cpu: int  # of all nodes, in thousandths
    load: float = 1.05  # what the jobs ask for, as a part of the cluster
    queues: Mapping[str, float] = field(default_factory=lambda: {"default": 1.0})  # parts of the jobs
    namespaces: int = 1
    largest_job_cpu: int = 64_000  # log-uniform from one CPU
    largest_pod_cpu: int = 16_000  # a larger job is a gang of pods of this size
    memory_per_cpu: int = 2**30
    median_run_time: float = 1800.0
    speedup: float = 0.0  # run times fall with the size to this power: 0 not at all, 1 all do equal work
    sigma: float = 1.2  # of the logarithm of run times
    longest_run_time: float = 86_400.0
    estimates: Estimates = "bound"
    gpus: GpuMix | None = None
    priorities: Mapping[int, float] = field(default_factory=dict)  # parts of the jobs; empty: none has one


def synthetic_jobs(mix: JobMix, numbers: UniformNumbers, start: float = 0.0) -> list[TraceJob]:
    """The jobs of a mix, in order of arrival."""
    drawn = [_draw(mix, numbers, index) for index in range(mix.jobs)]
    gaps = [-log(1.0 - numbers.random()) for _ in drawn]
    work = sum(job.pods * job.requests[CPU] * job.run_time for job in drawn) / mix.cluster_cpu
    if mix.gpus is not None:
        name = mix.gpus.resource
        of_gpus = sum(job.pods * job.requests.get(name, 0) * job.run_time for job in drawn)
        work = max(work, of_gpus / mix.gpus.cluster)
    length = work / mix.load / (sum(gaps) or 1.0)
    times, passed = list[float](), 0.0
    for gap in gaps:
        passed += gap
        times.append(start + round(passed * length))
    return [job._replace(time=time) for job, time in zip(drawn, times, strict=True)]


def estimate_of(run_time: float, kind: Estimates, number: float) -> float | None:
    """What a user states of a run time: exactly, a bound up to four times too large, or nothing."""
    bound = float(round(run_time * _LARGEST_FACTOR**number + 0.5))
    return {"exact": run_time, "bound": bound, "none": None}[kind]


def chosen(parts: Mapping[_Chosen, float], number: float) -> _Chosen:
    """The one in whose part of all a number between 0 and 1 lies."""
    left = number * sum(parts.values())
    for one, part in parts.items():
        left -= part
        if left < 0:
            return one
    return list(parts)[-1]


def _draw(mix: JobMix, numbers: UniformNumbers, index: int) -> TraceJob:
    """A job without its time; numbers for what is not asked for are not drawn."""
    gpus = mix.gpus if mix.gpus is not None and numbers.random() < mix.gpus.share else None
    if gpus is None:
        cpu = 1000 * _power_of_two(mix.largest_job_cpu // 1000, numbers)
        one = min(cpu, mix.largest_pod_cpu)
        pods, devices = cpu // one, {}
    else:
        asked = _power_of_two(gpus.largest_job, numbers)
        held = min(asked, gpus.largest_pod)
        pods, one, devices = asked // held, held * gpus.cpu_per_gpu, {gpus.resource: held}
        cpu = pods * one
    normal = sqrt(-2.0 * log(1.0 - numbers.random())) * cos(2.0 * pi * numbers.random())
    median = mix.median_run_time * (cpu / mix.largest_pod_cpu) ** -mix.speedup
    run_time = float(max(1, round(min(mix.longest_run_time, median * exp(mix.sigma * normal)))))
    return TraceJob(
        name=f"job-{index:06}",
        time=0.0,
        estimate=estimate_of(run_time, mix.estimates, numbers.random()),
        namespace=f"team-{int(numbers.random() * mix.namespaces)}",
        queue=chosen(mix.queues, numbers.random()),
        pods=pods,
        requests=Resources({CPU: one, MEMORY: one * mix.memory_per_cpu // 1000, **devices}),
        run_time=run_time,
        priority=chosen(mix.priorities, numbers.random()) if mix.priorities else None,
    )


def _power_of_two(largest: int, numbers: UniformNumbers) -> int:
    return 1 << int(numbers.random() * largest.bit_length())
