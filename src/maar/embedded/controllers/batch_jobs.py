"""Jobs of batch/v1 run here: what is decided about them is carried out."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from maar.embedded.batch_jobs.decision import Decision, decide
from maar.embedded.batch_jobs.model import JOBS, TRACKING, BatchJob, JobPod, JobStatus, read_job
from maar.embedded.batch_jobs.pod_work import NewPod, pod_from
from maar.embedded.calls import Call, Caller, Deletion, metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.view import (
    PODS,
    EmbeddedController,
    ObjectChanged,
    View,
    Wanted,
    Write,
    job_of,
    moment,
)
from maar.embedded.event_records import EventObject, EventSource, record_event
from maar.embedded.failures import ApiError, Json
from maar.embedded.kinds.parts import words
from maar.embedded.storage_problems import NotStoredError
from maar.embedded.store import Key

_SETTLE_S: Final = 0.02  # the least time to the next look at a job
_NO_PODS: Final[dict[str, JobPod]] = {}
_SOURCE: Final = EventSource("job-controller")
# Not the server itself: its pods are admitted as those of other clients are.
_CALLER: Final = Caller(
    "system:serviceaccount:kube-system:job-controller", ("system:serviceaccounts", "system:authenticated")
)


class BatchJobs(EmbeddedController):
    """Keys are those of Jobs, and of pods that only lose their finalizer."""

    def keys(self, change: ObjectChanged, cluster: View) -> Iterator[Key]:
        """A Job, and the Job of a pod; a pod that has none but the finalizer."""
        if change.key.resource == JOBS:
            yield change.key
        elif change.key.resource == PODS:
            jobs = [job_of(change.key.namespace, pod) for pod in (change.before, change.after)]
            yield from (job for job in dict.fromkeys(jobs) if job is not None)
            if jobs[1] is None and change.after is not None and TRACKING in change.after.finalizers:
                yield change.key

    def wanted(self, cluster: View, key: Key, now: datetime) -> Wanted:
        """Carry out what is decided about a Job."""
        if key.resource == PODS:
            yield partial(_untrack, cluster.cluster, key)
            return
        body, pods = cluster.cluster.store.get(key), cluster.job_pods.get(key, _NO_PODS)
        job = None if body is None else read_job(body)
        uid = "" if job is None else job.metadata.uid
        strays = [pod.metadata.name for pod in pods.values() if pod.is_tracked and _owner_uid(pod) != uid]
        for name in strays:
            yield partial(_untrack, cluster.cluster, Key(PODS, key.namespace, name))
        if job is None:
            return
        own = [pod for pod in pods.values() if _owner_uid(pod) == uid]
        decision = decide(job, own, now.timestamp())
        yield partial(_write, cluster.cluster, key, job, decision)
        if decision.is_expired:
            how = Deletion(propagation="Foreground", uid=uid)
            yield partial(cluster.cluster.delete, *key, how)
        yield from _creations(cluster.cluster, key, job, decision.create)
        if decision.wake_at is not None:
            yield moment(max(decision.wake_at, now.timestamp() + _SETTLE_S))


def _write(cluster: Cluster, key: Key, job: BatchJob, decision: Decision) -> None:
    """Write down what has ended together with the finalizers that stood for it."""
    with cluster.store.transaction():
        if decision.status != job.status:
            cluster.rewrite(*key, lambda value: _with_status(value, decision.status))
        for pod in decision.untrack:
            _untrack(cluster, Key(PODS, key.namespace, pod.metadata.name))
        for pod in decision.delete:
            how = Deletion(propagation="Background", uid=pod.metadata.uid)
            cluster.delete(PODS, key.namespace, pod.metadata.name, how)
            _record(cluster, key, job, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")
        for event in decision.events:
            severity = "Warning" if event.is_warning else "Normal"
            _record(cluster, key, job, severity, event.reason, event.message)


def _creations(cluster: Cluster, key: Key, job: BatchJob, pods: Sequence[NewPod]) -> Iterator[Write]:
    """Pods to make one by one, as long as the job is what was decided about."""
    for new in pods:
        value = cluster.read(*key)
        if value is None or not _is_as_decided(value, job):
            return
        yield partial(_create, cluster, key, job, pod_from(value, new))


def _create(cluster: Cluster, key: Key, job: BatchJob, pod: Json) -> None:
    try:
        made = cluster.create(PODS, key.namespace, pod, Call(_CALLER))
    except NotStoredError:
        raise
    except ApiError as error:
        namespace = cluster.read("namespaces", "", key.namespace)
        if namespace is not None and "deletionTimestamp" not in metadata(namespace):
            _record(cluster, key, job, "Warning", "FailedCreate", f"Error creating: {error.message}")
            raise
    else:
        _record(
            cluster, key, job, "Normal", "SuccessfulCreate", f"Created pod: {text(metadata(made), 'name')}"
        )


def _untrack(cluster: Cluster, key: Key) -> None:
    """Remove the finalizer of a pod; one that was deleted goes with it."""
    if cluster.store.get(key) is not None:
        cluster.change(*key, _untracked)


def _record(cluster: Cluster, key: Key, job: BatchJob, severity: str, reason: str, message: str) -> None:
    about = EventObject("batch/v1", "Job", key.namespace, key.name, job.metadata.uid)
    record_event(cluster, about, _SOURCE, severity, reason, message)


def _owner_uid(pod: JobPod) -> str:
    owners = pod.metadata.owner_references
    return next((owner.uid for owner in owners if owner.controller and owner.kind == "Job"), "")


def _is_as_decided(value: Json, job: BatchJob) -> bool:
    meta = metadata(value)
    same = (meta.get("uid"), meta.get("generation")) == (job.metadata.uid, job.metadata.generation)
    return same and "deletionTimestamp" not in meta


def _with_status(value: Json, status: JobStatus) -> Json:
    return {**value, "status": msgspec.to_builtins(status)}


def _untracked(value: Json) -> Json:
    meta = metadata(value)
    meta["finalizers"] = [name for name in words(meta, "finalizers") if name != TRACKING]
    if not meta["finalizers"]:
        del meta["finalizers"]
    return value
