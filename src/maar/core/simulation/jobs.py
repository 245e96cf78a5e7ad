"""Jobs of a workload, whether drawn at random or read from a trace, and the objects they are submitted as."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from maar.core.model.affinity import Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm
from maar.core.model.metadata import Metadata, Object, Requirement
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.resources import Resources
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.core.simulation.virtual_time import Arrival


class TraceJob(NamedTuple):
    """A gang of equal pods."""

    name: str  # as Kubernetes allows it, once in its namespace
    time: float  # of submission, in seconds since the epoch
    namespace: str
    queue: str
    pods: int
    requests: Resources  # of one pod
    run_time: float  # true seconds
    estimate: float | None  # what its user stated
    priority: int | None = None
    node_labels: Mapping[str, tuple[str, ...]] = {}  # values of which its nodes have one

    @property
    def key(self) -> str:
        """The key of its pod group."""
        return f"{self.namespace}/{self.name}"

    @property
    def total(self) -> Resources:
        """What all its pods ask for."""
        return Resources({name: amount * self.pods for name, amount in self.requests.items()})


@dataclass(eq=False)
class JobArrivals:
    """Jobs in order of submission, asked for one by one; of those that came only run times are kept."""

    jobs: Iterable[TraceJob]
    with_min_resources: bool = False  # then a job waits for admission until the cluster has room for it
    _run_times: dict[str, float] = field(default_factory=dict)

    def arrivals(self) -> Iterator[Arrival]:
        """The jobs as objects, made one by one."""
        for job in self.jobs:
            self._run_times[job.key] = job.run_time
            yield Arrival(job.time, objects_of(job, with_min_resources=self.with_min_resources))

    def run_time(self, pod: Pod) -> float:
        """How long a pod of one of the jobs runs."""
        return self._run_times[f"{pod.metadata.namespace}/{pod.metadata.annotations[GROUP_ANNOTATION]}"]


def objects_of(job: TraceJob, *, with_min_resources: bool = False) -> list[Object]:
    """The pod group of a job, and its pods."""
    notes = {GROUP_ANNOTATION: job.name}
    if job.estimate is not None:
        notes[EXPECTED_RUN_TIME] = f"{job.estimate:.6f}s"
    group = PodGroup(
        metadata=Metadata(name=job.name, namespace=job.namespace),
        spec=PodGroupSpec(
            min_member=job.pods, queue=job.queue, min_resources=job.total if with_min_resources else None
        ),
    )
    spec = PodSpec(
        scheduler_name="volcano",
        containers=(Container(name="main", resources=ResourceRequirements(requests=job.requests)),),
        affinity=_affinity(job.node_labels),
        priority=job.priority,
    )
    return [
        group,
        *(
            Pod(
                metadata=Metadata(name=f"{job.name}-{index}", namespace=job.namespace, annotations=notes),
                spec=spec,
            )
            for index in range(job.pods)
        ),
    ]


def _affinity(labels: Mapping[str, tuple[str, ...]]) -> Affinity | None:
    if not labels:
        return None
    wanted = tuple(Requirement(key=key, operator="In", values=values) for key, values in labels.items())
    term = NodeSelectorTerm(match_expressions=wanted)
    required = NodeSelector(node_selector_terms=(term,))
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required))
