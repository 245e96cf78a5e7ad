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

from maar.apps.inbox import Inbox
from maar.apps.observer import Nobody, Observer
from maar.apps.pod_conditions import PodConditions
from maar.apps.statuses import Difference, Statuses
from maar.core.controllers.group_status import group_write, is_news
from maar.core.controllers.queue_status import queue_write
from maar.core.engine import Engine
from maar.core.model.disruption_budget import PodDisruptionBudget
from maar.core.model.events import AnyObject, Appeared, Event, Vanished
from maar.core.model.metadata import Object
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.core.model.node import Node
from maar.core.model.plan import GroupOutcome, Plan, QueueStanding
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.model.volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from maar.core.model.writes import Bind, Evict, Nominate, SelectNode, SetStatus, Write
from maar.core.policy.configuration import Configuration
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done, Outcome, Unanswered
from maar.kube.record import Recorder, Reference
from maar.kube.watch import Trouble, Watch
from maar.kube.write import carry_out
from maar.kube.writers import Writers

_LOG: Final = logging.getLogger(__name__)

WATCHED: Final[tuple[type[AnyObject], ...]] = (
    Namespace, PriorityClass, StorageClass, Node, Queue, PodGroup, Pod, ResourceQuota,
    PodDisruptionBudget, PersistentVolumeClaim, PersistentVolume,
)  # fmt: skip

_FINISH_WITHIN_S: Final = 5.0  # what was decided before the end


@dataclass(frozen=True)
class Timing:
    """When to decide, in seconds."""

    gather: float = 0.05  # what comes together is decided together
    tick: float = 5.0  # some things come of waiting alone
    again: float = 1.0  # after a write that failed


