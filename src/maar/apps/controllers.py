"""The controllers: one runner that feeds them, carries out what they want, and tries again."""

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Final, Protocol, assert_never, cast

from prometheus_client import CollectorRegistry

from maar.apps.metrics.controllers import ControllerMetrics
from maar.apps.scheduler.inbox import Inbox
from maar.core.controllers.pod_groups import MissingGroups
from maar.core.controllers.queue_state import QueueStates
from maar.core.controllers.quotas import NamespaceQuotas
from maar.core.model.events import AnyObject, Event, Upserted
from maar.core.model.job import Command, Job
from maar.core.model.kinds import KINDS_BY_NAME, from_json
from maar.core.model.metadata import Object
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.workload import WORKLOADS, Workload
from maar.core.model.writes import (
    ControllerWrite,
    Create,
    DelayedWrite,
    Delete,
    Patch,
    RecordEvent,
    SetStatus,
)
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Conflict, Done, Gone, Outcome, Refused
from maar.kube.paths import place_of
from maar.kube.record import Recorder, Reference
from maar.kube.watch import Trouble, Watch
from maar.kube.write import create, delete, patch
from maar.kube.write_failures import WriteFailures
from maar.kube.writers import Writers

_LOG: Final = logging.getLogger(__name__)

WATCHED: Final[tuple[type[AnyObject], ...]] = (
    Queue, PodGroup, Job, Command, Pod, Namespace, ResourceQuota,
)  # fmt: skip
Workloads = Sequence[type[Workload]]
_GATHER_S: Final = 0.1
_AGAIN_S: Final = 1.0
_LONGEST_S: Final = 30.0
_FINISH_WITHIN_S: Final = 5.0  # what was begun before the end
_REFUSALS: Final = {  # the reasons of events, as Kubernetes' own controllers have them
    Create: "FailedCreate", Patch: "FailedUpdate", SetStatus: "FailedUpdate", Delete: "FailedDelete",
}  # fmt: skip


class Controller(Protocol):
    """Something that converges: it learns what is, and says what has to be written."""

    def feed(self, events: Iterable[Event]) -> None:
        """Learn what has happened."""

    def reconcile(self) -> Sequence[ControllerWrite | DelayedWrite]:
        """Say what has to be written now; nothing where all is as it should be."""


def controllers(scheduler_name: str = "volcano", workloads: Workloads = WORKLOADS) -> tuple[Controller, ...]:
    """All of Maar's controllers; pod groups follow workloads of the kinds that the API server has."""
    return (QueueStates(), MissingGroups(scheduler_name, workloads), NamespaceQuotas())


