"""The manifests that random clusters are made of, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from maar.core.model.pod_group import READY_ANNOTATION

Document = dict[str, Any]
Room = dict[str, int]  # whole units: milli-CPU, bytes, pieces

NOW: Final = datetime(2026, 6, 1, 12, tzinfo=UTC)
CLASSES: Final = {"low": -10, "": 0, "middle": 10, "high": 1000, "system-cluster-critical": 2_000_000_000}
GROUP: Final = "scheduling.k8s.io/group-name"
HOSTNAME: Final = "kubernetes.io/hostname"


@dataclass(frozen=True, kw_only=True)
class GroupPlan:
    """A pod group before it is written down."""

    name: str
    namespace: str
    queue: str = "default"
    size: int = 1
    min_member: int = 1
    min_task_member: dict[str, int] = field(default_factory=dict)
    min_resources: Room | None = None
    request: Room = field(default_factory=dict)  # of each pod
    priority_class: str = ""
    age: int = 1000
    never: bool = False
    preemptable: str | None = None
    selector: dict[str, str] = field(default_factory=dict)
    keeps_apart: bool = False  # at most one pod of the group on a node
    marked_pod: str = (
        ""  # how its first pod differs from the others: in its class, its mark, what it asks for
    )
    host_port: int = 0
    pod_extras: Document = field(default_factory=dict)  # what else a pod's spec says


def ago(seconds: float) -> str:
    """A time before now, as Kubernetes writes it."""
    return (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    """Whole units as Kubernetes quantities."""
    return {name: f"{units}m" if name == "cpu" else str(units) for name, units in amounts.items()}


def node(name: str, room: Room, labels: dict[str, str]) -> Document:
    """A node that is ready."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
        "spec": {},
        "status": {
            "allocatable": quantities(room),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def queue(name: str, spec: Document, age: int) -> Document:
    """A queue of that age."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "creationTimestamp": ago(age)},
        "spec": spec,
    }


def quota(namespace: str, weight: str) -> Document:
    """The quota that gives a namespace its weight."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "weight", "namespace": namespace},
        "spec": {"hard": {"volcano.sh/namespace.weight": weight}},
    }


def priority_class(name: str, value: int) -> Document:
    """A name for a priority."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def budget(plan: GroupPlan, rng: Random) -> Document:
    """A disruption budget for the pods of one group, with what its controller last counted."""
    allowed = rng.choice((0, 0, 1, 2))
    spec = {"selector": {"matchLabels": {"app": plan.name}}, "maxUnavailable": allowed}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": plan.name, "namespace": plan.namespace},
        "spec": spec,
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": plan.size,
            "desiredHealthy": max(0, plan.size - allowed),
            "expectedPods": plan.size,
        },
    }


def pod_group(plan: GroupPlan, phase: str) -> Document:
    """The pod group itself."""
    metadata: Document = {
        "name": plan.name,
        "namespace": plan.namespace,
        "creationTimestamp": ago(plan.age),
    }
    if plan.preemptable is not None:
        metadata["annotations"] = {"volcano.sh/preemptable": plan.preemptable}
    spec: Document = {"queue": plan.queue, "minMember": plan.min_member}
    if plan.min_task_member:
        spec["minTaskMember"] = dict(plan.min_task_member)
    if plan.min_resources is not None:
        spec["minResources"] = quantities(plan.min_resources)
    if plan.priority_class:
        spec["priorityClassName"] = plan.priority_class
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase} if phase else {},
    }


def complicate(plan: GroupPlan, group: Document, pods: list[Document], rng: Random) -> None:
    """What operators and people do: a minMember that was raised, wrong minResources, tasks, gates."""
    spec = group["spec"]
    if plan.min_member > 1 and rng.random() < 0.3:
        notes = group["metadata"].setdefault("annotations", {})
        notes[READY_ANNOTATION] = str(rng.randint(0, plan.min_member))
    if rng.random() < 0.1:
        spec["minResources"] = {"cpu": "1m", "count/pods": "9", "limits.cpu": "99"}
    elif rng.random() < 0.1:
        spec["minResources"] = {"requests.cpu": f"{rng.randint(1, 4)}500m", "requests.memory": "1Gi"}
    if plan.min_task_member and rng.random() < 0.2:
        spec["minTaskMember"]["work"] = plan.min_member + 1
    is_gated = rng.random() < 0.1
    for pod in pods:
        if is_gated and "nodeName" not in pod["spec"] and rng.random() < 0.7:
            pod["spec"]["schedulingGates"] = [{"name": "later"}]


def pods_of(plan: GroupPlan) -> list[Document]:
    """All pods of a group, waiting."""
    return [_pod(plan, number) for number in range(plan.size)]


def _pod(plan: GroupPlan, number: int) -> Document:
    annotations = {GROUP: plan.name}
    if plan.min_task_member:
        annotations["volcano.sh/task-spec"] = "lead" if number == 0 else "work"
    class_name = plan.priority_class
    if number == 0 and plan.marked_pod == "preemptable":
        annotations["volcano.sh/preemptable"] = "false" if plan.preemptable != "false" else "true"
    elif number == 0 and plan.marked_pod in CLASSES:
        class_name = plan.marked_pod
    request = {} if number == 0 and plan.marked_pod == "asks for nothing" else plan.request
    spec: Document = {
        "schedulerName": "volcano",
        "priority": CLASSES[class_name],
        "containers": [{"name": "main", "resources": {"requests": quantities(request)}}],
        **plan.pod_extras,
    }
    if plan.host_port:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": plan.host_port}]
    if class_name:
        spec["priorityClassName"] = class_name
    if plan.never:
        spec["preemptionPolicy"] = "Never"
    if plan.selector:
        spec["nodeSelector"] = dict(plan.selector)
    if plan.keeps_apart:
        term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": plan.name}}}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{plan.name}-{number}",
            "namespace": plan.namespace,
            "creationTimestamp": ago(plan.age - number / 10),
            "labels": {"app": plan.name},
            "annotations": annotations,
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def neighbourhood(name: str, rng: Random) -> Document:
    """What a pod may say about where it runs that the reference model does not read."""
    extras: Document = {}
    if rng.random() < 0.6:
        extras["tolerations"] = [
            rng.choice(
                (
                    {"key": "kept", "operator": "Exists"},
                    {"key": "kept", "value": "x", "effect": "NoSchedule"},
                    {"operator": "Exists", "effect": "NoSchedule"},
                )
            )
        ]
    if rng.random() < 0.12:
        term: Document = {
            "matchExpressions": [{"key": "disk", "operator": rng.choice(("In", "NotIn")), "values": ["ssd"]}]
        }
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        extras["affinity"] = {"nodeAffinity": required}
    elif rng.random() < 0.12:
        term = {
            "topologyKey": rng.choice((HOSTNAME, "zone")),
            "labelSelector": {"matchLabels": {"app": rng.choice((name, "g0", "g1"))}},
        }
        kind = rng.choice(("podAffinity", "podAntiAffinity"))
        extras["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    elif rng.random() < 0.12:
        extras["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": rng.choice((HOSTNAME, "zone")),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": name}},
            }
        ]
    if rng.random() < 0.08:
        extras["overhead"] = {"cpu": "500m"}
    return extras
