"""The controllers: one runner that feeds them, carries out what they want, and tries again."""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final, Protocol, assert_never, cast

from prometheus_client import CollectorRegistry

from maar.apps.loop.loop import Loop, Rhythm
from maar.apps.metrics.controllers import ControllerMetrics
from maar.core.controllers.pod_groups import MissingGroups
from maar.core.controllers.queue_state import QueueStates
from maar.core.controllers.quotas import NamespaceQuotas
from maar.core.model.events import AnyObject, Appeared, Event
from maar.core.model.job import Command, Job
from maar.core.model.kinds import KINDS, from_json
from maar.core.model.metadata import Object
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.workload import WORKLOADS, Workload
from maar.core.model.writes import Change, Create, Later, Remove, SetStatus, Tell, Upkeep
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Conflict, Done, Gone, Outcome, Refused
from maar.kube.paths import place_of
from maar.kube.record import Reference
from maar.kube.watch import Trouble
from maar.kube.write import create, delete, patch
from maar.kube.writers import Writers

_LOG: Final = logging.getLogger(__name__)

WATCHED: Final[tuple[type[AnyObject], ...]] = (
    Queue, PodGroup, Job, Command, Pod, Namespace, ResourceQuota,
)  # fmt: skip
Workloads = Sequence[type[Workload]]
_GATHER_S: Final = 0.1
_AGAIN_S: Final = 1.0
_LONGEST_S: Final = 30.0
_REFUSALS: Final = {  # the reasons of events, as Kubernetes' own controllers have them
    Create: "FailedCreate", Change: "FailedUpdate", SetStatus: "FailedUpdate", Remove: "FailedDelete",
}  # fmt: skip
_TYPES: Final = {kind.__name__: kind for kind in KINDS}


class Controller(Protocol):
    """Something that converges: it learns what is, and says what has to be written."""

    def feed(self, events: Iterable[Event]) -> None:
        """Learn what has happened."""

    def reconcile(self) -> Sequence[Upkeep | Later]:
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
        self._server, self._running = server, running
        self._known: dict[tuple[str, str], Reference] = {}
        self._busy: set[tuple[str, str]] = set()
        self._failures = self._rounds = 0
        self._failed_at = -1
        self._writers = Writers(32)
        self._loop = loop = Loop(
            server,
            self,
            (*WATCHED, *cast(tuple[type[AnyObject], ...], tuple(workloads))),
            Rhythm(_GATHER_S),
            (self._writers, Writers(8)),
            "maar-controllers",
            identity,
        )
        self.known, self.first_round, self.failures = loop.known, loop.first_round, loop.failures
        self.queues: dict[str, Queue] = {}
        self.metrics = ControllerMetrics(CollectorRegistry(), self.queues)  # shown nowhere

    async def run(self, elected: asyncio.Event | None = None) -> None:
        """Watch and reconcile until told to stop; nothing is written before this process is elected."""
        await self._loop.run(elected)

    def stop(self) -> None:
        """Begin nothing more; what was begun is still written."""
        self._loop.stop()

    def lags(self) -> dict[str, float]:
        """For how many seconds changes may have gone unseen, by kind."""
        return self._loop.lags()

    # What the loop calls

    def is_news(self, events: list[Event]) -> bool:  # noqa: ARG002
        """Whether something may have to be written: always."""
        return True

    def after_other_events(self) -> None:
        """Do nothing: every event is news."""

    def interrupted(self, trouble: Trouble) -> None:
        """Log and count a watch that was interrupted."""
        _LOG.warning("%s", trouble)
        self.metrics.troubled(trouble)

    def learn(self, events: list[Event], delay_s: float) -> None:
        """Let every controller learn what has happened."""
        self.metrics.learned(len(events), delay_s)
        for event in events:
            if isinstance(event, Appeared):
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

    async def round(self) -> None:
        """Learn, and write what the controllers want."""
        began = time.monotonic()
        self._rounds += 1
        self._loop.learn()
        under_way = frozenset(self._busy)
        for controller in self._running:
            for one in controller.reconcile():
                write = self._due(one)
                # What is under way is looked at again when it is answered.
                if write is not None and (write.kind, write.key) not in under_way:
                    self._carry_out(write)
        self.metrics.reconciled(time.monotonic() - began)

    def _due(self, write: Upkeep | Later) -> Upkeep | None:
        """What is to be done now; for what is not due yet there is another round when it is."""
        if not isinstance(write, Later):
            return write
        delay_s = (write.at - datetime.now(UTC)).total_seconds()
        if delay_s <= 0:
            return write.write
        self._loop.wake_in(delay_s)
        return None

    def _carry_out(self, write: Upkeep) -> None:
        place = (write.kind, write.key)
        if isinstance(write, Tell):
            if (about := self._known.get(place)) is not None:
                self._loop.recorder.record(
                    about, write.reason, write.message, "Warning" if write.is_warning else "Normal"
                )
        else:
            self._busy.add(place)
            self._writers.submit(place, partial(self._write, write), partial(self._answered, write))

    async def _write(self, write: SetStatus | Create | Change | Remove) -> Outcome:
        place = place_of(_TYPES[write.kind])
        match write:
            case SetStatus():
                status = {"status": write.status}
                return await patch(self._server, place, write.key, status, subresource="status")
            case Create():
                return await create(self._server, place, write.key, write.document)
            case Change():
                return await patch(self._server, place, write.key, write.patch)
            case Remove():
                return await delete(self._server, place, write.key, uid=write.uid)
        assert_never(write)

    def _answered(self, write: SetStatus | Create | Change | Remove, outcome: Outcome) -> None:
        self._busy.discard((write.kind, write.key))
        self.metrics.answered(write, outcome)
        is_new = self.failures.answered(type(write).__name__, write.kind, write.key, outcome)
        if isinstance(outcome, Done):
            self._failures = 0
            if not isinstance(write, Remove):
                self._loop.see(_seen(_TYPES[write.kind], outcome.body))
            self._loop.wake()  # whatever happened to it meanwhile has not been looked at
            return
        if is_new and isinstance(outcome, Refused):
            self._tell_of_refusal(write, outcome)
        has_moved_on = isinstance(outcome, Gone | Conflict)  # the cluster
        if not has_moved_on and self._failed_at < self._rounds:  # what fails together counts once
            self._failed_at, self._failures = self._rounds, self._failures + 1
        delay = min(_AGAIN_S * 2**self._failures, _LONGEST_S)
        self._loop.wake_in(delay)

    def _tell_of_refusal(self, write: SetStatus | Create | Change | Remove, outcome: Refused) -> None:
        """Let whoever looks at an object, or at the pod that it was to be made for, see what is refused."""
        place = ("Pod", write.about) if isinstance(write, Create) else (write.kind, write.key)
        if (about := self._known.get(place)) is not None:
            what = f"{write.kind} {write.key}: {outcome.message}"
            self._loop.recorder.record(about, _REFUSALS[type(write)], what, "Warning")


def _seen(kind: type[Object], body: bytes) -> AnyObject:
    return from_json(kind, body)  # type: ignore[return-value]  # KINDS are the members of AnyObject
