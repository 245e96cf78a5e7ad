"""The pod: what it asks for, where it may run and how far it has come."""

from functools import lru_cache
from typing import ClassVar, Final, Literal

import msgspec

from maar.core.model.affinity import Affinity, Toleration, TopologySpreadConstraint
from maar.core.model.metadata import Condition, Object, Record, Time
from maar.core.model.resources import PODS, Resources

GROUP_ANNOTATION: Final = "scheduling.k8s.io/group-name"
# Volcano's scheduling gate, and the annotation that asks for it: the pod waits until its queue has room.
QUEUE_GATE: Final = "scheduling.volcano.sh/queue-allocation-gate"
QUEUE_ANNOTATION: Final = "scheduling.volcano.sh/queue-name"
TASK_ANNOTATION: Final = "volcano.sh/task-spec"
PREEMPTABLE_MARK: Final = "volcano.sh/preemptable"
EVICTED_FOR_ANNOTATION: Final = "maar.sh/evicted-for"
# On a victim that goes with its Job of batch/v1, which the controllers suspend: the action that evicts it.
EVICTED_WITH_JOB_ANNOTATION: Final = "maar.sh/evicted-with-job"
INDEX_FAILURES: Final = (
    "batch.kubernetes.io/job-index-failure-count"  # of a Job's pods of its index before it
)

PodPhase = Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"]

_ITSELF: Final = Resources({PODS: 1})


class ResourceRequirements(Record, frozen=True):
    """What a container asks for, and what it may not exceed."""

    requests: Resources = Resources()
    limits: Resources = Resources()

    @property
    def request(self) -> Resources:
        """A limit without a request is a request, as the API server defaults it."""
        asked, limits = self.requests, self.limits
        return asked if limits.keys() <= asked.keys() else Resources({**limits, **asked})


class ContainerPort(Record, frozen=True):
    """A port; only one on the host takes something away from others."""

    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Record, frozen=True):
    """A container, as far as it matters to where the pod goes."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class ClaimSource(Record, frozen=True):
    """A volume claim by name."""

    claim_name: str


class Volume(Record, frozen=True):
    """A volume of a pod; only claims decide where it can run."""

    name: str
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, object] | None = None


class Named(Record, frozen=True):
    """Something that only its name matters of."""

    name: str


class PodSpec(Record, frozen=True):
    """What the pod asks for."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Resources = Resources()
    resources: ResourceRequirements | None = None
    scheduling_gates: tuple[Named, ...] = ()
    active_deadline_seconds: int | None = None
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[Named, ...] = ()


class Terminated(Record, frozen=True):
    """How a container ended."""

    exit_code: int = 0
    finished_at: Time | None = None


class ContainerState(Record, frozen=True):
    """What a container does; only its end is read."""

    terminated: Terminated | None = None


class ContainerStatus(Record, frozen=True):
    """How far a container has come."""

    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodStatus(Record, frozen=True):
    """How far the pod has come."""

    phase: PodPhase = "Pending"
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: Time | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    pod_ip: str = msgspec.field(default="", name="podIP")


class Pod(Object, frozen=True, tag="Pod"):
    """A pod, with the fields that Maar reads."""

    api_version: ClassVar[str] = "v1"
    plural: ClassVar[str] = "pods"
    namespaced: ClassVar[bool] = True

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def group_key(self) -> str:
        """The key of the pod group that it names; empty where it names none."""
        name = self.metadata.annotations.get(GROUP_ANNOTATION, "")
        return f"{self.metadata.namespace or 'default'}/{name}" if name else ""

    @property
    def is_finished(self) -> bool:
        """Whether it has succeeded or failed, and so holds nothing."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_leaving(self) -> bool:
        """Whether it is being deleted, or will be with the Job that is suspended to evict it."""
        metadata = self.metadata
        return metadata.deletion_timestamp is not None or EVICTED_WITH_JOB_ANNOTATION in metadata.annotations

    @property
    def has_queue_gate(self) -> bool:
        """Whether Volcano's scheduling gate is the only one that keeps it from being placed."""
        return [one.name for one in self.spec.scheduling_gates] == [QUEUE_GATE]

    @property
    def batch_job(self) -> str:
        """The uid of the Job of batch/v1 that made it; empty where none did."""
        owner = self.metadata.controller
        return owner.batch_job if owner is not None else ""

    @property
    def request(self) -> Resources:
        """What the pod takes from a node, the pod itself included."""
        return pod_request(self.spec)


def pod_request(spec: PodSpec) -> Resources:
    """Add up as Kubernetes does: containers that run together, or the largest moment of starting them.

    Restartable init containers run on beside the containers; every other init container runs alone, after
    the restartable ones before it have started. Requests of the pod as a whole stand over those sums.
    """
    return _request(
        tuple([one.resources for one in spec.containers]),
        tuple([(one.restart_policy, one.resources) for one in spec.init_containers]),
        spec.resources,
        spec.overhead,
    )


# Few requests are different in a cluster, and equal ones are one object: sums are worked out once.
@lru_cache(maxsize=4096)
def _request(
    containers: tuple[ResourceRequirements, ...],
    starting: tuple[tuple[str, ResourceRequirements], ...],
    of_pod: ResourceRequirements | None,
    overhead: Resources,
) -> Resources:
    running, peak, beside = Resources(), Resources(), Resources()
    for one in containers:
        running = running.plus(one.request)
    for restart_policy, one in starting:
        if restart_policy == "Always":
            beside = beside.plus(one.request)
        else:
            peak = peak.larger(beside.plus(one.request))
    running = running.plus(beside).larger(peak)
    if of_pod is not None:
        running = Resources({**of_pod.limits, **running, **of_pod.requests})
    return running.plus(overhead).plus(_ITSELF)
