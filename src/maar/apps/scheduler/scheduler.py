"""The scheduler: events from an API server into the engine, its plans back to the API server."""

import asyncio
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final

from maar.apps.loop.loop import Loop, Rhythm
from maar.apps.scheduler.decision_log import DecisionLog
from maar.apps.scheduler.event_filter import EventFilter
from maar.apps.scheduler.observer import NullObserver, Observer
from maar.apps.scheduler.reports import Reports
from maar.core.engine import Engine
from maar.core.model.disruption_budget import PodDisruptionBudget
from maar.core.model.events import AnyObject, Event
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.core.model.node import Node
from maar.core.model.plan import Plan
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.model.volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from maar.core.model.workload import BatchJob
from maar.core.model.writes import BindVolume, Nominate, Resume, SelectNode, Write
from maar.core.policy.configuration import Configuration
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done, Gone, Outcome, Refused, Unanswered
from maar.kube.record import Reference
from maar.kube.watch import Trouble
from maar.kube.write import carry_out
from maar.kube.writers import Writers

_LOG: Final = logging.getLogger(__name__)

WATCHED: Final[tuple[type[AnyObject], ...]] = (
    Namespace, PriorityClass, StorageClass, Node, Queue, PodGroup, Pod, ResourceQuota,
    PodDisruptionBudget, PersistentVolumeClaim, PersistentVolume, BatchJob,
)  # fmt: skip

# While many pods are being bound, the API server's time goes to them; people hear of it a little later.
_STATUSES_MEANWHILE: Final = 1
_EVENTS_MEANWHILE: Final = 1


@dataclass(frozen=True)
class Timing:
    """When to decide, in seconds."""

    gather: float = 0.05  # what comes together is decided together
    tick: float = 5.0  # some things come of waiting alone
    again: float = 1.0  # after a write that failed
    settle: float = 1.0  # after writes that went well


