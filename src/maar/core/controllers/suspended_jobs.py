"""Jobs of batch/v1 that are suspended to evict their pods, and resumed when their turn has come.

The scheduler decides, and says so on its own objects: on pods that they are evicted with their
Job, and on a pod group that its Jobs are promised room. What a Job needs follows from these and
from the Job itself:

- a live pod is to go with it, and it is not suspended: suspend it, and mark it as suspended by
  Maar;
- it has that mark, and its group has room for this generation of it, still: resume it, and remove
  the mark;
- it has that mark and is not suspended: somebody has resumed it; remove the mark.

Each is one patch, and the Job is then as it should be: it does not matter how often a round is
repeated, or where a process was killed. A Job that others suspended has no mark and stays as it
is. With another generation of the Job the room is for an earlier suspension. The Job's controller
then deletes its pods, or makes them.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from maar.core.controllers.changes import (
    AnyChange,
    BatchJobChanged,
    PodChanged,
    PodGroupChanged,
    SuspendableJob,
)
from maar.core.controllers.cluster_view import ClusterController, ClusterView, Wanted
from maar.core.model.workload import SUSPENDED_FOR_ANNOTATION, BatchJob
from maar.core.model.writes import ControllerWrite, Patch, RecordEvent

_KIND: Final = BatchJob.kind_name()


class SuspendedJobs(ClusterController):
    """Keys are those of Jobs."""

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterator[str]:
        """The Jobs that a change concerns."""
        match change:
            case BatchJobChanged(after=SuspendableJob()):
                yield change.key
            case PodGroupChanged():
                yield from cluster.batch_jobs_of_group.keys(change.key)
            case PodChanged(after=pod) if pod is not None and pod.evicted_with_job is not None:
                if pod.owner is not None:
                    yield BatchJob.key_of(change.key.partition("/")[0], pod.owner.name)

    def wanted(self, cluster: ClusterView, key: str, now: datetime) -> Wanted:
        """Suspend, resume or unmark a Job."""
        if (job := cluster.batch_jobs.get(key)) is not None:
            yield from _writes(cluster, key, job, now)


def _writes(cluster: ClusterView, key: str, job: SuspendableJob, now: datetime) -> list[ControllerWrite]:
    if not job.can_be_suspended:
        return []
    victims = [cluster.pods[pod] for pod in sorted(cluster.pods_of_batch_job.keys(job.uid))]
    if victims and job.is_suspended:
        return []  # they are still to be deleted, or the Job would be suspended for them again
    if victims:
        reason = victims[0].evicted_with_job or ""
        message = f"suspended by Maar: its pods are evicted for {reason}; it is resumed when its turn comes"
        return [_patch(key, job, reason, suspend=True), _event(key, "SuspendedByMaar", message)]
    if job.is_marked and job.is_suspended and _has_room(cluster, key, job, now):
        message = "resumed by Maar: its turn has come, and its pods are promised room"
        return [_patch(key, job, None, suspend=False), _event(key, "ResumedByMaar", message)]
    if job.is_marked and not job.is_suspended:
        return [_patch(key, job, None)]
    return []


def _has_room(cluster: ClusterView, key: str, job: SuspendableJob, now: datetime) -> bool:
    """Whether the pods to come of a Job are promised room, for this suspension of it."""
    group = cluster.groups.get(job.group)
    room = group.promised_room if group is not None else None
    if room is None or room.until <= now:
        return False
    promise = room.jobs.get(key.partition("/")[2])
    return promise is not None and promise.generation == job.generation


def _patch(key: str, job: SuspendableJob, suspended_for: str | None, *, suspend: bool | None = None) -> Patch:
    """Change only this very Job: a patch of another uid is refused."""
    notes = {SUSPENDED_FOR_ANNOTATION: suspended_for}
    spec = {} if suspend is None else {"spec": {"suspend": suspend}}
    return Patch(kind=_KIND, key=key, patch={"metadata": {"uid": job.uid, "annotations": notes}, **spec})


def _event(key: str, reason: str, message: str) -> RecordEvent:
    return RecordEvent(kind=_KIND, key=key, reason=reason, message=message)
