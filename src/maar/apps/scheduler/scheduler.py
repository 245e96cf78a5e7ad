"""The scheduler: events from an API server into the engine, its plans back to the API server."""

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final

from maar.apps.scheduler.decision_log import DecisionLog
from maar.apps.scheduler.inbox import Inbox
from maar.apps.scheduler.news import News
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
from maar.core.model.writes import BindVolume, Nominate, SelectNode, Write
from maar.core.policy.configuration import Configuration
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done, Gone, Outcome, Refused, Unanswered
from maar.kube.record import Recorder, Reference
from maar.kube.watch import Trouble, Watch
from maar.kube.write import carry_out
from maar.kube.write_failures import WriteFailures
from maar.kube.writers import Writers

_LOG: Final = logging.getLogger(__name__)

WATCHED: Final[tuple[type[AnyObject], ...]] = (
    Namespace, PriorityClass, StorageClass, Node, Queue, PodGroup, Pod, ResourceQuota,
    PodDisruptionBudget, PersistentVolumeClaim, PersistentVolume,
)  # fmt: skip

# While many pods are being bound, the API server's time goes to them; people hear of it a little later.
_STATUSES_MEANWHILE: Final = 1
_EVENTS_MEANWHILE: Final = 1
_FINISH_WITHIN_S: Final = 5.0  # what was decided before the end


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
        self._identity = identity
        self._inbox = Inbox()
        self._configuration: Configuration | None = None
        self._failed: list[Write] = []
        self._watches: dict[str, Watch] = {}
        self._reader, self._decisions = News(engine.tables), DecisionLog()
        self._heard, self._news, self._stop = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.known, self.first_decision = asyncio.Event(), asyncio.Event()
        self._at_rest = asyncio.Event()  # nobody is deciding: the tables may be read
        self._at_rest.set()
        self.deciding_since: float | None = None
        self.failures = WriteFailures()

    async def run(self, elected: asyncio.Event | None = None) -> None:
        """Watch, decide and write until told to stop.

        Nothing is decided before everything is known, or before this process is elected.
        """
        self._watches = {
            kind.__name__: Watch(self._server, kind, self._hear, self._report) for kind in WATCHED
        }
        watches = self._watches.values()
        async with (
            asyncio.TaskGroup() as tasks,
            Writers() as self._writers,
            Writers(16, behind=self._writers, meanwhile=_STATUSES_MEANWHILE) as status_writers,
            Writers(behind=self._writers, meanwhile=_EVENTS_MEANWHILE) as event_writers,
        ):
            recorder = Recorder(self._server, event_writers, "maar-scheduler", self._identity, self.failures)
            self._reports = Reports(
                self._server,
                self._engine.assumptions,
                status_writers,
                recorder,
                self._see,
                self._at_rest,
                self.failures,
            )
            watching = [tasks.create_task(watch.run()) for watch in watches]
            for watch in watches:
                await self._learn_until(watch.synced())
            self.known.set()
            if elected is not None:
                await self._learn_until(elected.wait())
            while not self._stop.is_set():
                await self._cycle()
                self.first_decision.set()
                await self._wait()
            for task in watching:
                task.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(_FINISH_WITHIN_S):
                    for writers in (self._writers, status_writers, event_writers):
                        await writers.idle()

    def stop(self) -> None:
        """Decide nothing more; what was decided is still written."""
        self._stop.set()
        self._decide_soon()

    def configure(self, configuration: Configuration) -> None:
        """Decide by another configuration from the next cycle on."""
        self._configuration = configuration
        self._decide_soon()

    def lags(self) -> dict[str, float]:
        """For how many seconds changes may have gone unseen, by kind."""
        return {kind: watch.lag_s for kind, watch in self._watches.items()}

    def tell(self, about: Reference, reason: str, message: str) -> None:
        """Warn people in an event; only who leads does."""
        if self.first_decision.is_set():
            self._reports.recorder.record(about, reason, message, "Warning")

    async def _learn_until(self, what: Coroutine[None, None, object]) -> None:
        """Learn while waiting for something, so that little is left to be learned then."""
        waiting = asyncio.create_task(what)
        stopped = asyncio.create_task(self._stop.wait())
        try:
            while not (waiting.done() or stopped.done()):
                self._learn()
                await asyncio.wait(
                    (waiting, stopped), timeout=self._timing.gather, return_when=asyncio.FIRST_COMPLETED
                )
        finally:
            waiting.cancel()
            stopped.cancel()

    async def _wait(self) -> None:
        """Until there is news and what comes with it has come too, or the time is up."""
        try:
            async with asyncio.timeout(self._timing.tick):
                while True:
                    await self._heard.wait()
                    await asyncio.sleep(self._timing.gather)  # also for news that came during the decision
                    if self._news.is_set():
                        return
                    self._learn()  # echoes and signs of life: statuses may change, no decision
                    self._reports.on_groups(datetime.now(UTC))
        except TimeoutError:
            pass

    def _hear(self, events: list[Event]) -> None:
        if self._reader.is_in(events):
            self._news.set()
        self._inbox.put(events)
        self._heard.set()

    def _see(self, written: AnyObject) -> None:
        """Know an object as the server has it after a write of ours, before the stream says so."""
        self._watches[type(written).__name__].see(written)

    def _decide_soon(self) -> None:
        self._news.set()
        self._heard.set()

    def _learn(self) -> None:
        self._heard.clear()
        events, delay_s = self._inbox.take()
        if events:
            self._reports.note(events)
            self._engine.feed(events)
            self._observer.learned(len(events), delay_s)

    async def _cycle(self) -> None:
        """One decision: learn, decide, and hand everything on to those who write."""
        self._news.clear()
        self._learn()
        while self._failed:
            self._engine.forget(self._failed.pop())
        if self._configuration is not None:
            self._engine.configuration, self._configuration = self._configuration, None
        now = datetime.now(UTC)
        self.deciding_since = began = time.monotonic()
        # In a thread, so that watches are read and writes go on meanwhile; the tables are ours until it ends.
        self._at_rest.clear()
        plan = await asyncio.to_thread(self._engine.decide, now.timestamp())
        self._at_rest.set()
        took_s = time.monotonic() - began
        self._observer.decided(plan, took_s)
        self._reader.decided(plan)
        self._decisions.write(plan, self._engine.tables.groups, took_s)
        self.deciding_since = None
        writes: list[Write] = [*plan.evictions, *self._promises(plan), *plan.selections, *plan.binds]
        for write in writes:
            self._carry_out(write)
        if writes:  # how queues stand after them is told soon, not with every one that is seen
            asyncio.get_running_loop().call_later(self._timing.settle, self._decide_soon)
        self._reports.on_plan(plan, now)

    # Writes that a plan asks for

    def _carry_out(self, write: Write) -> None:
        uid = self._engine.assumptions.uids.get(write.subject, "")  # of pods; what else there is says its own
        self._engine.assume(write)
        answered = partial(self._answered, write, uid, time.monotonic())
        self._writers.submit(write.subject, partial(carry_out, self._server, write, uid), answered)

    def _promises(self, plan: Plan) -> Iterable[Nominate]:
        """What has to be written so that pods carry just the promises of the plan."""
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
        self._decide_soon()

    def _report(self, trouble: Trouble) -> None:
        _LOG.warning("%s", trouble)
        self._observer.troubled(trouble)


def _kind_of(write: Write) -> str:
    if isinstance(write, SelectNode):
        return PersistentVolumeClaim.__name__
    return (PersistentVolume if isinstance(write, BindVolume) else Pod).__name__
