"""Rows of jobs: one for each pod group, and for a job that has none yet."""

from datetime import datetime

import msgspec

from maar.core.model.job import Job
from maar.core.model.pod_group import PodGroup, PodGroupCondition
from maar.core.model.resources import PODS, of_pods
from maar.core.views.console.pod_tallies import GroupPods


class JobPodCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many pods of a job are in each phase, and how many it needs to start."""

    running: int = 0
    pending: int = 0
    succeeded: int = 0
    failed: int = 0
    min: int = 0


class ExpectedStart(msgspec.Struct, frozen=True, kw_only=True):
    """When a job starts if nothing else happens."""

    time: float | None
    certainty: str


class ConsoleJob(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A job, or a pod group that belongs to none, as the console shows it; times are in seconds of 1970."""

    key: str
    kind: str
    name: str
    namespace: str
    pod_group: str
    queue: str
    phase: str
    status: str
    reason: str
    message: str
    priority: int
    priority_class: str
    created: float
    started: float | None
    pods: JobPodCounts
    request: dict[str, int]
    start: ExpectedStart | None
    place: int | None


def owner_of(group: PodGroup) -> str:
    """The key of the job that a pod group belongs to; empty where it belongs to none."""
    for owner in group.metadata.owner_references:
        if owner.controller and owner.kind == "Job" and owner.api_version == Job.api_version:
            return Job.key_of(group.metadata.namespace, owner.name)
    return ""


def group_row(
    group: PodGroup, job: Job | None, pods: GroupPods | None, priority: int, place: int | None
) -> ConsoleJob:
    """The row of a pod group, with its job and its pods as far as they may be read."""
    spec, status = group.spec, group.status
    waits = _why(group)
    planned = status.planned_start
    reason, message = (waits.reason, waits.message) if waits is not None else _ended(job)
    return ConsoleJob(
        key=group.key,
        kind="podgroup" if job is None else "job",
        name=group.metadata.name if job is None else job.metadata.name,
        namespace=group.metadata.namespace or "default",
        pod_group=group.key,
        queue=spec.queue,
        phase=status.phase or "Pending",
        status="" if job is None else job.phase,
        reason=reason,
        message=message,
        priority=priority,
        priority_class=spec.priority_class_name,
        created=_seconds(
            group.metadata.creation_timestamp if job is None else job.metadata.creation_timestamp
        ),
        started=pods.started if pods is not None else _running_since(job),
        pods=_counts(group, job, pods),
        request=_request(group, pods),
        start=None
        if planned is None
        else ExpectedStart(
            time=planned.time.timestamp() if planned.time else None, certainty=planned.certainty
        ),
        place=place,
    )


def job_row(job: Job, priority: int) -> ConsoleJob:
    """The row of a job that has no pod group."""
    status, (reason, message) = job.status, _ended(job)
    return ConsoleJob(
        key=job.key,
        kind="job",
        name=job.metadata.name,
        namespace=job.metadata.namespace or "default",
        pod_group="",
        queue=job.spec.queue,
        phase="",
        status=job.phase,
        reason=reason,
        message=message,
        priority=priority,
        priority_class=job.spec.priority_class_name,
        created=_seconds(job.metadata.creation_timestamp),
        started=_running_since(job),
        pods=JobPodCounts(
            running=status.running,
            pending=status.pending,
            succeeded=status.succeeded,
            failed=status.failed,
            min=job.minimum,
        ),
        request={},
        start=None,
        place=None,
    )


def _why(group: PodGroup) -> PodGroupCondition | None:
    """Why a group waits; nothing where it does not."""
    if group.status.phase in ("Running", "Completed"):
        return None
    return next(
        (one for one in group.status.conditions if one.type == "Unschedulable" and one.status == "True"), None
    )


def _ended(job: Job | None) -> tuple[str, str]:
    return ("", "") if job is None else (job.status.state.reason, job.status.state.message)


def _counts(group: PodGroup, job: Job | None, pods: GroupPods | None) -> JobPodCounts:
    status, least = group.status, group.spec.min_member
    if pods is None:
        pending = 0 if job is None else job.status.pending
        return JobPodCounts(
            running=status.running,
            pending=pending,
            succeeded=status.succeeded,
            failed=status.failed,
            min=least,
        )
    return JobPodCounts(
        running=pods.running,
        pending=pods.pending,
        # Those that ended may be gone, and what is written of them stays.
        succeeded=max(pods.succeeded, status.succeeded, 0 if job is None else job.status.succeeded),
        failed=max(pods.failed, status.failed, 0 if job is None else job.status.failed),
        min=least,
    )


def _request(group: PodGroup, pods: GroupPods | None) -> dict[str, int]:
    asked = {} if pods is None else {name: units for name, units in pods.request.items() if units}
    if not asked and group.spec.min_resources is not None:
        asked = dict(of_pods(group.spec.min_resources))
    return {name: units for name, units in asked.items() if name != PODS}


def _running_since(job: Job | None) -> float | None:
    changes = () if job is None else job.status.conditions
    times = [one.last_transition_time for one in changes if one.status == "Running"]
    return times[0].timestamp() if times and times[0] is not None else None


def _seconds(time: datetime | None) -> float:
    return time.timestamp() if time else 0.0
