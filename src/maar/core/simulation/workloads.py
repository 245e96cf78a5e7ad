"""Synthetic workloads: gangs of random sizes and run times that arrive at random in several queues.

What jobs are like follows what studies of real logs agree on: sizes are mostly powers of two and small ones
are as frequent as each larger power (log-uniform), run times are log-normal with a long tail, arrivals are a
Poisson process, users state a bound of the run time that is often far too large. Arrivals are spread so that
all jobs together ask for exactly the wanted part of the cluster between the first and the last arrival.

All randomness comes from uniform numbers that are handed in; the same numbers give the same jobs. Times are
whole seconds, so that rounding of logarithms does not show.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import cos, exp, log, pi, sqrt
from typing import Final, Literal, NamedTuple, Protocol

from maar.core.model.metadata import Metadata, Object
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.resources import CPU, MEMORY, Resources
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.core.simulation.virtual_time import Arrival

_LARGEST_FACTOR: Final = 4.0  # by which users overestimate, at most


class UniformNumbers(Protocol):
    """A source of random numbers, such as `random.Random(seed)`."""

    def random(self) -> float:
        """A number of at least 0 and less than 1."""


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
    estimates: Literal["exact", "bound", "none"] = "bound"
    with_min_resources: bool = False  # then a job waits for admission until the cluster has room for it


class SyntheticJob(NamedTuple):
    """A gang of equal pods."""

    name: str
    time: float
    namespace: str
    queue: str
    pods: int
    cpu: int  # of a pod
    run_time: float
    estimate: float | None

    @property
    def key(self) -> str:
        """The key of its pod group."""
        return f"{self.namespace}/{self.name}"

    @property
    def total_cpu(self) -> int:
        """Of all its pods."""
        return self.pods * self.cpu


class SyntheticWorkload:
    """The jobs of a mix, in order of arrival; `arrivals` and `run_time` are what a simulation asks for."""

    def __init__(self, mix: JobMix, numbers: UniformNumbers, start: float = 0.0) -> None:
        self.mix = mix
        drawn = [_draw(mix, numbers, index) for index in range(mix.jobs)]
        gaps = [-log(1.0 - numbers.random()) for _ in drawn]
        work = sum(job.total_cpu * job.run_time for job in drawn)
        length = work / (mix.load * mix.cluster_cpu) / (sum(gaps) or 1.0)
        times, passed = list[float](), 0.0
        for gap in gaps:
            passed += gap
            times.append(start + round(passed * length))
        self.jobs = [job._replace(time=time) for job, time in zip(drawn, times, strict=True)]
        self._run_times = {job.key: job.run_time for job in self.jobs}

    def arrivals(self) -> Iterator[Arrival]:
        """The jobs as objects, made one by one."""
        return (Arrival(job.time, _objects(self.mix, job)) for job in self.jobs)

    def run_time(self, pod: Pod) -> float:
        """How long a pod of one of the jobs runs."""
        return self._run_times[f"{pod.metadata.namespace}/{pod.metadata.annotations[GROUP_ANNOTATION]}"]


def _draw(mix: JobMix, numbers: UniformNumbers, index: int) -> SyntheticJob:
    largest = (mix.largest_job_cpu // 1000).bit_length()  # powers of two from 1 on
    cpu = 1000 * 2 ** int(numbers.random() * largest)
    one = min(cpu, mix.largest_pod_cpu)
    normal = sqrt(-2.0 * log(1.0 - numbers.random())) * cos(2.0 * pi * numbers.random())
    median = mix.median_run_time * (cpu / mix.largest_pod_cpu) ** -mix.speedup
    run_time = float(max(1, round(min(mix.longest_run_time, median * exp(mix.sigma * normal)))))
    factor = _LARGEST_FACTOR ** numbers.random()
    bound = float(round(run_time * factor + 0.5))
    return SyntheticJob(
        name=f"job-{index:06}",
        time=0.0,
        namespace=f"team-{int(numbers.random() * mix.namespaces)}",
        queue=_queue(mix.queues, numbers.random()),
        pods=cpu // one,
        cpu=one,
        run_time=run_time,
        estimate={"exact": run_time, "bound": bound, "none": None}[mix.estimates],
    )


def _queue(queues: Mapping[str, float], number: float) -> str:
    """The queue in whose part of all a number between 0 and 1 lies."""
    left = number * sum(queues.values())
    for name, part in queues.items():
        left -= part
        if left < 0:
            return name
    return list(queues)[-1]


def _objects(mix: JobMix, job: SyntheticJob) -> list[Object]:
    request = Resources({CPU: job.cpu, MEMORY: job.cpu * mix.memory_per_cpu // 1000})
    together = Resources({name: amount * job.pods for name, amount in request.items()})
    spec = PodSpec(
        scheduler_name="volcano",
        containers=(Container(name="main", resources=ResourceRequirements(requests=request)),),
    )
    notes = {GROUP_ANNOTATION: job.name}
    if job.estimate is not None:
        notes[EXPECTED_RUN_TIME] = f"{job.estimate:.0f}s"
    group = PodGroup(
        metadata=Metadata(name=job.name, namespace=job.namespace),
        spec=PodGroupSpec(
            min_member=job.pods,
            queue=job.queue,
            min_resources=together if mix.with_min_resources else None,
        ),
    )
    names = (f"{job.name}-{index}" for index in range(job.pods))
    return [
        group,
        *(
            Pod(metadata=Metadata(name=one, namespace=job.namespace, annotations=notes), spec=spec)
            for one in names
        ),
    ]
