"""The future of a cluster: what becomes of it if nothing comes and pods end when they are expected to.

Everything that is asked about the future is read from this one simulation: planned starts, what a
change would do, the smallest change that would help. It notes of every pod that runs in it what
says when it ends: a later decision is as sure as what has run before it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil, inf, log, log1p
from typing import Final, Literal, NamedTuple

from maar.core.answers.pods_to_come import PodsToCome
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.job import Job
from maar.core.model.metadata import Object
from maar.core.model.plan import Plan
from maar.core.model.pod import TASK_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.simulation.cluster import resubmitted
from maar.core.simulation.group_times import GroupTimes
from maar.core.simulation.resumed_jobs import with_resumed_jobs
from maar.core.simulation.virtual_time import Simulation
from maar.core.tables.groups import ADMITTED_PHASES
from maar.core.tables.run_times import RunTimes, RunTimeSource
from maar.core.tables.tables import Tables

_MINUTE: Final = 60.0

Certainty = Literal["exact", "bound", "unknown"]


class Start(NamedTuple):
    """When a group starts, or why nobody knows."""

    time: float | None  # None: unknown
    certainty: Certainty
    because: str = ""  # where it is not exact: what it depends on, in whole sentences
    waits_for: str = ""  # what holds it at present, as in its condition; empty where it starts at once


@dataclass(frozen=True)
class Present:
    """What is known of a cluster at a time: its objects, and how decisions are made."""

    objects: tuple[Object, ...]  # with jobs, where they are known: a group may have no pods yet
    configuration: Configuration = DEFAULT
    now: float = 0.0
    scheduler_name: str = "volcano"


@dataclass(eq=False)
class EndsNotStated:
    """Pods that have run in a simulation and whose ends nobody has stated, each once, in that order."""

    deadline: dict[str, None] = field(default_factory=dict)  # they end then at the latest
    median: dict[str, None] = field(default_factory=dict)  # as long as earlier pods like them
    unknown: dict[str, None] = field(default_factory=dict)
    overdue: dict[str, None] = field(default_factory=dict)
    stand_in: dict[str, None] = field(default_factory=dict)  # groups whose pods do not exist yet

    @property
    def counts(self) -> tuple[int, ...]:
        """How many there are of each kind."""
        return tuple(map(len, (self.deadline, self.median, self.unknown, self.overdue, self.stand_in)))


class StoppedError(Exception):
    """The answer is no longer wanted."""


class Future:
    """A simulation from the present on; run times of pods are those that are expected.

    With a precision ends are put off by up to that part of the time until then, and at least to the next
    minute, so that many pods end at one moment: fewer decisions, and times that are that much less exact.
    """

    def __init__(
        self,
        present: Present,
        precision: float = 0.0,
        *,
        victims_return_later: bool = False,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self.present, self.precision, self._is_wanted = present, precision, is_wanted
        objects = with_resumed_jobs(present.objects, present.scheduler_name, present.now)
        self.simulation = Simulation(
            [one for one in objects if not isinstance(one, Job)],
            self._run_time,
            present.configuration,
            present.now,
            scheduler_name=present.scheduler_name,
            decides_again=not precision,
        )
        self.began = self.simulation.time
        self.not_stated = EndsNotStated()
        self._pods_to_come = PodsToCome(objects, present.scheduler_name)
        self._made = list[str]()  # groups whose pods come with the next decision
        self._victims_return_later = victims_return_later  # when all is decided without them
        self._returning = list[Pod]()
        self._run_times: RunTimes | None = None

    def tables(self) -> Tables:
        """The present as decisions see it; only before the first of them."""
        self.simulation.take_in()
        configuration = self.present.configuration
        tables = self.simulation.engine.tables
        tables.settle(
            heeds_taints=configuration.heeds_taints, usage=configuration.usage, now=self.present.now
        )
        return tables

    def now(self) -> list[Plan]:
        """The decisions of the present: they go on until one changes nothing, which has all reasons."""
        self.simulation.is_brief = "while evicting"
        plans = [plan for _, plan in self.run(until=self.simulation.time)]
        for _ in self.simulation.cluster.groups:  # law 6: evictions end within as many cycles
            if not self._returning:
                break
            self._return_victims()
            plans += [plan for _, plan in self.run(until=self.simulation.time)]
        if self._returning:  # groups that would go on evicting each other: the last victims wait
            self._return_victims()
            self.simulation.take_in()
        self.simulation.is_brief = False
        return plans

    def run(self, until: float = inf) -> Iterator[tuple[float, Plan]]:
        """The decisions from here on, up to and with a time."""
        for time, plan in self.simulation.run(until):
            if not self._is_wanted():
                raise StoppedError
            self._make_pods(plan)
            if self._victims_return_later and plan.evictions:
                self._evict(one.pod for one in plan.evictions)
            yield time, plan

    @property
    def held(self) -> Mapping[str, list[Pod]]:
        """Pods that are made again when their group is admitted again, by group."""
        return self._pods_to_come.held

    def change(self, events: Iterable[Event], evicted: Collection[str] = ()) -> None:
        """Let somebody change or delete objects now; pods that are evicted by it are made again later."""
        listed = list[Event]()
        for event in events:
            pod = event.object if isinstance(event, Upserted) else None
            if isinstance(pod, Pod) and pod.key in evicted:
                self._evict([pod.key])
            else:
                listed.append(event)
        self._pods_to_come.change(listed, self.simulation.cluster.groups)
        self.simulation.change(one for one in listed if not _is_about_job(one))

    def times(self) -> GroupTimes:
        """What has become of every group until now."""
        return self.simulation.times()

    def has_pods_to_come(self, group: str) -> bool:
        """Whether somebody will make pods of a group."""
        return group in self._pods_to_come.groups or group in self._made

    def may_total_change(self) -> bool:
        """Whether pods end that are in no queue, or on nodes that are not shared: then the total changes."""
        tables = self.simulation.engine.tables
        run_times = RunTimes(tables)
        return any(
            pod.counted is not None and pod.counted.budget and run_times.with_source(pod) is not None
            for pod in tables.pods.values()
        )

    def still_running(self) -> Iterator[str]:
        """The pods that run on and whose ends are not known."""
        pods = self.simulation.cluster.pods
        for key in (*self.not_stated.overdue, *self.not_stated.unknown):
            if key in pods and pods[key].spec.node_name:
                yield key

    def _evict(self, pods: Iterable[str]) -> None:
        """Let pods be gone for now; their controllers make them again."""
        victims = [self.simulation.cluster.pods[key] for key in pods]
        self._returning += map(resubmitted, victims)
        self.simulation.change(Deleted(kind="Pod", key=one.key) for one in victims)

    def _return_victims(self) -> None:
        """Submit victims again; Volcano's jobs do so only while their group is admitted."""
        groups = self.simulation.cluster.groups
        back = list[Pod]()
        for pod in self._returning:
            group = groups.get(pod.group_key)
            if group is not None and TASK_ANNOTATION in pod.metadata.annotations and _is_outside(group):
                self._pods_to_come.hold(group, pod)
            else:
                back.append(pod)
        self._returning.clear()
        self.simulation.submit(self.simulation.time, back)

    def _make_pods(self, plan: Plan) -> None:
        """The pods of groups that have been admitted, as their controllers make them then."""
        waiting = self._pods_to_come.groups
        admitted = [
            key for key in waiting if key in plan.pod_groups and plan.pod_groups[key].phase in ADMITTED_PHASES
        ]
        self._made = admitted
        for key in admitted:
            if not self._pods_to_come.is_known(key):
                self.not_stated.stand_in[key] = None
            self.simulation.submit(self.simulation.time, self._pods_to_come.take(key))

    def _run_time(self, pod: Pod) -> float | None:
        """Expected seconds of a pod; None where nobody knows, or where it has run for longer already."""
        tables = self.simulation.engine.tables
        if self._run_times is None:
            self._run_times = RunTimes(tables)
        row, now = tables.pods[pod.key], self.simulation.time
        expected = self._run_times.with_source(row)
        started = now if row.started is None else row.started
        is_overdue = expected is not None and started + expected.seconds <= now
        if not (row.is_daemon or row.is_critical):  # they are there for ever
            self._note(row.key, "overdue" if is_overdue else expected.source if expected else "unknown")
        if expected is None or is_overdue:
            return None
        return self._put_off(started + expected.seconds) - started if self.precision else expected.seconds

    def _put_off(self, end: float) -> float:
        """The next of the moments at which pods end; each is later than the one before by the precision."""
        after = end - self.began
        steps = ceil(log(after / _MINUTE) / log1p(self.precision)) if after > _MINUTE else 0
        return self.began + _MINUTE * (1.0 + self.precision) ** steps

    def _note(self, pod: str, source: Literal["unknown", "overdue"] | RunTimeSource) -> None:
        match source:
            case "stated":
                pass
            case "deadline":
                self.not_stated.deadline[pod] = None
            case "median":
                self.not_stated.median[pod] = None
            case "unknown":
                self.not_stated.unknown[pod] = None
            case "overdue":
                self.not_stated.overdue[pod] = None


def _is_outside(group: PodGroup) -> bool:
    """Whether a group is not admitted, or not any more."""
    return group.status.phase in ("", "Pending")


def _is_about_job(event: Event) -> bool:
    return isinstance(event.object, Job) if isinstance(event, Upserted) else event.kind == "Job"
