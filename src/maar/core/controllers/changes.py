"""What an event has changed in what controllers know, and what of an object their indexes go by."""

from typing import NamedTuple

import msgspec

from maar.core.controllers.group_template import Member, Owner, member
from maar.core.controllers.job_owners import JobOwnerChange
from maar.core.controllers.jobs.pods import JobPod
from maar.core.controllers.work_queue import Changed
from maar.core.model.job import FINISHED_JOBS, Command, Job
from maar.core.model.namespace import QUOTA_LABEL, Namespace, ResourceQuota, quota_label
from maar.core.model.pod import QUEUE_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
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


class QueueChanged(Changed[Queue]):
    """A queue."""


class PodGroupChanged(Changed[PodGroup]):
    """A pod group."""


class JobChanged(Changed[Job]):
    """A job."""


class JobPodChanged(Changed[JobPod]):
    """A pod of a job."""


class ClaimChanged(Changed[str]):
    """A volume claim, by its uid."""


class CommandChanged(Changed[Command]):
    """A command."""


class NamespaceChanged(Changed[Namespace]):
    """A namespace."""


class QuotaChanged(Changed[ResourceQuota]):
    """A resource quota."""


class OwnerChanged(Changed[Owner]):
    """A workload that makes pods."""


class BatchJobChanged(Changed[SuspendableJob]):
    """A Job of batch/v1."""


class PodChanged(Changed[Member]):
    """A pod of our scheduler."""


class OtherPodChanged(Changed[str]):
    """The scheduler that a pod of another scheduler waits for."""


AnyChange = (
    QueueChanged | PodGroupChanged | JobChanged | CommandChanged | NamespaceChanged | QuotaChanged
    | OwnerChanged | BatchJobChanged | PodChanged | OtherPodChanged | JobPodChanged | ClaimChanged
    | JobOwnerChange
)  # fmt: skip


def queue_and_phase(group: PodGroup | None) -> tuple[str, str] | None:
    """The queue that a group names and its phase, as the status of queues counts it."""
    return None if group is None else (group.spec.queue, (group.status.phase or "Pending").lower())


def queue_of_command(command: Command | None) -> str | None:
    """The queue that a command is about; None for commands to jobs."""
    target = command.target if command is not None else None
    return target.name if target is not None and target.kind == "Queue" else None


def job_of_command(command: Command | None) -> str | None:
    """The key of the job that a command is about; None for commands to queues."""
    target = command.target if command is not None else None
    if command is None or target is None or target.kind != "Job":
        return None
    return Job.key_of(command.metadata.namespace, target.name)


def queue_of_job(job: Job | None) -> str | None:
    """The queue of an unfinished job."""
    return None if job is None or job.status.state.phase in FINISHED_JOBS else job.spec.queue


def label_of_namespace(namespace: Namespace | None) -> str:
    """The label of quotas of the queue that a namespace names; empty where it names none."""
    return "" if namespace is None else quota_label(namespace.metadata.annotations.get(QUEUE_ANNOTATION, ""))


def label_of_quota(quota: ResourceQuota | None) -> str:
    """The label of a quota that is Maar's own; empty where it is not."""
    return "" if quota is None else quota.metadata.labels.get(QUOTA_LABEL, "")


def claims_of(job: Job | None) -> frozenset[str]:
    """The keys of the volume claims that a job names."""
    if job is None:
        return frozenset()
    namespace = job.metadata.namespace or "default"
    return frozenset(
        f"{namespace}/{volume.volume_claim_name}" for volume in job.spec.volumes if volume.volume_claim_name
    )


def without_templates(job: Job) -> Job:
    """A job without what only its pods were made from, which is most of it."""
    tasks = tuple(task.without_template() for task in job.spec.tasks)
    return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, tasks=tasks))


def waits_for(pod: Pod) -> str | None:
    """The scheduler that a pod waits for; None where it waits for none."""
    spec = pod.spec
    is_gated = bool(spec.scheduling_gates) and not pod.has_queue_gate
    waits = not (spec.node_name or pod.is_finished or pod.is_terminating or is_gated)
    return spec.scheduler_name or None if waits else None