class ControllerRunner:
    """Feeds controllers and writes what they want; what fails comes again, since they look at what is."""

    def __init__(
        self,
        server: ApiServer,
        running: Sequence[Controller],
        identity: str = "maar-controllers",
        workloads: Workloads = WORKLOADS,
    ) -> None:
        self._server, self._running, self._identity = server, running, identity
        self._workloads = cast(tuple[type[AnyObject], ...], tuple(workloads))
        self._inbox = Inbox()
        self._known: dict[tuple[str, str], Reference] = {}
        self._busy: set[tuple[str, str]] = set()
        self._failures = self._rounds = 0
        self._failed_at = -1
        self._watches: dict[str, Watch] = {}
        self._news, self._stop = asyncio.Event(), asyncio.Event()
        self.queues: dict[str, Queue] = {}
        self.metrics = ControllerMetrics(CollectorRegistry(), self.queues)  # shown nowhere
        self.failures = WriteFailures()
        self.known, self.first_round = asyncio.Event(), asyncio.Event()

    async def run(self, elected: asyncio.Event | None = None) -> None:
        """Watch and reconcile until told to stop; nothing before all is known and this process elected."""
        self._watches = {
            kind.__name__: Watch(self._server, kind, self._hear, self._report)
            for kind in (*WATCHED, *self._workloads)
        }
        watches = self._watches.values()
        async with (
            asyncio.TaskGroup() as tasks,
            Writers(32) as self._writers,
            Writers(8) as event_writers,
        ):
            self._recorder = Recorder(
                self._server, event_writers, "maar-controllers", self._identity, self.failures
            )
            watching = [tasks.create_task(watch.run()) for watch in watches]
            for watch in watches:
                await self._unless_stopped(watch.synced())
            self.known.set()
            if elected is not None:
                await self._unless_stopped(elected.wait())
            while not self._stop.is_set():
                self._round()
                self.first_round.set()
                await self._news.wait()
                await asyncio.sleep(_GATHER_S)
            for task in watching:
                task.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(_FINISH_WITHIN_S):
                    await self._writers.idle()
                    await event_writers.idle()

    def stop(self) -> None:
        """Begin nothing more; what was begun is still written."""
        self._stop.set()
        self._news.set()

    def lags(self) -> dict[str, float]:
        """For how many seconds changes may have gone unseen, by kind."""
        return {kind: watch.lag_s for kind, watch in self._watches.items()}

    async def _unless_stopped(self, what: Coroutine[None, None, object]) -> None:
        """Wait for something; learn meanwhile, so that little is left to be learned then."""
        tasks = asyncio.create_task(what), asyncio.create_task(self._stop.wait())
        try:
            while not any(task.done() for task in tasks):
                self._learn()
                await asyncio.wait(tasks, timeout=_GATHER_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    def _hear(self, events: list[Event]) -> None:
        self._inbox.put(events)
        self._news.set()

    def _learn(self) -> None:
        self._news.clear()
        events, delay_s = self._inbox.take()
        if not events:
            return
        self.metrics.learned(len(events), delay_s)
        for event in events:
            if isinstance(event, Upserted):
                reference = Reference.to(event.object)
                self._known[reference.kind, event.object.key] = reference
                if isinstance(event.object, Queue):
                    self.queues[event.object.key] = event.object
            else:
                self._known.pop((event.kind, event.key), None)
                if event.kind == "Queue":
                    self.queues.pop(event.key, None)
        for controller in self._running:
            controller.feed(events)

    def _round(self) -> None:
        began = time.monotonic()
        self._rounds += 1
        self._learn()
        under_way = frozenset(self._busy)
        for controller in self._running:
            for one in controller.reconcile():
                write = self._due(one)
                # What is under way is looked at again when it is answered.
                if write is not None and (write.kind, write.key) not in under_way:
                    self._carry_out(write)
        self.metrics.reconciled(time.monotonic() - began)

    def _due(self, write: ControllerWrite | DelayedWrite) -> ControllerWrite | None:
        """What is to be done now; for what is not due yet there is another round when it is."""
        if not isinstance(write, DelayedWrite):
            return write
        delay_s = (write.at - datetime.now(UTC)).total_seconds()
        if delay_s <= 0:
            return write.write
        asyncio.get_running_loop().call_later(delay_s, self._news.set)
        return None

    def _carry_out(self, write: ControllerWrite) -> None:
        place = (write.kind, write.key)
        if isinstance(write, RecordEvent):
            if (about := self._known.get(place)) is not None:
                self._recorder.record(
                    about, write.reason, write.message, "Warning" if write.is_warning else "Normal"
                )
        else:
            self._busy.add(place)
            self._writers.submit(place, partial(self._write, write), partial(self._answered, write))

    async def _write(self, write: SetStatus | Create | Patch | Delete) -> Outcome:
        place = place_of(KINDS_BY_NAME[write.kind])
        match write:
            case SetStatus():
                status = {"status": write.status}
                return await patch(self._server, place, write.key, status, subresource="status")
            case Create():
                return await create(self._server, place, write.key, write.document)
            case Patch():
                return await patch(self._server, place, write.key, write.patch)
            case Delete():
                return await delete(self._server, place, write.key, uid=write.uid)
        assert_never(write)

    def _answered(self, write: SetStatus | Create | Patch | Delete, outcome: Outcome) -> None:
        self._busy.discard((write.kind, write.key))
        self.metrics.answered(write, outcome)
        is_new = self.failures.answered(type(write).__name__, write.kind, write.key, outcome)
        if isinstance(outcome, Done):
            self._failures = 0
            if not isinstance(write, Delete):
                self._watches[write.kind].see(_seen(KINDS_BY_NAME[write.kind], outcome.body))
            self._news.set()  # whatever happened to it meanwhile has not been looked at
            return
        if is_new and isinstance(outcome, Refused):
            self._tell_of_refusal(write, outcome)
        has_moved_on = isinstance(outcome, Gone | Conflict)  # the cluster
        if not has_moved_on and self._failed_at < self._rounds:  # what fails together counts once
            self._failed_at, self._failures = self._rounds, self._failures + 1
        delay = min(_AGAIN_S * 2**self._failures, _LONGEST_S)
        asyncio.get_running_loop().call_later(delay, self._news.set)

    def _tell_of_refusal(self, write: SetStatus | Create | Patch | Delete, outcome: Refused) -> None:
        """Let whoever looks at an object, or at the pod that it was to be made for, see what is refused."""
        place = ("Pod", write.about) if isinstance(write, Create) else (write.kind, write.key)
        if (about := self._known.get(place)) is not None:
            what = f"{write.kind} {write.key}: {outcome.message}"
            self._recorder.record(about, _REFUSALS[type(write)], what, "Warning")

    def _report(self, trouble: Trouble) -> None:
        _LOG.warning("%s", trouble)
        self.metrics.troubled(trouble)


def _seen(kind: type[Object], body: bytes) -> AnyObject:
    return from_json(kind, body)  # type: ignore[return-value]  # KINDS are the members of AnyObject