class Scheduler:
    """Decides whenever something has happened, and carries out what was decided."""

    def __init__(
        self,
        server: ApiServer,
        engine: Engine,
        timing: Timing = Timing(),  # noqa: B008  frozen
        observer: Observer = Nobody(),  # noqa: B008  it has nothing to remember
        identity: str = "maar-scheduler",
    ) -> None:
        self._server, self._engine, self._timing, self._observer = server, engine, timing, observer
        self._identity = identity
        self._inbox = Inbox()
        self._groups: dict[str, PodGroup] = {}
        self._changed_groups: set[str] = set()
        self._told: dict[str, GroupOutcome] = {}
        self._configuration: Configuration | None = None
        self._news, self._stop = asyncio.Event(), asyncio.Event()
        self.known, self.first_decision = asyncio.Event(), asyncio.Event()
        self.deciding_since: float | None = None
        self.cycles = 0

    async def run(self, elected: asyncio.Event | None = None) -> None:
        """Watch, decide and write until told to stop.

        Nothing is decided before everything is known, or before this process is elected.
        """
        watches = [Watch(self._server, kind, self._hear, self._report) for kind in WATCHED]
        async with (
            asyncio.TaskGroup() as tasks,
            Writers() as self._writers,
            Writers(16) as status_writers,
            Writers(16) as event_writers,
        ):
            self._statuses = Statuses(self._server, status_writers, self._see, self._missed)
            self._conditions = PodConditions(self._server, status_writers)
            self._recorder = Recorder(self._server, event_writers, "maar-scheduler", self._identity)
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
        self._news.set()

    def configure(self, configuration: Configuration) -> None:
        """Decide by another configuration from the next cycle on."""
        self._configuration = configuration
        self._news.set()

    def tell(self, about: Reference, reason: str, message: str) -> None:
        """Warn people in an event; only who leads does."""
        if self.first_decision.is_set():
            self._recorder.record(about, reason, message, "Warning")

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
        """Until something has happened and what comes with it has come too, or the time is up."""
        try:
            async with asyncio.timeout(self._timing.tick):
                await self._news.wait()
            await asyncio.sleep(self._timing.gather)
        except TimeoutError:
            pass

    def _hear(self, events: list[Event]) -> None:
        self._inbox.put(events)
        self._news.set()

    def _learn(self) -> None:
        self._news.clear()
        events, delay_s = self._inbox.take()
        if events:
            self._note_groups(events)
            self._engine.feed(events)
            self._observer.learned(len(events), delay_s)

    async def _cycle(self) -> None:
        """One decision: learn, decide, and hand everything on to those who write."""
        self._learn()
        if self._configuration is not None:
            self._engine.configuration, self._configuration = self._configuration, None
        now = datetime.now(UTC)
        self.deciding_since = began = time.monotonic()
        # In a thread, so that watches are read and writes go on meanwhile; the tables are ours until it ends.
        plan = await asyncio.to_thread(self._engine.decide, now.timestamp())
        self._observer.decided(plan, time.monotonic() - began)
        self.deciding_since = None
        self.cycles += 1
        writes: list[Write] = [*plan.evictions, *self._promises(plan), *plan.selections, *plan.binds]
        for write in writes:
            self._carry_out(write)
        self._conditions.forget(one.pod for one in plan.binds)
        self._write_statuses(plan, now)

    # Writes that a plan asks for

    def _carry_out(self, write: Write) -> None:
        key = write.claim if isinstance(write, SelectNode) else write.pod
        uid = "" if isinstance(write, SelectNode) else self._engine.assumptions.uids.get(key, "")
        self._engine.assume(write)
        answered = partial(self._answered, write, uid, time.monotonic())
        self._writers.submit(key, partial(carry_out, self._server, write, uid), answered)

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
        if isinstance(outcome, Done):
            self._tell(write, uid)
            return
        _LOG.warning("%s: %s", write, getattr(outcome, "message", outcome))
        delay = self._timing.tick if isinstance(outcome, Unanswered) else self._timing.again
        asyncio.get_running_loop().call_later(delay, self._try_again, write)

    def _try_again(self, write: Write) -> None:
        self._engine.forget(write)
        self._news.set()

    def _tell(self, write: Write, uid: str) -> None:
        match write:
            case Bind(pod=pod, node=node):
                message = f"Successfully assigned {pod} to {node}"
                self._recorder.record(_pod(pod, uid), "Scheduled", message)
            case Evict(pod=pod, action=action, beneficiary=beneficiary):
                why = f"for {beneficiary}" if beneficiary else "because its group cannot run"
                self._recorder.record(_pod(pod, uid), "Evict", f"evicted by {action} {why}", "Warning")
            case _:
                pass

    # What a plan says of queues and groups

    def _write_statuses(self, plan: Plan, now: datetime) -> None:
        changed, self._changed_groups = self._changed_groups, set()
        told, self._told = self._told, plan.pod_groups
        changed.update(key for key, outcome in plan.pod_groups.items() if told.get(key) != outcome)
        changed.update(key for key in told if key not in plan.pod_groups)
        for key in sorted(changed):
            outcome = plan.pod_groups.get(key)
            self._statuses.want("PodGroup", key, self._of_group(key, outcome, now))
            if outcome is not None and (row := self._engine.tables.groups.get(key)) is not None:
                self._conditions.say(row, outcome, now)
        for name, standing in plan.queues.items():
            self._statuses.want("Queue", name, self._of_queue(name, standing, now))

    def _of_group(self, key: str, outcome: GroupOutcome | None, now: datetime) -> Difference:
        def difference() -> SetStatus | None:
            group, row = self._groups.get(key), self._engine.tables.groups.get(key)
            if group is None or row is None:
                return None
            if outcome is not None and outcome.held is not None and is_news(group, outcome.held.reason):
                self._recorder.record(Reference.to(group), "Unschedulable", outcome.message, "Warning")
            return group_write(group, row, outcome, now)

        return difference

    def _of_queue(self, name: str, standing: QueueStanding, now: datetime) -> Difference:
        def difference() -> SetStatus | None:
            row = self._engine.tables.queues.get(name)
            return None if row is None else queue_write(row.queue, standing, now)

        return difference

    def _see(self, seen: Object) -> None:
        """Know an object as the server has it after a write of ours, before the watch says so."""
        if isinstance(seen, PodGroup | Queue):
            self._hear([Appeared(object=seen)])

    def _missed(self, kind: str, key: str) -> None:
        """A status could not be written; the next cycle looks at it again."""
        if kind == "PodGroup":
            self._changed_groups.add(key)

    def _note_groups(self, events: Iterable[Event]) -> None:
        for event in events:
            match event:
                case Appeared(object=PodGroup() as group):
                    self._groups[group.key] = group
                    self._changed_groups.add(group.key)
                case Appeared(object=Pod() as pod):
                    if name := pod.metadata.annotations.get(GROUP_ANNOTATION):
                        self._changed_groups.add(f"{pod.metadata.namespace or 'default'}/{name}")
                case Vanished(kind="PodGroup", key=key):
                    self._groups.pop(key, None)
                case Vanished(kind="Pod", key=key):
                    self._conditions.forget((key,))
                    row = self._engine.tables.pods.get(key)
                    if row is not None and row.group_key:
                        self._changed_groups.add(row.group_key)
                case _:
                    pass

    def _report(self, trouble: Trouble) -> None:
        _LOG.warning("%s", trouble)
        self._observer.troubled(trouble)


def _pod(key: str, uid: str) -> Reference:
    namespace, _, name = key.partition("/")
    return Reference("v1", "Pod", namespace, name, uid)
