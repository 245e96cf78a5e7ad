"""Volcano's job: task templates that become a pod group and its pods, and commands to it."""

from typing import ClassVar, Literal

from maar.core.model.metadata import Metadata, Object, OwnerReference, Record, Time
from maar.core.model.pod import PodSpec
from maar.core.model.queue import DEFAULT

JobPhase = Literal[
    "Pending", "Aborting", "Aborted", "Running", "Restarting",
    "Completing", "Completed", "Terminating", "Terminated", "Failed",
]  # fmt: skip


class LifecyclePolicy(Record, frozen=True):
    """What to do when something happens to the job or a task."""

    action: str = ""
    event: str = ""
    events: tuple[str, ...] = ()
    exit_code: int | None = None
    timeout: str | None = None


class DependsOn(Record, frozen=True):
    """Tasks that come first."""

    name: tuple[str, ...] = ()
    iteration: Literal["any", "all", ""] = ""


class PodTemplate(Record, frozen=True):
    """What a template may have: the metadata and spec of the pods made from it."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()


class Task(Record, frozen=True):
    """A template and how many pods of it; the template stays as it was written, for the pods made from it."""

    name: str = ""
    replicas: int = 0
    min_available: int | None = None
    template: dict[str, object] = {}
    policies: tuple[LifecyclePolicy, ...] = ()
    max_retry: int | None = None
    depends_on: DependsOn | None = None


class JobVolume(Record, frozen=True):
    """A claim that all pods of the job mount, by name or made for it."""

    mount_path: str = ""
    volume_claim_name: str = ""
    volume_claim: dict[str, object] | None = None


class JobSpec(Record, frozen=True):
    """What the user asks for."""

    scheduler_name: str = ""
    min_available: int | None = None
    tasks: tuple[Task, ...] = ()
    policies: tuple[LifecyclePolicy, ...] = ()
    plugins: dict[str, tuple[str, ...]] = {}
    queue: str = DEFAULT
    max_retry: int = 3
    ttl_seconds_after_finished: int | None = None
    priority_class_name: str = ""
    min_success: int | None = None
    volumes: tuple[JobVolume, ...] = ()


class JobState(Record, frozen=True):
    """The phase, and since when and why."""

    phase: JobPhase | Literal[""] = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class TaskState(Record, frozen=True):
    """How many pods of a task are in each phase."""

    phase: dict[str, int] = {}


class JobStatus(Record, frozen=True):
    """How far the job has come."""

    state: JobState = JobState()
    min_available: int = 0
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    version: int = 0
    retry_count: int = 0
    task_status_count: dict[str, TaskState] = {}


class Job(Object, frozen=True, tag="Job"):
    """The `batch.volcano.sh` job."""

    api_version: ClassVar[str] = "batch.volcano.sh/v1alpha1"
    plural: ClassVar[str] = "jobs"
    namespaced: ClassVar[bool] = True

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class Command(Object, frozen=True, tag="Command"):
    """An order to a queue or a job, carried out once."""

    api_version: ClassVar[str] = "bus.volcano.sh/v1alpha1"
    plural: ClassVar[str] = "commands"
    namespaced: ClassVar[bool] = True

    action: str = ""
    target: OwnerReference | None = None
    reason: str = ""
    message: str = ""
