"""A batch/v1 Job and its pods, with the fields that decide what happens next."""

from datetime import UTC, datetime
from typing import ClassVar, Final, Literal

from maar.core.model.batch_job import BatchJobSpec
from maar.core.model.index_ranges import parse_indexes
from maar.core.model.kinds import from_json
from maar.core.model.metadata import Condition, Object, Record, Time
from maar.core.model.whole_numbers import whole_number
from maar.embedded.nodes.pod import FINISHED, ContainerStatus

JOBS: Final = "jobs.batch"
TRACKING: Final = "batch.kubernetes.io/job-tracking"  # the finalizer of pods that are not counted yet
INDEX: Final = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
CONTROLLER: Final = "kubernetes.io/job-controller"

ConditionStatus = Literal["True", "False", "Unknown"]


class SuccessRule(Record, frozen=True):
    """Indexes that are enough, or a number of them."""

    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(Record, frozen=True):
    """When an Indexed job has succeeded before all of its indexes have."""

    rules: tuple[SuccessRule, ...] = ()


class TemplateSpec(Record, frozen=True):
    """The one field of the template that the controller reads."""

    restart_policy: str = "Never"


class Template(Record, frozen=True):
    """What pods are made from."""

    spec: TemplateSpec = TemplateSpec()


class JobSpec(BatchJobSpec, frozen=True):
    """What is wanted; defaults are those of the API server."""

    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    pod_replacement_policy: str = "TerminatingOrFailed"
    success_policy: SuccessPolicy | None = None
    template: Template = Template()  # type: ignore[assignment]  # another part of the same

    @property
    def is_indexed(self) -> bool:
        """Whether each completion has an index."""
        return self.completion_mode == "Indexed" and self.completions is not None

    @property
    def replaces_failed_only(self) -> bool:
        """Whether a terminating pod is replaced only once it has ended, which a failure policy needs."""
        return self.pod_replacement_policy == "Failed" or self.pod_failure_policy is not None


class JobCondition(Condition, frozen=True):
    """A condition as the job controller writes it."""

    last_probe_time: Time | None = None


class Uncounted(Record, frozen=True):
    """Always empty: pods are counted in the transaction that removes their finalizer."""


class JobStatus(Record, frozen=True):
    """How far the job has come."""

    active: int = 0
    ready: int | None = None
    terminating: int | None = None
    succeeded: int = 0
    failed: int = 0
    start_time: Time | None = None
    completion_time: Time | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    conditions: tuple[JobCondition, ...] = ()
    uncounted_terminated_pods: Uncounted | None = None

    def condition(self, *types: str) -> JobCondition | None:
        """The first condition of these types that is true."""
        return next(
            (
                condition
                for condition in self.conditions
                if condition.type in types and condition.status == "True"
            ),
            None,
        )


class BatchJob(Object, frozen=True, tag="Job"):
    """A Job of Kubernetes."""

    api_version: ClassVar[str] = "batch/v1"
    plural: ClassVar[str] = "jobs"
    namespaced: ClassVar[bool] = True

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def is_finished(self) -> bool:
        """Whether it is complete or has failed, for good."""
        return self.status.condition("Complete", "Failed") is not None

    @property
    def completed(self) -> frozenset[int]:
        """The indexes that were counted as succeeded."""
        return parse_indexes(self.status.completed_indexes, self.spec.completions or 0)


class PlacedSpec(Record, frozen=True):
    """Where a pod is."""

    node_name: str = ""


class JobPodStatus(Record, frozen=True):
    """How far a pod has come."""

    phase: str = "Pending"
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class JobPod(Object, frozen=True, tag="Pod"):
    """A pod of a job."""

    api_version: ClassVar[str] = "v1"
    plural: ClassVar[str] = "pods"
    namespaced: ClassVar[bool] = True

    spec: PlacedSpec = PlacedSpec()
    status: JobPodStatus = JobPodStatus()

    @property
    def is_finished(self) -> bool:
        """Whether all of its containers have ended for good."""
        return self.status.phase in FINISHED

    @property
    def is_terminating(self) -> bool:
        """Whether it was deleted and has not ended yet."""
        return self.metadata.deletion_timestamp is not None and not self.is_finished

    @property
    def has_left_node(self) -> bool:
        """Whether it was deleted and nothing of it runs, though no node said how it ended."""
        return self.is_terminating and self.metadata.deletion_grace_period_seconds == 0

    @property
    def is_active(self) -> bool:
        """Whether it runs, or will."""
        return self.metadata.deletion_timestamp is None and not self.is_finished

    @property
    def is_ready(self) -> bool:
        """Whether its Ready condition holds."""
        return any(
            condition.type == "Ready" and condition.status == "True" for condition in self.status.conditions
        )

    @property
    def is_tracked(self) -> bool:
        """Whether its end is still to be counted."""
        return TRACKING in self.metadata.finalizers

    @property
    def index(self) -> int | None:
        """Its completion index."""
        return whole_number(self.metadata.annotations.get(INDEX, ""))

    @property
    def index_failures(self) -> tuple[int, int]:
        """How often pods of its index had failed before it, and how often that was ignored."""
        notes = self.metadata.annotations
        counts = (whole_number(notes.get(name, "")) for name in (INDEX_FAILURES, IGNORED_INDEX_FAILURES))
        counted, ignored = (count or 0 for count in counts)
        return counted, ignored

    @property
    def ended(self) -> float:
        """When its last container ended, or the closest to it that is known."""
        statuses = (*self.status.container_statuses, *self.status.init_container_statuses)
        ends = [
            status.state.terminated.finished_at for status in statuses if status.state.terminated is not None
        ]
        if moments := [end.timestamp() for end in ends if end is not None]:
            return max(moments)
        ready = (
            condition.last_transition_time
            for condition in self.status.conditions
            if condition.type == "Ready"
        )
        times = (*ready, self.metadata.deletion_timestamp, self.metadata.creation_timestamp)
        return next((time.timestamp() for time in times if time is not None), 0.0)


def read_job(body: bytes) -> BatchJob:
    """Read a job from its JSON."""
    return from_json(BatchJob, body)


def read_job_pod(body: bytes) -> JobPod:
    """Read a pod from its JSON."""
    return from_json(JobPod, body)


def moment(seconds: float) -> datetime:
    """A time as objects have it: in whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC)
