"""Volcano's job: task templates that become a pod group and its pods, and commands to it."""

from functools import cached_property
from typing import ClassVar, Final, Literal

import msgspec

from maar.core.model.metadata import Metadata, Object, OwnerReference, Record, Time
from maar.core.model.pod import PodSpec
from maar.core.model.pod_group import NetworkTopology
from maar.core.model.queue import DEFAULT

JobPhase = Literal[
    "Pending", "Aborting", "Aborted", "Running", "Restarting",
    "Completing", "Completed", "Terminating", "Terminated", "Failed",
]  # fmt: skip

JOB_ACTIONS: Final = (
    "AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob", "CompleteJob",
    "ResumeJob",
)  # fmt: skip


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


class PartitionPolicy(Record, frozen=True):
    """How the pods of a task are divided into partitions, by their index."""

    total_partitions: int = 0
    partition_size: int = 0
    min_partitions: int = 0


_NO_TEMPLATE: Final = msgspec.Raw(b"{}")


class Task(Record, frozen=True, dict=True):  # noqa: PLW1641  # a template has no hash
    """A template and how many pods of it; the template stays as it was written, for its pods.

    A template is most of a job, and few who read jobs ask for it: it is decoded for those who do.
    """

    name: str = ""
    replicas: int = 0
    min_available: int | None = None
    written: msgspec.Raw = msgspec.field(default=_NO_TEMPLATE, name="template")
    policies: tuple[LifecyclePolicy, ...] = ()
    max_retry: int | None = None
    depends_on: DependsOn | None = None
    partition_policy: PartitionPolicy | None = None
    topology_policy: str = ""

    def __post_init__(self) -> None:
        if not bytes(self.written).startswith(b"{"):
            raise ValueError("a template is an object")
        msgspec.structs.force_setattr(self, "written", self.written.copy())  # and not the page it came in

    def __eq__(self, other: object) -> bool:
        """Whether two say the same, however their templates are written."""
        if not isinstance(other, Task):
            return NotImplemented
        others = (name for name in self.__struct_fields__ if name != "written")
        return all(getattr(self, name) == getattr(other, name) for name in others) and (
            self.written == other.written or self.template == other.template
        )

    @cached_property
    def template(self) -> dict[str, object]:
        """What the pods are made from."""
        return msgspec.json.decode(self.written, type=dict[str, object])

    def without_template(self) -> "Task":
        """The task without what only its pods are made from."""
        return msgspec.structs.replace(self, written=_NO_TEMPLATE)

    @property
    def least(self) -> int:
        """How many of its pods the task needs."""
        return self.replicas if self.min_available is None else self.min_available

    def partition(self, index: int) -> int | None:
        """The partition that a pod belongs to; None where the task has none."""
        size = self.partition_policy.partition_size if self.partition_policy is not None else 0
        return index // size if size > 0 else None


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
    plugins: dict[str, tuple[str, ...] | None] = {}
    queue: str = DEFAULT
    max_retry: int = 3
    ttl_seconds_after_finished: int | None = None
    priority_class_name: str = ""
    min_success: int | None = None
    volumes: tuple[JobVolume, ...] = ()
    network_topology: NetworkTopology | None = None
    running_estimate: str = ""

    @property
    def replicas(self) -> int:
        """How many pods the job has."""
        return sum(task.replicas for task in self.tasks)

    @property
    def least(self) -> int:
        """How many pods must be placed before any of them starts."""
        return sum(task.least for task in self.tasks) if self.min_available is None else self.min_available


ACTIVE_JOBS: Final = ("", "Pending", "Running")  # their pods are created, once the group is admitted
FINISHED_JOBS: Final = ("Aborted", "Completed", "Terminated", "Failed")


class JobState(Record, frozen=True):
    """The phase, and since when and why."""

    phase: JobPhase | Literal[""] = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class TaskState(Record, frozen=True):
    """How many pods of a task are in each phase."""

    phase: dict[str, int] = {}


class JobCondition(Record, frozen=True):
    """A phase that the job was in, and since when it was last."""

    status: str = ""
    last_transition_time: Time | None = None


class RestartTarget(Record, frozen=True):
    """Pods of a task that are restarted: one of them, a partition, or all."""

    task: str
    index: int | None = None
    partition: int | None = None


class Restart(Record, frozen=True):
    """The restart that is under way; without targets, of the whole job."""

    action: str
    targets: tuple[RestartTarget, ...] = ()


class DelayedAction(Record, frozen=True):
    """Something that happened to a pod and has a policy with a timeout: the timer, where no pod tells it."""

    event: str
    task: str
    index: int
    since: Time


class JobStatus(Record, frozen=True):
    """How far the job has come.

    The fields after `task_status_count` are Maar's own. They hold what no pod can tell: a controller that is
    restarted goes on from them, and remembers nothing by itself.
    """

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
    running_duration: str = ""
    controlled_resources: dict[str, str] = {}
    conditions: tuple[JobCondition, ...] = ()
    task_status_count: dict[str, TaskState] = {}
    restarts: int = 0  # of the job or part of it, for whatever reason; pods carry it
    restart: Restart | None = None  # that is under way
    completed_indexes: dict[str, str] = {}  # by task, the pods that succeeded and are gone: 0-2,5
    delayed_actions: tuple[DelayedAction, ...] = ()
    last_command: str = ""  # the uid of the one that was carried out last
    plugins_generation: int = 0  # of the spec that the plugins' objects were made for; 0: there are none


class Job(Object, frozen=True, tag="Job"):
    """The `batch.volcano.sh` job."""

    api_version: ClassVar[str] = "batch.volcano.sh/v1alpha1"
    plural: ClassVar[str] = "jobs"
    namespaced: ClassVar[bool] = True

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def phase(self) -> str:
        """The phase; one that no controller has seen is Pending."""
        return self.status.state.phase or "Pending"

    @property
    def minimum(self) -> int:
        """How many pods start together; where nothing is written, what admission would write."""
        tasks = sum(task.least for task in self.spec.tasks)
        return self.status.min_available or self.spec.min_available or tasks

    @property
    def is_over(self) -> bool:
        """Whether it will not run again; one that was aborted may be resumed."""
        return self.phase in ("Completed", "Failed", "Terminated")


class Command(Object, frozen=True, tag="Command"):
    """An order to a queue or a job, carried out once."""

    api_version: ClassVar[str] = "bus.volcano.sh/v1alpha1"
    plural: ClassVar[str] = "commands"
    namespaced: ClassVar[bool] = True

    action: str = ""
    target: OwnerReference | None = None
    reason: str = ""
    message: str = ""
