"""What the job controller reads of a pod: which one it is, and how it stands."""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from maar.core.model.index_ranges import parse_indexes
from maar.core.model.job import FINISHED_JOBS, Job, JobStatus, RestartTarget
from maar.core.model.metadata import Metadata, OwnerReference
from maar.core.model.pod import TASK_ANNOTATION, Pod, PodPhase

JOB_NAME: Final = "volcano.sh/job-name"
JOB_NAMESPACE: Final = "volcano.sh/job-namespace"
TASK_INDEX: Final = "volcano.sh/task-index"
QUEUE_NAME: Final = "volcano.sh/queue-name"
JOB_VERSION: Final = "volcano.sh/job-version"
RETRY_COUNT: Final = "volcano.sh/job-retry-count"
TEMPLATE_UID: Final = "volcano.sh/template-uid"
PARTITION: Final = "volcano.sh/partition-id"
OUT_OF_SYNC: Final = "volcano.sh/controller-out-of-sync"  # on pods that the controller deletes itself
RESTARTS: Final = "maar.sh/job-restarts"

# A pod with it stays until the controller has seen how it ended: neither its success nor its eviction is
# lost, also where no controller ran at that moment.
FINALIZER: Final = "maar.sh/job-pod"

_LONGEST_GRACE_S: Final = 10_000_000  # more is not believed
_KEEPING: Final = ("Aborting", "Aborted", "Terminating", "Completing")  # what has ended, as it is
_FINISHED: Final = ("Succeeded", "Failed")


class JobPod(msgspec.Struct, frozen=True):
    """A pod of a job."""

    key: str
    uid: str
    job: str  # the key of the job
    owner_uid: str
    task: str
    index: int  # in its task; -1: it has none that can be read
    version: int  # of the job that it was made for
    restarts: int  # of the job when it was made
    phase: PodPhase
    created: datetime | None
    deleted: datetime | None  # when its deletion was asked for
    finished: datetime | None  # when the last of its ended containers ended; others may still run
    is_marked: bool  # the controller deletes it, or has looked at its end
    is_disrupted: bool  # a scheduler, a node or an API evicted it
    is_ready: bool
    container_restarts: int
    exit_codes: tuple[int, ...]  # of the containers that failed
    finalizers: tuple[str, ...]
    address: str = ""
    is_gone: bool = False  # it vanished without the controller having looked at its end

    @property
    def is_tracked(self) -> bool:
        """Whether it stays until the controller lets it go."""
        return FINALIZER in self.finalizers

    @property
    def is_finished(self) -> bool:
        """Whether it has succeeded or failed."""
        return self.phase in _FINISHED

    @property
    def is_terminating(self) -> bool:
        """Whether its deletion was asked for."""
        return self.deleted is not None or self.is_gone

    @property
    def is_evicted(self) -> bool:
        """Whether somebody other than the controller ended it, and it had not ended by itself."""
        has_ended = self.phase == "Succeeded" or self._has_failed
        return not self.is_marked and not has_ended and (self.is_terminating or self.is_disrupted)

    @property
    def _has_failed(self) -> bool:
        """Whether it failed before anybody wanted it to go."""
        if self.phase != "Failed" or self.is_disrupted:
            return False
        return self.deleted is None or (self.finished is not None and self.finished < self.deleted)


def owning_job(metadata: Metadata) -> OwnerReference | None:
    """The job of Volcano's API that a pod belongs to."""
    return next(
        (reference for reference in metadata.owner_references if reference.controller and _is_job(reference)),
        None,
    )


def job_pod(pod: Pod) -> JobPod | None:
    """What is read of a pod; None for one that no job made."""
    metadata, status = pod.metadata, pod.status
    owner = owning_job(metadata)
    if owner is None:
        return None
    notes = metadata.annotations
    containers = (*status.init_container_statuses, *status.container_statuses)
    ends = [container.state.terminated for container in containers if container.state.terminated is not None]
    index = notes.get(TASK_INDEX) or metadata.name.rpartition("-")[2]
    return JobPod(
        key=pod.key,
        uid=metadata.uid,
        job=Job.key_of(metadata.namespace, owner.name),
        owner_uid=owner.uid,
        task=notes.get(TASK_ANNOTATION, ""),
        index=_number(index, otherwise=-1),
        version=_number(notes.get(JOB_VERSION, "")),
        restarts=_number(notes.get(RESTARTS, "")),
        phase=status.phase,
        created=metadata.creation_timestamp,
        deleted=_asked(metadata),
        finished=max((end.finished_at for end in ends if end.finished_at is not None), default=None),
        is_marked=notes.get(OUT_OF_SYNC) == "true",
        is_disrupted=any(
            condition.type == "DisruptionTarget" and condition.status == "True"
            for condition in status.conditions
        ),
        is_ready=bool(status.container_statuses) and all(one.ready for one in status.container_statuses),
        container_restarts=sum(container.restart_count for container in containers),
        exit_codes=tuple(end.exit_code for end in ends if end.exit_code),
        finalizers=metadata.finalizers,
        address=status.pod_ip,
    )


def covers(target: RestartTarget, job: Job, task: str, index: int) -> bool:
    """Whether a restart is about the pod of a task that has this index."""
    if target.task != task or target.index not in (None, index):
        return False
    if target.partition is None:
        return True
    named = next((other for other in job.spec.tasks if other.name == task), None)
    return named is not None and named.partition(index) == target.partition


def is_restarted(pod: JobPod, job: Job, status: JobStatus) -> bool:
    """Whether the restart under way is about a pod of before."""
    targets = status.restart.targets if status.restart is not None else ()
    return pod.restarts < status.restarts and any(
        covers(target, job, pod.task, pod.index) for target in targets
    )


def is_answered(pod: JobPod, job: Job) -> bool:
    """Whether the status of a job has what became of a pod that is gone."""
    status = job.status
    if pod.phase == "Succeeded" and status.state.phase in _KEEPING:
        return pod.index in parse_indexes(status.completed_indexes.get(pod.task, ""))
    return (
        pod.version < status.version
        or is_restarted(pod, job, status)
        or status.state.phase in FINISHED_JOBS
        or pod.index in parse_indexes(status.completed_indexes.get(pod.task, ""))
        or any((action.task, action.index) == (pod.task, pod.index) for action in status.delayed_actions)
    )


def _asked(metadata: Metadata) -> datetime | None:
    """When the deletion of a pod was asked for; its timestamp is when it has to be gone."""
    grace = timedelta(seconds=min(max(metadata.deletion_grace_period_seconds or 0, 0), _LONGEST_GRACE_S))
    return None if metadata.deletion_timestamp is None else metadata.deletion_timestamp - grace


def _is_job(owner: OwnerReference) -> bool:
    return owner.kind == "Job" and owner.api_version.partition("/")[0] == "batch.volcano.sh"


def _number(text: str, otherwise: int = 0) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else otherwise  # noqa: PLR2004


Json = dict[str, object]


def owner_reference(job: Job) -> Json:
    """The reference by which an object is deleted with its job."""
    return {
        "apiVersion": Job.api_version,
        "kind": "Job",
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": False,  # what would need a right of its own
    }
