"""Cron jobs: a job for each time of a schedule, and the removal of old ones.

Nothing is remembered between rounds. The last time that had its job is in the status and, until
that is written, in the annotation of the job itself, so that a restart at any moment neither
starts a time twice nor loses the latest one. A job has the name of its time: making it again is
refused by the API server. A job is removed only once the status has its time.

Of the times that were missed only the latest starts a job, as long as the starting deadline
allows. With Forbid it waits while an earlier job is unfinished, and starts when that ends, still
within the deadline.

Completed jobs count as successful; Failed, Terminated and Aborted ones as failed. An Aborted job
is not active, so that it stops no later one; it is active again when it is resumed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from maar.core.controllers.changes import AnyChange
from maar.core.controllers.cluster_view import ClusterController, ClusterView, Wanted
from maar.core.controllers.job_owners import (
    COMPLETED,
    FAILED,
    CronJobChanged,
    JobOwners,
    OwnedJob,
    OwnedJobChanged,
)
from maar.core.model.cron_job import SCHEDULED_ANNOTATION, CronJob, CronJobStatus, JobReference
from maar.core.model.cron_schedule import MOST_MISSED, BadScheduleError, Times, missed, times_of
from maar.core.model.differences import difference
from maar.core.model.job import Job
from maar.core.model.writes import ControllerWrite, Create, Delete, RecordEvent, SetStatus

_KIND = CronJob.__name__


@dataclass(frozen=True)
class CronJobs(ClusterController):
    """Keys are those of cron jobs; `zone` gives a time zone by its IANA name, None where there is none."""

    zone: Callable[[str], tzinfo | None]

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterator[str]:
        """The cron jobs that a change concerns."""
        match change:
            case CronJobChanged():
                yield change.key
            case OwnedJobChanged() if _news(change.before) != _news(change.after):
                states = (change.before, change.after)
                yield from {job.owner for job in states if job is not None and job.owner_kind == _KIND}

    def wanted(self, cluster: ClusterView, key: str, now: datetime) -> Wanted:
        """What has to be written for a cron job, and when its next job is due."""
        owners, cron = cluster.job_owners, cluster.job_owners.cron_jobs.get(key)
        if cron is None or cron.is_terminating:
            return  # its jobs go with it
        jobs = owners.jobs_of(cron)
        status = _status(cron, jobs)
        yield from _news_of_jobs(cron, jobs, status)
        yield from _old_jobs(cron, jobs)
        if cron.spec.suspend:
            return
        try:
            zone = self._zone_of(cron)
            times = times_of(cron.spec.schedule, zone, _created(cron))
        except (BadScheduleError, _UnknownZoneError) as error:
            reason = "InvalidSchedule" if isinstance(error, BadScheduleError) else "InvalidTimeZone"
            field = "schedule" if isinstance(error, BadScheduleError) else "timeZone"
            yield _event(cron, reason, f"spec.{field} {error}", is_warning=True)
            return
        due = _Due.of(cron, status, times, now)
        if due is not None:
            yield from _start(owners, cron, jobs, due, zone)
        following = times.after(now)
        if following is not None:
            yield following

    def _zone_of(self, cron: CronJob) -> tzinfo:
        name = cron.spec.time_zone
        zone = self.zone(name) if name else UTC
        if zone is None:
            raise _UnknownZoneError(
                f"is {name!r}, and there is no such time zone; write one such as Europe/Paris"
            )
        return zone


class _UnknownZoneError(ValueError):
    """A time zone that is not in the database of time zones."""


@dataclass(frozen=True)
class _Due:
    """A time for which a job has to be made, and how many times were missed."""

    time: datetime
    missed: int

    @classmethod
    def of(cls, cron: CronJob, status: CronJobStatus, times: Times, now: datetime) -> "_Due | None":
        """The latest time since the last one that had its job, where the starting deadline allows it."""
        since = status.last_schedule_time or _created(cron)
        if cron.spec.starting_deadline_seconds is not None:
            # A time is so many whole seconds ago or less; the search is for times after a moment.
            oldest = now.replace(microsecond=0) - timedelta(seconds=cron.spec.starting_deadline_seconds)
            since = max(since, oldest - timedelta(microseconds=1))
        times_missed = missed(times, since, now)
        return None if times_missed.latest is None else cls(times_missed.latest, times_missed.number)


def _news(job: OwnedJob | None) -> object:
    """What a cron job goes by; the pods of its jobs change far more often."""
    return job and (job.uid, job.owner_uid, job.phase, job.changed, job.scheduled, job.is_terminating)


def _created(cron: CronJob) -> datetime:
    return cron.metadata.creation_timestamp or datetime.fromtimestamp(0, UTC)


def _time(job: OwnedJob) -> datetime:
    """The time that a job is for; where somebody took the annotation away, when it was made."""
    return job.scheduled or job.created or datetime.fromtimestamp(0, UTC)


def _status(cron: CronJob, jobs: list[OwnedJob]) -> CronJobStatus:
    old = cron.status
    namespace = cron.key.partition("/")[0]
    active = tuple(
        JobReference(
            api_version=Job.api_version, kind=Job.__name__, namespace=namespace, name=job.name, uid=job.uid
        )
        for job in jobs
        if not job.is_finished
    )
    completed = [job.changed for job in jobs if job.phase == COMPLETED and job.changed is not None]
    scheduled = [job.scheduled.astimezone(UTC) for job in jobs if job.scheduled is not None]
    return CronJobStatus(
        active=active,
        last_schedule_time=max(filter(None, (old.last_schedule_time, *scheduled)), default=None),
        last_successful_time=max(filter(None, (old.last_successful_time, *completed)), default=None),
    )


def _news_of_jobs(cron: CronJob, jobs: list[OwnedJob], status: CronJobStatus) -> Iterator[ControllerWrite]:
    """The status, and an event for each job that it names for the first or for the last time."""
    if patch := difference(cron.status, status):
        yield SetStatus(kind=_KIND, key=cron.key, status=patch)
    before = {one.uid for one in cron.status.active}
    for job in jobs:
        is_new = not _is_recorded(cron, job)
        if is_new:
            yield _event(cron, "SuccessfulCreate", f"Created job {job.name}")
        if job.is_finished and (is_new or job.uid in before):
            yield _event(cron, "SawCompletedJob", f"Saw completed job: {job.name}, status: {job.phase}")


def _is_recorded(cron: CronJob, job: OwnedJob) -> bool:
    """Whether the stored status has the time of a job."""
    last = cron.status.last_schedule_time
    return last is not None and _time(job) <= last


def _old_jobs(cron: CronJob, jobs: list[OwnedJob]) -> Iterator[ControllerWrite]:
    """Remove finished jobs beyond the limits, the oldest first."""
    spec = cron.spec
    for phases, limit in (
        ((COMPLETED,), spec.successful_jobs_history_limit),
        (FAILED, spec.failed_jobs_history_limit),
    ):
        ended = sorted((job for job in jobs if job.phase in phases), key=lambda job: (_time(job), job.key))
        for job in ended[: max(0, len(ended) - limit)]:
            if _is_recorded(cron, job) and not job.is_terminating:
                yield from _delete(cron, job, "SuccessfulDelete", f"Deleted job {job.name}")


def _start(
    owners: JobOwners, cron: CronJob, jobs: list[OwnedJob], due: _Due, zone: tzinfo
) -> Iterator[ControllerWrite]:
    """Make the job of a time, as the concurrency policy allows."""
    namespace = cron.key.partition("/")[0]
    name = f"{cron.metadata.name}-{int(due.time.timestamp()) // 60}"
    key = f"{namespace}/{name}"
    if any(job.key == key for job in jobs):
        return
    if key in owners.jobs or key in owners.other_jobs:
        message = f"there is a job {name} already that this cron job did not make; delete or rename it"
        yield _event(cron, "FailedCreate", message, is_warning=True)
        return
    unfinished = [job for job in jobs if not job.is_finished]
    if unfinished and cron.spec.concurrency_policy == "Forbid":
        message = (
            f"Not starting job {name}: {unfinished[0].name} is unfinished, and concurrencyPolicy is Forbid"
        )
        yield _event(cron, "ForbidConcurrent", message)
        return
    if cron.spec.concurrency_policy == "Replace":
        for job in unfinished:
            if not job.is_terminating:
                message = f"Deleted job {job.name}, which {name} replaces"
                yield from _delete(cron, job, "ReplaceConcurrent", message)
    if due.missed > MOST_MISSED:
        message = (
            f"more than {MOST_MISSED} times were missed, only the latest is started; "
            "set or decrease spec.startingDeadlineSeconds, or check the clock"
        )
        yield _event(cron, "TooManyMissedTimes", message, is_warning=True)
    document = _document(cron, namespace, name, due.time.astimezone(zone))
    yield Create(kind=Job.__name__, key=key, document=document, about=cron.key, about_kind=_KIND)


def _document(cron: CronJob, namespace: str, name: str, time: datetime) -> dict[str, object]:
    template = cron.spec.job_template
    written = time.isoformat(timespec="seconds").removesuffix("+00:00")
    stamp = written if time.utcoffset() else f"{written}Z"
    owner = {
        "apiVersion": CronJob.api_version,
        "kind": _KIND,
        "name": cron.metadata.name,
        "uid": cron.metadata.uid,
        "controller": True,
    }
    return {
        "apiVersion": Job.api_version,
        "kind": Job.__name__,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": template.metadata.labels,
            "annotations": template.metadata.annotations | {SCHEDULED_ANNOTATION: stamp},
            "ownerReferences": [owner],
        },
        "spec": template.spec,
    }


def _delete(cron: CronJob, job: OwnedJob, reason: str, message: str) -> Iterator[ControllerWrite]:
    yield Delete(kind=Job.__name__, key=job.key, uid=job.uid)
    yield _event(cron, reason, message)


def _event(cron: CronJob, reason: str, message: str, *, is_warning: bool = False) -> RecordEvent:
    return RecordEvent(kind=_KIND, key=cron.key, reason=reason, message=message, is_warning=is_warning)
