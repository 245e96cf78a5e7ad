"""The controllers: one runner feeds them, carries out their writes, and retries."""

import asyncio
import logging
import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final, assert_never, cast

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from prometheus_client import CollectorRegistry

from maar.apps.loop.loop import Loop, Rhythm
from maar.apps.metrics.controllers import ControllerMetrics
from maar.apps.plugins import find_job_plugins
from maar.apps.pod_checks import answering
from maar.apps.time_zones import zone
from maar.core.controllers.all_controllers import all_controllers
from maar.core.controllers.cluster_view import ClusterController, ClusterView
from maar.core.controllers.work_queue import ControllerKey, WorkQueue
from maar.core.job_plugins.plugin import SshKey
from maar.core.model.cron_job import CronJob
from maar.core.model.events import AnyObject, Event, Upserted
from maar.core.model.job import Command, Job
from maar.core.model.job_flow import JobFlow, JobTemplate
from maar.core.model.kinds import KINDS_BY_NAME, from_json
from maar.core.model.metadata import Object
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.model.volume import PersistentVolumeClaim
from maar.core.model.writes import (
    CheckPods,
    ControllerWrite,
    Create,
    Delete,
    Ensure,
    Patch,
    RecordEvent,
    SetStatus,
)
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Conflict, Done, Gone, Outcome, Refused
from maar.kube.paths import OWNED, ResourcePath, resource_path_of
from maar.kube.record import Reference, Severity
from maar.kube.watch import Trouble
from maar.kube.write import Propagation, create, delete, ensure, patch
from maar.kube.writers import Writers

_EXPONENT: Final = 65_537
_BITS: Final = 2_048


def new_ssh_key() -> SshKey:
    """A pair of keys of its own for a job."""
    key = rsa.generate_private_key(_EXPONENT, _BITS)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return SshKey(private.decode(), public.decode() + "\n")


_LOG: Final = logging.getLogger(__name__)

WATCHED: Final[tuple[type[AnyObject], ...]] = (
    Queue, PodGroup, Job, Command, Pod, Namespace, ResourceQuota, PersistentVolumeClaim, PriorityClass,
    CronJob, JobFlow, JobTemplate,
)  # fmt: skip
StoredWrite = SetStatus | Create | Ensure | Patch | Delete | CheckPods  # what an API server answers to
# After a change of one of these, what was refused may be taken.
_WRITES_DEPEND_ON: Final = ("Queue", "Namespace", "ResourceQuota")
_GATHER_S: Final = 0.02
_AGAIN_S: Final = 1.0
_LONGEST_S: Final = 30.0
_LONGEST_SLEEP_S: Final = 60.0  # a timer does not run while a machine is suspended, and clocks are set
_REFUSALS: Final = {  # the reasons of events, as Kubernetes' own controllers have them
    Create: "FailedCreate", Ensure: "FailedCreate", Delete: "FailedDelete",
    Patch: "FailedUpdate", SetStatus: "FailedUpdate",
}  # fmt: skip


def controllers(only_schedulers: Collection[str] = ()) -> tuple[ClusterController, ...]:
    """The controllers that run in every cluster, and what says that pods are not served where it can know."""
    return all_controllers(new_ssh_key, find_job_plugins(), zone, only_schedulers)


