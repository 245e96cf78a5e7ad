"""What a cluster consists of, as plain values: docs/specification/objects.md."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from reference.amounts import Amounts

LONG_AGO: Final = datetime.fromisoformat("2000-01-01T00:00:00+00:00")
Subgroup = tuple[int, tuple[str, ...]]  # its policy's place in the list, and the values of the keys


@dataclass(frozen=True)
class Node:
    """A node, without its pods."""

    name: str
    allocatable: Amounts
    ready: bool
    unschedulable: bool
    labels: dict[str, str]


@dataclass(frozen=True)
class Queue:
    """What the spec of a queue says."""

    name: str
    parent: str
    weight: int = 1
    priority: int = 0
    reclaimable: bool = True
    capability: Amounts = field(default_factory=Amounts)
    guarantee: Amounts = field(default_factory=Amounts)
    percentage: Amounts = field(default_factory=Amounts)
    declared_request: Amounts | None = None
    soft: Amounts = field(default_factory=Amounts)  # `spec.deserved`
    asked_state: str = "Open"
    fifo: bool = False
    preempt_min_runtime: timedelta | None = None
    reclaim_min_runtime: timedelta | None = None
    created: datetime = LONG_AGO


@dataclass(frozen=True)
class Topology:
    """A `networkTopology`; without a highest tier any is allowed."""

    hard: bool
    highest: int | None


@dataclass(frozen=True)
class Policy:
    """One entry of `subGroupPolicy`."""

    selector: dict[str, Any] | None
    keys: tuple[str, ...]
    size: int  # pods of a subgroup
    least: int  # `minSubGroups`
    topology: Topology | None


@dataclass(frozen=True)
class Domain:
    """A HyperNode, the nodes with one value of a label, or the whole cluster (the highest tier)."""

    tier: float
    name: str
    nodes: frozenset[str]


@dataclass
class PodGroup:
    """What spec and status of a pod group say."""

    name: str  # namespace/name, here and everywhere below
    namespace: str
    queue: str
    min_member: int
    min_task_member: dict[str, int]
    min_resources: Amounts | None
    priority: int
    phase: str
    created: datetime
    preemptable: str | None
    unschedulable_since: datetime | None
    policies: tuple[Policy, ...] = ()
    topology: Topology | None = None


@dataclass
class Pod:
    """A pod, with what its group says about it."""

    name: str
    namespace: str
    group: str
    request: Amounts  # with 1 of `pods`
    best_effort: bool
    node: str  # or ""
    nominated: str  # or ""
    phase: str
    terminating: bool
    priority: int
    priority_class: str
    never_preempts: bool
    preemptable: str | None
    task: str
    number: int
    created: datetime
    position: int
    started: datetime | None
    labels: dict[str, str]
    node_selector: dict[str, str]
    keeps_away_from: list[dict[str, str]]
    subgroup: Subgroup | None = None

    @property
    def live(self) -> bool:
        """Neither succeeded nor failed."""
        return self.phase not in ("Succeeded", "Failed")


@dataclass
class Cluster:
    """All objects of a snapshot."""

    nodes: dict[str, Node] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    groups: dict[str, PodGroup] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    namespace_weights: dict[str, int] = field(default_factory=dict)
    domains: list[Domain] = field(default_factory=list)  # of the HyperNodes


def total_request(pods: Iterable[Pod]) -> Amounts:
    """What the pods ask for together."""
    total = Amounts()
    for pod in pods:
        total = total.plus(pod.request)
    return total


def keeps_away(pod: Pod, other: Pod) -> bool:
    """Whether required anti-affinity keeps a pod off the node of another, in its own namespace."""
    if pod.namespace != other.namespace:
        return False
    return any(
        all(other.labels.get(label) == value for label, value in labels.items())
        for labels in pod.keeps_away_from
    )
