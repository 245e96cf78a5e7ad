"""A workload on a cluster under one policy after the other: the same jobs on the same nodes.

A job that could never start is left out and counted: under `fifo` it would stop all others for
ever, and with held room it would hold it for ever. Whether it could is decided on the empty
cluster, by amounts: so many of its pods fit on the nodes with its labels, and what they ask for is
within the capabilities of its queue and of those above.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.queue import DEFAULT, ROOT, Queue, QueueMetadata
from maar.core.model.resources import PODS, Resources
from maar.core.simulation.figures import Figures, figures_of
from maar.core.simulation.group_times import GroupTimes
from maar.core.simulation.job_columns import JobColumns, JobNotes
from maar.core.simulation.jobs import JobArrivals, TraceJob
from maar.core.simulation.policies import Policy, arrivals_under, jobs_under, queues_under
from maar.core.simulation.series import Series, SeriesRecorder
from maar.core.simulation.virtual_time import Arrival, Simulation

Labels = tuple[tuple[str, tuple[str, ...]], ...]  # values of which a node has one
JobSource = Callable[[], Iterable[TraceJob]]  # the same jobs every time, in order of submission

_KEEPS_AWAY: Final = ("NoSchedule", "NoExecute")
_MOST_QUIET: Final = 10_000  # moments at which nothing runs and nothing is placed


class Survey(NamedTuple):
    """What is known of a workload before it is simulated."""

    jobs: int
    start: float  # of the first job
    missing: tuple[str, ...]  # queues that jobs name and that do not exist
    left_out: dict[str, int]  # jobs, by why they could never start


@dataclass(eq=False)
class Cluster:
    """Nodes and queues, and which jobs could ever start there."""

    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...] = ()
    _fitting: dict[tuple[Resources, Labels], int] = field(default_factory=dict)

    @cached_property
    def _by_name(self) -> dict[str, Queue]:
        return {one.metadata.name: one for one in self.queues}

    @cached_property
    def _inner(self) -> set[str]:
        return {ROOT, *(one.parent for one in self.queues)}

    def with_queues(self, names: Iterable[str]) -> "Cluster":
        """The same cluster with more queues, of weight 1."""
        known = {one.metadata.name for one in self.queues}
        wanted = sorted({DEFAULT, *names} - known)  # every cluster has the first
        more = (Queue(metadata=QueueMetadata(name=name)) for name in wanted)
        return Cluster(self.nodes, (*self.queues, *more))

    def why_never(self, job: TraceJob) -> str:
        """Why a job could never start here, as part of a sentence; empty where it could."""
        labels = tuple(sorted(job.node_labels.items()))
        key = (job.requests, labels)
        most = self._fitting.get(key)
        if most is None:
            most = self._fitting[key] = sum(_pods_on(node, job.requests, labels) for node in self.nodes)
        if most < job.pods:
            return "larger than the cluster" if most else "a pod is larger than every node"
        if job.queue in self._inner:
            return f"queue {job.queue} has queues below it, and jobs are in leaves only"
        by_name = self._by_name
        queue, above = by_name.get(job.queue), len(by_name)  # queues may be in a circle
        while queue is not None and above >= 0:
            for name, amount in queue.spec.capability.items():
                if job.pods * (job.requests.get(name, 0) if name != PODS else 1) > amount:
                    return f"larger than the capability of queue {queue.metadata.name}"
            queue, above = by_name.get(queue.parent), above - 1
        return ""


def survey(cluster: Cluster, jobs: Iterable[TraceJob]) -> Survey:
    """Go through the jobs once, and count."""
    known = {DEFAULT, *(one.metadata.name for one in cluster.queues)}
    count, start, missing, left_out = 0, 0.0, dict[str, None](), Counter[str]()
    for job in jobs:
        if why := cluster.why_never(job):
            left_out[why] += 1
            continue
        start = start if count else job.time
        count += 1
        if job.queue not in known:
            missing[job.queue] = None
    return Survey(count, start, tuple(sorted(missing)), dict(left_out.most_common()))


class Outcome(NamedTuple):
    """What became of a workload under a policy."""

    policy: Policy
    jobs: JobColumns
    series: Series
    figures: Figures
    decisions: int
    is_whole: bool  # False: the simulation was stopped before its end


class Submissions(Protocol):
    """What is submitted under a policy, and how it is read afterwards."""

    start: float
    objects: list[Object]  # that are there at the start

    def __len__(self) -> int:
        """How many jobs have been asked for."""

    def arrivals(self) -> Iterable[Arrival]:
        """What comes, in order of time."""

    def run_time(self, pod: Pod) -> float | None:
        """True seconds of a pod; None: it never ends."""

    def columns(self, times: GroupTimes) -> JobColumns:
        """The jobs that have come, with what became of them."""


class SubmittedJobs:
    """Jobs that are submitted to a cluster, but for those that could never start."""

    def __init__(self, cluster: Cluster, policy: Policy, jobs: Iterable[TraceJob], start: float) -> None:
        self.start, self._policy, self._notes = start, policy, JobNotes()
        self.objects: list[Object] = [*cluster.nodes, *queues_under(policy, cluster.queues)]
        possible = (job for job in jobs if not cluster.why_never(job))
        self._workload = JobArrivals(jobs_under(policy, self._notes.noted(possible)))
        self.run_time, self.columns = self._workload.run_time, self._notes.columns

    def __len__(self) -> int:
        return len(self._notes)

    def arrivals(self) -> Iterable[Arrival]:
        """The jobs as objects, made one by one."""
        return arrivals_under(self._policy, self._workload.arrivals())


class PolicyRun:
    """One policy: run it, moment by moment, then read what became of the jobs."""

    def __init__(
        self,
        policy: Policy,
        submitted: Submissions,
        queues: Iterable[Queue],
        recorder: SeriesRecorder | None = None,
    ) -> None:
        self.policy, self._submitted, self._queues = policy, submitted, queues_under(policy, queues)
        self.simulation = Simulation(
            submitted.objects, submitted.run_time, policy.configuration, submitted.start
        )
        self.simulation.is_brief = True
        self.simulation.submit_all(submitted.arrivals())
        self._recorder = recorder or SeriesRecorder(submitted.start)
        self._is_whole = False

    def moments(self) -> Iterator[int]:
        """Run to the end; gives how many jobs have ended, after every decision."""
        simulation, quiet = self.simulation, 0
        for _, plan in simulation.run():
            self._recorder.observe(simulation, plan)
            quiet = 0 if simulation.running or plan.binds else quiet + 1
            if quiet > _MOST_QUIET:
                break  # the jobs that are left never start
            yield max(0, len(self._submitted) - len(simulation.cluster.groups) - 1)
        self._is_whole = True

    def outcome(self) -> Outcome:
        """What has become of the jobs until now."""
        jobs, series = self._submitted.columns(self.simulation.times()), self._recorder.series()
        figures = figures_of(jobs, series, self._queues)
        return Outcome(self.policy, jobs, series, figures, self.simulation.decisions, self._is_whole)


def _pods_on(node: Node, requests: Resources, labels: Labels) -> int:
    """How many such pods an empty node has room for."""
    if node.spec.unschedulable or not node.is_ready:
        return 0
    if any(taint.effect in _KEEPS_AWAY for taint in node.spec.taints):
        return 0
    if any(node.metadata.labels.get(key) not in values for key, values in labels):
        return 0
    room = node.status.allocatable
    asked = (room.get(name, 0) // amount for name, amount in requests.items() if amount)
    return min([room.get(PODS, 0), *asked])