class ControllerRunner:
    """Runs controllers on one view of the cluster, and writes what they want.

    A key is looked at when all writes for it are answered, and not before: what they make of the cluster is
    known then. After a failure it is looked at some time later. What was refused is kept for whom it was for.
    """

    def __init__(
        self,
        server: ApiServer,
        running: Sequence[ClusterController],
        identity: str = "maar-controllers",
        cluster: ClusterView | None = None,
    ) -> None:
        view = ClusterView() if cluster is None else cluster
        self._server, self._work = server, WorkQueue(view, running)
        self._known: dict[tuple[str, str], Reference] = {}  # by kind and key
        self._under_way: dict[ControllerKey[str], int] = {}  # the number of writes for a key
        self._failing: set[ControllerKey[str]] = set()  # one of the writes under way has failed
        self._failed: set[ControllerKey[str]] = set()  # their writes are tried again
        self._failures = self._rounds = 0
        self._failed_at = -1
        self._wake_at: datetime | None = None
        self._writers = Writers(32)
        self._loop = loop = Loop(
            server,
            self,
            (*WATCHED, *cast(tuple[type[AnyObject], ...], view.workloads)),
            Rhythm(_GATHER_S),
            (self._writers, Writers(8)),
            "maar-controllers",
            identity,
        )
        self.known, self.first_round, self.failures = loop.known, loop.first_round, loop.failures
        self.queues, self.jobs = view.queues, view.jobs
        self.metrics = ControllerMetrics(CollectorRegistry(), self.queues, self.jobs)  # shown nowhere

    async def run(self, elected: asyncio.Event | None = None) -> None:
        """Watch and reconcile until stopped; nothing is written before this process is elected."""
        await self._loop.run(elected)

    def stop(self) -> None:
        """Start no more rounds; what was submitted is still written."""
        self._loop.stop()

    def lags(self) -> dict[str, float]:
        """For how many seconds changes may have gone unseen, by kind."""
        return self._loop.lags()

    # What the loop calls

    def needs_round(self, events: list[Event]) -> bool:  # noqa: ARG002
        """Whether something may have to be written: always."""
        return True

    def after_other_events(self) -> None:
        """Do nothing: every event starts a round."""

    def interrupted(self, trouble: Trouble) -> None:
        """Log and count a watch that was interrupted."""
        _LOG.warning("%s", trouble)
        self.metrics.troubled(trouble)

    def learn(self, events: list[Event], delay_s: float) -> None:
        """Let every controller learn what has happened."""
        self.metrics.learned(len(events), delay_s)
        kinds = set[str]()
        for event in events:
            if isinstance(event, Upserted):
                kind = type(event.object).__name__
                self._known[kind, event.object.key] = Reference.to(event.object)
                kinds.add(kind)
            else:
                self._known.pop((event.kind, event.key), None)
                kinds.add(event.kind)
        self._work.feed(self._work.cluster.changes(events))
        if not kinds.isdisjoint(_WRITES_DEPEND_ON):
            self._try_again(self._failed)

    async def round(self) -> None:
        """Learn, and write what the keys need that have to be looked at."""
        began, now = time.monotonic(), datetime.now(UTC)
        self._rounds += 1
        self._loop.learn()
        for key, write in self._work.reconcile(now, self._under_way):
            self._carry_out(key, write)
        self._wake_later(now)
        self.metrics.reconciled(time.monotonic() - began)

    def _wake_later(self, now: datetime) -> None:
        """Have a round when the next key is due that depends on time."""
        wake_at = self._work.wake_at
        if wake_at is not None and wake_at != self._wake_at:
            self._wake_at = wake_at
            delay = min((wake_at - now).total_seconds(), _LONGEST_SLEEP_S)
            asyncio.get_running_loop().call_later(delay, self._wake)

    def _wake(self) -> None:
        self._wake_at = None
        self._loop.wake()

    def _carry_out(self, key: ControllerKey[str], write: ControllerWrite) -> None:
        path = (write.kind, write.key)
        if not isinstance(write, RecordEvent):
            self._under_way[key] = self._under_way.get(key, 0) + 1
            self._writers.submit(path, partial(self._write, write), partial(self._answered, key, write))
        elif (about := self._known.get(path)) is not None:
            severity: Severity = "Warning" if write.is_warning else "Normal"
            self._loop.recorder.record(about, write.reason, write.message, severity)

    async def _write(self, write: StoredWrite) -> Outcome:
        path = _path(write.kind)
        match write:
            case SetStatus():
                only = {"metadata": {"resourceVersion": write.version}} if write.version else {}
                status = {**only, "status": write.status}
                return await patch(self._server, path, write.key, status, subresource="status")
            case Create():
                return await create(self._server, path, write.key, write.document)
            case Ensure():
                return await ensure(self._server, path, write.key, write.document, write.update)
            case Patch():
                return await patch(self._server, path, write.key, write.patch)
            case CheckPods():
                answered = await answering(write.checks)
                self._work.cluster.job_owners.checked(write.key, datetime.now(UTC), answered)
                return Done(b"")
            case Delete():
                propagation: Propagation = "Foreground" if write.waits_for_dependents else "Background"
                return await delete(self._server, path, write.key, uid=write.uid, propagation=propagation)
        assert_never(write)

    def _answered(self, key: ControllerKey[str], write: StoredWrite, outcome: Outcome) -> None:
        self.metrics.answered(write, outcome)
        about = (write.about_kind, write.about) if isinstance(write, Create | Ensure) else ("", "")
        is_new = self.failures.answered(type(write).__name__, write.kind, write.key, outcome, about)
        is_gone = isinstance(write, Delete) and isinstance(outcome, Gone)  # as it was to be
        is_done = isinstance(outcome, Done) or is_gone
        self._work.cluster.answered(write, None if is_done else getattr(outcome, "message", ""))
        if isinstance(outcome, Done):
            self._failures = 0
            if not isinstance(write, Delete | Ensure | CheckPods):
                self._loop.see(_seen(KINDS_BY_NAME[write.kind], outcome.body))
        elif not is_gone:
            self._failing.add(key)
            if is_new and isinstance(outcome, Refused):
                self._record_refusal(write, outcome)
            is_ending = isinstance(outcome, Refused) and outcome.is_of_ending_namespace
            has_moved_on = isinstance(outcome, Gone | Conflict) or is_ending  # the cluster
            if not has_moved_on and self._failed_at < self._rounds:  # what fails together counts once
                self._failed_at, self._failures = self._rounds, self._failures + 1
        self._under_way[key] -= 1
        if not self._under_way[key]:
            del self._under_way[key]
            self._look_again(key)

    def _look_again(self, key: ControllerKey[str]) -> None:
        """Look at a key whose writes are answered: whatever happened meanwhile has not been looked at."""
        if key not in self._failing:
            self._work.look_at([key])
            self._loop.wake()
            return
        self._failing.discard(key)
        self._failed.add(key)
        delay = min(_AGAIN_S * 2**self._failures, _LONGEST_S)
        asyncio.get_running_loop().call_later(delay, self._try_again, {key})

    def _try_again(self, keys: set[ControllerKey[str]]) -> None:
        """Look at keys again for which a write has failed, unless that was done meanwhile."""
        failed = self._failed & keys
        self._failed -= failed
        if failed:
            self._work.look_at(failed)
            self._loop.wake()

    def _record_refusal(self, write: StoredWrite, outcome: Refused) -> None:
        """Record a refusal in an event on the object, or on the one that it was to be created for."""
        path = (write.kind, write.key)
        if isinstance(write, Create | Ensure):
            path = (write.about_kind, write.about)
        if (about := self._known.get(path)) is not None:
            what = f"{write.kind} {write.key}: {outcome.message}"
            self._loop.recorder.record(about, _REFUSALS[type(write)], what, "Warning")


def _path(kind: str) -> ResourcePath:
    return OWNED[kind] if kind in OWNED else resource_path_of(KINDS_BY_NAME[kind])


def _seen(kind: type[Object], body: bytes) -> AnyObject:
    return from_json(kind, body)  # type: ignore[return-value]  # KINDS are the members of AnyObject
