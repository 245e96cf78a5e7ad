"""Jobs of batch/v1 run here: what is decided about them is carried out."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from maar.core.model.kinds import BadObjectError
from maar.core.model.metadata import OwnerReference
from maar.embedded.batch_jobs.decision import Decision, decide
from maar.embedded.batch_jobs.model import JOBS, TRACKING, BatchJob, JobPod, JobStatus, read_job, read_job_pod
from maar.embedded.batch_jobs.pod_template import pod_from
from maar.embedded.batch_jobs.pod_work import NewPod
from maar.embedded.calls import Call, Caller, Deletion, metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.controller import Observed, Owner, WorkItem
from maar.embedded.event_records import EventObject, EventSource, record_event
from maar.embedded.failures import ApiError, Json
from maar.embedded.kinds.parts import words
from maar.embedded.nodes.pod import BoundMetadata
from maar.embedded.storage_problems import NotStoredError
from maar.embedded.store import Key

_PODS: Final = "pods"
_SETTLE_S: Final = 0.02  # pods change together: one decision for all of them
_NO_PODS: Final[dict[str, JobPod]] = {}
_SOURCE: Final = EventSource("job-controller")
# Not the server itself: its pods are admitted as those of other clients are.
_CALLER: Final = Caller(
    "system:serviceaccount:kube-system:job-controller", ("system:serviceaccounts", "system:authenticated")
)


class BatchJobController:
    """Makes, counts and deletes the pods of jobs.

    All changes are observed before an object is reconciled, so the pods known here are those that are stored;
    nothing else is remembered.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pods: dict[Key, dict[str, JobPod]] = {}  # by job, then by name
        self._jobs: dict[Key, Key] = {}  # the job of each pod

    def observe(self, observed: Observed) -> Iterable[WorkItem]:
        """Know the pods of each job; come back for the job when one changes."""
        key = observed.key
        if key.resource == JOBS:
            return (WorkItem(key),)
        return self._observe_pod(observed) if key.resource == _PODS else ()

    def reconcile(self, key: Key) -> Iterator[WorkItem | None]:
        """Decide about a job and carry it out; a pod without a job only loses its finalizer."""
        if key.resource == _PODS:
            self._untrack(key)
            return
        body, pods = self._cluster.store.get(key), self._pods.get(key, _NO_PODS)
        job = None if body is None else read_job(body)
        uid = "" if job is None else job.metadata.uid
        for pod in [one for one in pods.values() if one.is_tracked and _owner_uid(one) != uid]:
            self._untrack(Key(_PODS, key.namespace, pod.metadata.name))
        if job is None:
            return
        now = self._cluster.clock()
        decision = decide(job, [one for one in pods.values() if _owner_uid(one) == uid], now)
        self._write(key, job, decision)
        if decision.is_expired:
            self._cluster.delete(*key, Deletion(propagation="Foreground", uid=uid))
        yield from self._create(key, job, decision.create)
        if decision.wake_at is not None:
            yield WorkItem(key, max(decision.wake_at - now, _SETTLE_S))

    def _observe_pod(self, observed: Observed) -> Iterable[WorkItem]:
        key, before = observed.key, self._jobs.pop(observed.key, None)
        if before is not None:
            self._pods[before].pop(key.name, None)
            if not self._pods[before]:
                del self._pods[before]
            yield WorkItem(before, _SETTLE_S)
        owner = next((one for one in observed.meta.owners if _is_job(one)), None)
        if observed.is_gone:
            return
        if owner is not None:
            job = self._jobs[key] = Key(JOBS, key.namespace, owner.name)
            self._pods.setdefault(job, {})[key.name] = _read(observed, owner)
            yield WorkItem(job, _SETTLE_S)
        elif TRACKING in (observed.meta.finalizers or ()):
            yield WorkItem(key)

    def _write(self, key: Key, job: BatchJob, decision: Decision) -> None:
        """Write down what has ended together with the finalizers that stood for it."""
        with self._cluster.store.transaction():
            if decision.status != job.status:
                self._cluster.rewrite(*key, lambda value: _with_status(value, decision.status))
            for pod in decision.untrack:
                self._untrack(Key(_PODS, key.namespace, pod.metadata.name))
            for pod in decision.delete:
                how = Deletion(propagation="Background", uid=pod.metadata.uid)
                self._cluster.delete(_PODS, key.namespace, pod.metadata.name, how)
                self._record(key, job, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")
            for event in decision.events:
                kind = "Warning" if event.is_warning else "Normal"
                self._record(key, job, kind, event.reason, event.message)

    def _create(self, key: Key, job: BatchJob, pods: Sequence[NewPod]) -> Iterator[None]:
        """Make pods one by one, as long as the job is what was decided about."""
        for new in pods:
            found = self._cluster.read(*key)
            if found is None or not _is_as_decided(found, job):
                return
            try:
                made = self._cluster.create(_PODS, key.namespace, pod_from(found, new), Call(_CALLER))
            except NotStoredError:
                raise
            except ApiError as error:
                if self._is_namespace_terminating(key.namespace):
                    return
                self._record(key, job, "Warning", "FailedCreate", f"Error creating: {error.message}")
                raise
            name = text(metadata(made), "name")
            self._record(key, job, "Normal", "SuccessfulCreate", f"Created pod: {name}")
            yield None

    def _untrack(self, key: Key) -> None:
        """Remove the finalizer of a pod; one that was deleted goes with it."""
        if self._cluster.store.get(key) is not None:
            self._cluster.change(*key, _untracked)

    def _is_namespace_terminating(self, name: str) -> bool:
        found = self._cluster.read("namespaces", "", name)
        return found is None or "deletionTimestamp" in metadata(found)

    def _record(self, key: Key, job: BatchJob, kind: str, reason: str, message: str) -> None:
        about = EventObject("batch/v1", "Job", key.namespace, key.name, job.metadata.uid)
        record_event(self._cluster, about, _SOURCE, kind, reason, message)


def _is_job(owner: Owner) -> bool:
    return owner.controller is True and (owner.api_version, owner.kind) == ("batch/v1", "Job")


def _owner_uid(pod: JobPod) -> str:
    owners = pod.metadata.owner_references
    return next((one.uid for one in owners if one.controller and one.kind == "Job"), "")


def _read(observed: Observed, owner: Owner) -> JobPod:
    """A pod; one that cannot be read counts as active, so that no other takes its place."""
    try:
        return read_job_pod(observed.body)
    except BadObjectError:
        owners = (OwnerReference(kind="Job", uid=owner.uid, controller=True),)
        name, uid = observed.key.name, observed.meta.uid
        return JobPod(metadata=BoundMetadata(name=name, uid=uid, owner_references=owners))


def _is_as_decided(found: Json, job: BatchJob) -> bool:
    meta = metadata(found)
    same = (meta.get("uid"), meta.get("generation")) == (job.metadata.uid, job.metadata.generation)
    return same and "deletionTimestamp" not in meta


def _with_status(value: Json, status: JobStatus) -> Json:
    return {**value, "status": msgspec.to_builtins(status)}


def _untracked(value: Json) -> Json:
    meta = metadata(value)
    meta["finalizers"] = [one for one in words(meta, "finalizers") if one != TRACKING]
    if not meta["finalizers"]:
        del meta["finalizers"]
    return value
