"""The engine driven in virtual time: what would become of a workload, as fast as it can be decided.

The problem. One wants to know what a scheduler makes of a month of jobs, or of the next hours,
without waiting for it. The engine is a pure function of events and the time, so that time can be
anything.

How it works. Time goes from moment to moment: the next is the earliest of the arrivals, the ends of
running pods, and `Plan.decide_again_at`. At a moment everything that is due happens first: pods
end, objects arrive. Then the engine decides and the cluster carries it out (`cluster.py`), again
and again until a decision changes nothing, so that room which an eviction frees is used at the
moment it is freed. Nothing is due at a time between moments, and with nothing due a decision is the
same as the one before: no moment is missed.

What is assumed. A bound pod runs at once, for its true run time; it then succeeds, and its group
completes with its last pod. An evicted pod goes at once, loses its work and is submitted again,
with its full run time before it. Groups that have ended are kept for `keep_finished` seconds, by
default not at all, and are then removed from the engine: its memory stays as small as what runs and
waits.

Exactness. Objects store times in microseconds; moments are whole microseconds too, so that start
times which decisions read are the moments themselves. Nothing depends on a clock, on random numbers
or on the order of a set: the same input gives the same decisions.

A decision is left out where it cannot change anything: a further one at the same time, when no pod
waits. Without `decides_again` there is a further one after evictions only: half as many decisions,
and what another would have changed is changed at the next moment.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from math import inf
from typing import Final, NamedTuple, cast

import msgspec

from maar.core.engine import Brevity, Engine
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.metadata import Object
from maar.core.model.plan import Plan
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.simulation.cluster import ImaginaryCluster, succeeded
from maar.core.simulation.group_times import GroupLog, GroupTimes
from maar.core.simulation.resumed_jobs import with_resumed_jobs
from maar.core.tables.groups import ADMITTED_PHASES
from maar.core.tables.run_times import time_after

RunTime = Callable[[Pod], float | None]  # true seconds from a pod's start to its end; None: it never ends

_MOST_DECISIONS: Final = 1_000  # at one moment; evictions end long before
_LATER_S: Final = 1.0  # after which a moment goes on that had that many
_NOT_RUNNING: Final = (0, 0.0)
_MICROSECOND: Final = timedelta(microseconds=1)


class Arrival(NamedTuple):
    """Objects that come at a time, in seconds since the epoch: groups with their pods, nodes, queues."""

    time: float
    objects: Iterable[Object]


@dataclass(slots=True)
class _Members:
    """The pods of a group, or one pod without a group."""

    group: str  # empty: it has none
    pods: dict[str, None] = field(default_factory=dict)
    unfinished: int = 0


class _End(NamedTuple):
    """The end of a pod that runs; `run` tells it from one that was evicted before."""

    time: float
    run: int
    pod: str


class Simulation:
    """A cluster in virtual time: submit objects, then run it; what became of the groups is in columns."""

    def __init__(
        self,
        objects: Iterable[Object],
        run_time: RunTime,
        configuration: Configuration = DEFAULT,
        start: float = 0.0,
        *,
        keep_finished: float = 0.0,
        scheduler_name: str = "volcano",
        decides_again: bool = True,
    ) -> None:
        self.engine = Engine(configuration, scheduler_name)
        self.is_brief: Brevity = False  # whether plans leave out why groups are held
        self.time = _moment(start)
        self.cluster = ImaginaryCluster(self.engine, datetime.fromtimestamp(self.time, UTC), resubmits=True)
        self.decisions = 0
        self._run_time, self._keep_finished, self._decides_again = run_time, keep_finished, decides_again
        self._log = GroupLog()
        self._arrivals: list[tuple[float, int, Iterable[Object], Iterator[Arrival]]] = []
        self._submissions = 0
        self._ends: list[_End] = []
        self._running: dict[str, tuple[int, float]] = {}  # run and start of pods that run
        self._runs = 0
        self._members: dict[str, _Members] = {}
        self._not_admitted: dict[str, None] = {}  # groups
        self._waiting = 0  # pods without a node
        self._finished: deque[tuple[float, str]] = deque()  # whose members are removed, and when
        self._completed: list[str] = []  # groups, at this moment
        self._running_already: list[Pod] = []  # that arrive on nodes at this moment
        self._decide_again_at: float | None = None
        self.submit(self.time, objects)

    # --- what comes

    def submit(self, time: float, objects: Iterable[Object]) -> None:
        """Let objects arrive at a time that has not passed; those without a time of creation get that one."""
        name = self.engine.tables.scheduler_name
        self.submit_all([Arrival(time, with_resumed_jobs(objects, name, time))])

    def submit_all(self, arrivals: Iterable[Arrival]) -> None:
        """Let objects arrive, the earliest first; each is asked for when the one before it has come."""
        self._expect(iter(arrivals), self.time)

    def change(self, events: Iterable[Event]) -> None:
        """Let somebody change or delete objects at this moment; a decision follows."""
        made = list[Event]()
        for event in events:
            match event:
                case Deleted(kind="Pod", key=key) | Upserted(object=Pod(key=key)):
                    self._forget(key)
                case _:
                    pass
            made.append(self._take_in(event.object) if isinstance(event, Upserted) else event)
        self.cluster.learn(made)
        self._decide_again_at = self.time

    def _forget(self, key: str) -> None:
        """A pod goes, or is another one from now on."""
        pod = self.cluster.pods.get(key)
        members = self._members.get(_owner(pod)) if pod is not None else None
        if pod is None or members is None or key not in members.pods:
            return
        del members.pods[key]
        self._running.pop(key, None)
        if not pod.is_finished:
            members.unfinished -= 1
            self._waiting -= not pod.spec.node_name

    def _expect(self, arrivals: Iterator[Arrival], since: float) -> None:
        found = next(arrivals, None)
        if found is None:
            return
        if found.time < since:
            raise ValueError(
                f"objects arrive at {found.time}, and time is {since} already: submit them in order of time"
            )
        self._submissions += 1
        heappush(self._arrivals, (_moment(found.time), self._submissions, found.objects, arrivals))

    # --- time

    def take_in(self) -> None:
        """Let everything happen that is due now; the first decision is still to come."""
        self._let_happen()
        self._decide_again_at = self.time

    def run(self, until: float = inf) -> Iterator[tuple[float, Plan]]:
        """Go from moment to moment, up to and with a time; gives every decision once it is carried out."""
        while (moment := self._next_moment()) <= until and moment != inf:
            self.time, self.cluster.now = moment, datetime.fromtimestamp(moment, UTC)
            self._let_happen()
            yield from self._decide()

    def times(self) -> GroupTimes:
        """What has become of every group until now."""
        return self._log.columns()

    @property
    def waiting(self) -> int:
        """How many pods are without a node."""
        return self._waiting

    @property
    def running(self) -> int:
        """How many pods run."""
        return len(self._running)

    def _next_moment(self) -> float:
        ends = self._ends
        while ends and self._running.get(ends[0].pod, _NOT_RUNNING)[0] != ends[0].run:
            heappop(ends)  # it was evicted meanwhile
        due = [ends[0].time] if ends else []
        if self._arrivals:
            due.append(self._arrivals[0][0])
        if self._decide_again_at is not None:
            due.append(_moment(self._decide_again_at))
        return max(self.time, min(due, default=inf))

    def _let_happen(self) -> None:
        """Everything that is due: pods end, groups complete and are removed, objects arrive."""
        ended = [*self._ended_pods()]
        removed = self._removed()
        kept = [one for one in ended if _owner(one) in self._members]
        events: list[Event] = [*(Upserted(object=succeeded(one)) for one in kept), *removed]
        while self._arrivals and self._arrivals[0][0] <= self.time:
            time, _, objects, more = heappop(self._arrivals)
            events += [self._take_in(one) for one in objects]
            self._expect(more, time)
        self.cluster.learn(events)
        for pod in self._running_already:  # how long they run may depend on all that is known
            self._start(pod, pod.status.start_time.timestamp() if pod.status.start_time else self.time)
        self._running_already.clear()
        completed = [self.cluster.report(key) for key in self._completed if key in self.cluster.groups]
        self.cluster.learn([Upserted(object=one) for one in completed])
        self._completed.clear()

    def _decide(self) -> Iterator[tuple[float, Plan]]:
        """Decide until a decision changes nothing."""
        for _ in range(_MOST_DECISIONS):
            plan = self.engine.decide(self.time, is_brief=self.is_brief)
            is_changed = self.cluster.apply(plan)
            self._note(plan)
            self.decisions += 1
            is_settled = not is_changed or not self._waiting or not (self._decides_again or plan.evictions)
            self._decide_again_at = plan.decide_again_at if is_settled else self.time
            yield self.time, plan
            if is_settled:
                return
        self._decide_again_at = self.time + _LATER_S

    # --- what happens to groups and pods

    def _take_in(self, one: Object) -> Event:
        """An object arrives."""
        if isinstance(one, PodGroup | Pod) and one.metadata.creation_timestamp is None:
            metadata = msgspec.structs.replace(one.metadata, creation_timestamp=self.cluster.now)
            one = msgspec.structs.replace(one, metadata=metadata)
        if isinstance(one, PodGroup):
            key = one.key
            self._log.submit(key, one.spec.queue, self.time)
            self._not_admitted[key] = None
            if one.status.phase in ADMITTED_PHASES:
                self._admit(key)
        elif isinstance(one, Pod) and not one.is_finished and not one.is_terminating:
            self._take_in_pod(one)
        return Upserted(object=cast("AnyObject", one))

    def _take_in_pod(self, pod: Pod) -> None:
        key, group = pod.key, _group(pod)
        owner = group or _owner(pod)
        members = self._members.get(owner) or self._members.setdefault(owner, _Members(group))
        if key in members.pods:
            raise ValueError(f"pod {key} arrives a second time: submit it once, or under another name")
        members.pods[key] = None
        members.unfinished += 1
        self._log.count_pods(group, members.unfinished)
        if not pod.spec.node_name:
            self._waiting += 1
            return
        self._running_already.append(pod)
        self._admit(group)
        self._log.start(group, self.time)

    def _admit(self, group: str) -> None:
        self._not_admitted.pop(group, None)
        self._log.admit(group, self.time)

    def _start(self, pod: Pod, started: float) -> None:
        self._runs += 1
        self._running[pod.key] = self._runs, started
        seconds = self._run_time(pod)
        if seconds is None:
            return
        if seconds < 0:
            raise ValueError(f"pod {pod.key} runs for {seconds} s: a run time is 0 or more, or None")
        heappush(self._ends, _End(time_after(started, seconds), self._runs, pod.key))

    def _note(self, plan: Plan) -> None:
        """Count what a plan that has been carried out did to groups and pods."""
        pods, now = self.cluster.pods, self.time
        for eviction in plan.evictions:
            _, started = self._running.pop(eviction.pod)
            self._log.evict(_group(pods[eviction.pod]), now - started)
        for bind in plan.binds:
            self._log.start(_group(pods[bind.pod]), now)
            self._start(pods[bind.pod], now)
        self._waiting += len(plan.evictions) - len(plan.binds)
        for key in [*self._not_admitted] if self._not_admitted else ():
            outcome = plan.pod_groups.get(key)
            if outcome is not None and outcome.phase != "Pending":
                self._admit(key)

    def _ended_pods(self) -> Iterator[Pod]:
        """The pods whose end is due; a group completes where no other pod of it is left."""
        while self._ends and self._ends[0].time <= self.time:
            _, run, key = heappop(self._ends)
            if self._running.get(key, _NOT_RUNNING)[0] == run:
                del self._running[key]
                pod = self.cluster.pods[key]
                owner = _owner(pod)
                members = self._members[owner]
                members.unfinished -= 1
                if not members.unfinished:
                    self._log.close(members.group, self.time)
                    self._finished.append((self.time + self._keep_finished, owner))
                    self._completed.append(members.group)
                yield pod

    def _removed(self) -> list[Event]:
        """Groups that have been kept for long enough are removed with their pods."""
        events = list[Event]()
        while self._finished and self._finished[0][0] <= self.time:
            _, owner = self._finished.popleft()
            if self._members[owner].unfinished:
                continue  # more pods of it have come
            members = self._members.pop(owner)
            events += [Deleted(kind="Pod", key=key) for key in members.pods]
            if members.group:
                self._not_admitted.pop(members.group, None)
                events.append(Deleted(kind="PodGroup", key=members.group))
        return events


def _group(pod: Pod) -> str:
    """The key of a pod's group; empty where it names none."""
    name = pod.metadata.annotations.get(GROUP_ANNOTATION, "")
    return f"{pod.metadata.namespace or 'default'}/{name}" if name else ""


def _owner(pod: Pod) -> str:
    """With whom a pod completes: the key of its group, or one that no group has."""
    return _group(pod) or f"{pod.key}/"


def _moment(time: float) -> float:
    """The first whole microsecond at or after a time: what objects can store."""
    stored = datetime.fromtimestamp(time, UTC)
    return stored.timestamp() if stored.timestamp() >= time else (stored + _MICROSECOND).timestamp()
