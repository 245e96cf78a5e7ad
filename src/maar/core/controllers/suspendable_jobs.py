"""What controllers keep of a Job of batch/v1, and of the pods that are evicted with it."""

from typing import NamedTuple

from maar.core.controllers.group_template import Member, member
from maar.core.model.workload import SUSPENDED_FOR_ANNOTATION, BatchJob
from maar.core.tables.batch_jobs import pod_to_come


class SuspendableJob(NamedTuple):
    """A Job, as far as it follows from that whether Maar suspends or resumes it."""

    uid: str
    group: str  # the key of the group of its pods
    generation: int  # a promise of room for its pods is for one generation
    can_be_suspended: bool
    is_suspended: bool
    is_marked: bool  # as suspended by Maar
    to_come: Member | None  # a pod that it will make once Maar resumes it


def suspendable(job: BatchJob) -> SuspendableJob:
    """Read what is kept of a Job."""
    waits = job.suspended_for is not None and job.can_be_suspended
    return SuspendableJob(
        job.metadata.uid,
        job.group_key,
        job.metadata.generation,
        job.can_be_suspended,
        job.spec.suspend,
        SUSPENDED_FOR_ANNOTATION in job.metadata.annotations,
        member(pod_to_come(job, 0)) if waits else None,
    )


def job_to_suspend(pod: Member | None) -> str | None:
    """The uid of the Job that a live pod is evicted with."""
    if pod is None or not pod.is_live or pod.evicted_with_job is None:
        return None
    return pod.batch_job or None