class Scheduler:
    """Decides whenever something has happened, and carries out what was decided."""

    def __init__(
        self,
        server: ApiServer,
        engine: Engine,
        timing: Timing = Timing(),  # noqa: B008  frozen
        observer: Observer = NullObserver(),  # noqa: B008  it has nothing to remember
        identity: str = "maar-scheduler",
    ) -> None:
        self._server, self._engine, self._timing, self._observer = server, engine, timing, observer
        self._configuration: Configuration | None = None
        self._failed: list[Write] = []
        self._filter, self._decisions = EventFilter(engine.tables), DecisionLog()
        self.at_rest = asyncio.Event()  # nobody is deciding: the tables may be read
        self.at_rest.set()
        self.deciding_since: float | None = None
        self._writers = Writers()
        status_writers = Writers(16, behind=self._writers, meanwhile=_STATUSES_MEANWHILE)
        event_writers = Writers(behind=self._writers, meanwhile=_EVENTS_MEANWHILE)
        self._loop = loop = Loop(
            server,
            self,
            WATCHED,
            Rhythm(timing.gather, timing.tick),
            (self._writers, status_writers, event_writers),
            "maar-scheduler",
            identity,
        )
        self.known, self.first_decision, self.failures = loop.known, loop.first_round, loop.failures
        self._reports = Reports(server, engine.tables, status_writers, loop, self.at_rest)

    async def run(self, elected: asyncio.Event | None = None) -> None:
        """Watch, decide and write until stopped; nothing is decided before this process is elected."""
        await self._loop.run(elected)

    def stop(self) -> None:
        """Decide nothing more; what was decided is still written."""
        self._loop.stop()

    def lags(self) -> dict[str, float]:
        """For how many seconds changes may have gone unseen, by kind."""
        return self._loop.lags()

    def configure(self, configuration: Configuration) -> None:
        """Decide by another configuration from the next cycle on."""
        self._configuration = configuration
        self._loop.wake()

    def record_warning(self, about: Reference, reason: str, message: str) -> None:
        """Record a Warning event; only the leader does."""
        if self.first_decision.is_set():
            self._loop.recorder.record(about, reason, message, "Warning")

    # What the loop calls

    def needs_round(self, events: list[Event]) -> bool:
        """Whether one of these may change a decision."""
        return self._filter.is_in(events)

    def learn(self, events: list[Event], delay_s: float) -> None:
        """Take events into the tables, and note what has to be reported."""
        self._reports.note(events)
        self._engine.feed(events)
        self._observer.learned(len(events), delay_s)

    def after_other_events(self) -> None:
        """Write statuses that may have changed by events which need no decision."""
        self._reports.on_groups(datetime.now(UTC))

    def interrupted(self, trouble: Trouble) -> None:
        """Log an interrupted watch, and call the observer."""
        _LOG.warning("%s", trouble)
        self._observer.troubled(trouble)

    async def round(self) -> None:
        """One decision: learn, decide, and submit all writes."""
        self._loop.learn()
        while self._failed:
            self._engine.forget(self._failed.pop())
        if self._configuration is not None:
            self._engine.configuration, self._configuration = self._configuration, None
        now = datetime.now(UTC)
        self.deciding_since = began = time.monotonic()
        # In a thread, so that watches are read and writes go on meanwhile; the tables are ours until it ends.
        self.at_rest.clear()
        plan = await asyncio.to_thread(self._engine.decide, now.timestamp())
        self.at_rest.set()
        took_s = time.monotonic() - began
        self._observer.decided(plan, took_s)
        self._filter.decided(plan)
        self._decisions.write(plan, self._engine.tables.groups, took_s)
        self.deciding_since = None
        writes: list[Write] = [
            *plan.evictions,
            *self._promises(plan),
            *plan.resumptions,
            *plan.gate_removals,
            *plan.selections,
            *plan.binds,
        ]
        for write in writes:
            self._carry_out(write)
        if writes:  # how queues stand after them is told soon, not with every one that is seen
            self._loop.wake_in(self._timing.settle)
        if plan.decide_again_at is not None and plan.decide_again_at - now.timestamp() < self._timing.tick:
            self._loop.wake_in(plan.decide_again_at - now.timestamp())
        self._reports.on_plan(plan, now)

    # Writes that a plan asks for

    def _carry_out(self, write: Write) -> None:
        pod = self._engine.tables.pods.get(write.subject)
        uid = pod.uid if pod is not None else ""  # what else there is says its own
        self._engine.assume(write)
        answered = partial(self._answered, write, uid, time.monotonic())
        self._writers.submit(write.subject, partial(carry_out, self._server, write, uid), answered)

    def _promises(self, plan: Plan) -> Iterable[Nominate]:
        """The writes that make the nominations of pods those of the plan."""
        promised, bound = self._engine.assumptions.promised, {one.pod for one in plan.binds}
        wanted = {one.pod: one for one in plan.nominations}
        for pod in [pod for pod in promised if pod not in wanted and pod not in bound]:
            yield Nominate(pod=pod, node="")
        for pod, one in wanted.items():
            if promised.get(pod) != one.node:
                yield one

    def _answered(self, write: Write, uid: str, decided: float, outcome: Outcome) -> None:
        self._observer.answered(write, outcome, time.monotonic() - decided)
        self.failures.answered(type(write).__name__, _kind_of(write), write.subject, outcome)
        if isinstance(outcome, Done):
            self._reports.on_write(write, uid)
            return
        # What is refused or has no answer is logged as a problem, once; pods come and go.
        is_plain = isinstance(outcome, Gone | Refused | Unanswered)
        level = logging.DEBUG if is_plain else logging.WARNING
        _LOG.log(level, "%s: %s", write, getattr(outcome, "message", outcome))
        delay = self._timing.tick if isinstance(outcome, Unanswered) else self._timing.again
        asyncio.get_running_loop().call_later(delay, self._try_again, write)

    def _try_again(self, write: Write) -> None:
        self._failed.append(write)  # a decision may be under way: the tables change before the next
        self._loop.wake()


def _kind_of(write: Write) -> str:
    match write:
        case SelectNode():
            return PersistentVolumeClaim.__name__
        case BindVolume():
            return PersistentVolume.__name__
        case Resume():
            return PodGroup.__name__
        case _:
            return Pod.__name__
