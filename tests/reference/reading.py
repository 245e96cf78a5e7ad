"""Kubernetes objects, read into plain values."""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from reference.amounts import Amounts
from reference.objects import Cluster, Domain, Node, Pod, PodGroup, Queue
from reference.quantities import amounts, created, duration, time
from reference.topology import members, read_policy, read_topology, subgroup_of
from reference.water_filling import ROOT

GROUP_ANNOTATION: Final = "scheduling.k8s.io/group-name"
TASK_ANNOTATION: Final = "volcano.sh/task-spec"
PREEMPTABLE: Final = "volcano.sh/preemptable"
NAMESPACE_WEIGHT: Final = "volcano.sh/namespace.weight"


INDEX_LABELS: Final = (
    "volcano.sh/task-index",
    "batch.kubernetes.io/job-completion-index",
    "jobset.sigs.k8s.io/job-index",
    "apps.kubernetes.io/pod-index",
    "training.kubeflow.org/replica-index",
)


def full_name(metadata: Mapping[str, Any]) -> str:
    """Namespace/name."""
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def notes(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Labels and annotations; an annotation wins."""
    return {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}


def read_node(thing: Mapping[str, Any]) -> Node:
    """A node; only Ready=True is ready."""
    status = thing["status"]
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", []))
    unschedulable = bool((thing.get("spec") or {}).get("unschedulable"))
    return Node(
        thing["metadata"]["name"],
        amounts(status["allocatable"]),
        ready,
        unschedulable,
        thing["metadata"].get("labels") or {},
    )


def task_minima(spec: Mapping[str, Any]) -> dict[str, int]:
    """`minTaskMember` binds only where `minMember` is at least its sum."""
    minima = spec.get("minTaskMember") or {}
    return minima if spec.get("minMember", 0) >= sum(minima.values()) else {}


def resources_of_pods(quantities: Mapping[str, Any]) -> dict[str, Any]:
    """Of `minResources` the names that are resources of pods; `requests.x` counts as x where x is missing."""
    kept = {
        name: text
        for name, text in quantities.items()
        if not name.startswith(("requests.", "limits.", "count/"))
    }
    for name, text in quantities.items():
        if name.startswith("requests."):
            kept.setdefault(name.removeprefix("requests."), text)
    return kept


def read_queue(thing: Mapping[str, Any]) -> Queue:
    """A queue; one without `spec.parent` is a child of `root`."""
    spec = thing.get("spec") or {}
    guarantee = spec.get("guarantee") or {}
    return Queue(
        name=thing["metadata"]["name"],
        parent=spec.get("parent") or ROOT,
        weight=spec.get("weight", 1),
        priority=spec.get("priority", 0),
        reclaimable=spec.get("reclaimable", True),
        capability=amounts(spec.get("capability")),
        guarantee=amounts(guarantee.get("resource")),
        percentage=amounts(guarantee.get("percentage")),
        declared_request=amounts(spec["request"]) if "request" in spec else None,
        soft=amounts(spec.get("deserved")),
        asked_state=spec.get("state") or "Open",
        fifo=spec.get("dequeueStrategy") == "fifo",
        preempt_min_runtime=duration(spec.get("preemptMinRuntime")),
        reclaim_min_runtime=duration(spec.get("reclaimMinRuntime")),
        created=created(thing["metadata"]),
    )


def read_group(
    thing: Mapping[str, Any], priority_classes: Mapping[str, int], tier_names: Mapping[str, int]
) -> PodGroup:
    """A pod group; it waits since its condition `Unschedulable` last turned true."""
    metadata, spec, status = thing["metadata"], thing.get("spec") or {}, thing.get("status") or {}
    turned = [
        one
        for one in status.get("conditions", [])
        if one["type"] == "Unschedulable" and one["status"] == "True"
    ]
    return PodGroup(
        name=full_name(metadata),
        namespace=metadata.get("namespace", "default"),
        queue=spec.get("queue", "default"),
        min_member=spec.get("minMember", 0),
        min_task_member=task_minima(spec),
        min_resources=amounts(resources_of_pods(spec["minResources"])) if "minResources" in spec else None,
        priority=priority_classes.get(spec.get("priorityClassName", ""), 0),
        phase=status.get("phase", "Pending"),
        created=created(metadata),
        preemptable=notes(metadata).get(PREEMPTABLE),
        unschedulable_since=max((time(one["lastTransitionTime"]) for one in turned), default=None),
        policies=tuple(read_policy(one, tier_names) for one in spec.get("subGroupPolicy") or ()),
        topology=read_topology(spec.get("networkTopology"), tier_names),
    )


def pod_request(spec: Mapping[str, Any]) -> Amounts:
    """The sum over the containers; what asks for nothing is left out."""
    total = Amounts()
    for container in spec.get("containers", []):
        total = total.plus(amounts((container.get("resources") or {}).get("requests")))
    return total.asked()


def pod_priority(spec: Mapping[str, Any], group: PodGroup | None, priority_classes: Mapping[str, int]) -> int:
    """The pod's own priority, else that of its class, else that of its group."""
    if spec.get("priority") is not None:
        return int(spec["priority"])
    return priority_classes.get(spec.get("priorityClassName", ""), group.priority if group else 0)


def read_pod(
    thing: Mapping[str, Any],
    position: int,
    groups: Mapping[str, PodGroup],
    priority_classes: Mapping[str, int],
) -> Pod:
    """A pod, with the amounts and names that decisions read."""
    metadata, spec, status = thing["metadata"], thing["spec"], thing.get("status") or {}
    namespace = metadata.get("namespace", "default")
    annotations = metadata.get("annotations") or {}
    group = f"{namespace}/{annotations.get(GROUP_ANNOTATION)}"
    request = pod_request(spec)
    number = next(
        (notes(metadata)[label] for label in INDEX_LABELS if label in notes(metadata)), None
    ) or re.search(r"-(\d{1,4})$", metadata["name"])
    anti_affinity = (spec.get("affinity") or {}).get("podAntiAffinity") or {}
    return Pod(
        name=full_name(metadata),
        namespace=namespace,
        group=group,
        request=request.plus({"pods": Fraction(1)}),
        best_effort=not request,
        node=spec.get("nodeName") or "",
        nominated=status.get("nominatedNodeName") or "",
        phase=status.get("phase", "Pending"),
        terminating="deletionTimestamp" in metadata,
        priority=pod_priority(spec, groups.get(group), priority_classes),
        priority_class=spec.get("priorityClassName", ""),
        never_preempts=spec.get("preemptionPolicy") == "Never",
        preemptable=notes(metadata).get(PREEMPTABLE),
        task=annotations.get(TASK_ANNOTATION, ""),
        number=int(number if isinstance(number, str) else number[1]) if number else 0,
        created=created(metadata),
        position=position,
        started=time(status["startTime"]) if "startTime" in status else None,
        labels=metadata.get("labels") or {},
        node_selector=spec.get("nodeSelector") or {},
        keeps_away_from=[
            term["labelSelector"]["matchLabels"]
            for term in anti_affinity.get("requiredDuringSchedulingIgnoredDuringExecution", [])
        ],
        subgroup=subgroup_of(metadata.get("labels") or {}, groups[group].policies)
        if group in groups
        else None,
    )


def namespace_weight(thing: Mapping[str, Any]) -> int:
    """Missing, below 1 or not a whole number → 1."""
    text = str(thing["spec"].get("hard", {}).get(NAMESPACE_WEIGHT, 1))
    return max(1, int(text)) if text.isdigit() else 1


def read_cluster(documents: Iterable[Mapping[str, Any]]) -> Cluster:
    """The snapshot; `root` and `default` exist always."""
    things = list(documents)
    by_kind: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for position, thing in enumerate(things):
        by_kind.setdefault(thing["kind"], []).append((position, thing))
    priority_classes = {
        thing["metadata"]["name"]: thing["value"] for _, thing in by_kind.get("PriorityClass", [])
    }
    cluster = Cluster()
    for _, thing in by_kind.get("Node", []):
        cluster.nodes[thing["metadata"]["name"]] = read_node(thing)
    cluster.queues = {thing["metadata"]["name"]: read_queue(thing) for _, thing in by_kind.get("Queue", [])}
    cluster.queues.setdefault(ROOT, Queue(ROOT, ROOT))
    cluster.queues.setdefault("default", Queue("default", ROOT))
    hypernodes = {thing["metadata"]["name"]: thing["spec"] for _, thing in by_kind.get("HyperNode", [])}
    cluster.domains = [
        Domain(spec["tier"], name, members(name, hypernodes, cluster.nodes, frozenset({name})))
        for name, spec in hypernodes.items()
    ]
    tier_names = {spec["tierName"]: spec["tier"] for spec in hypernodes.values() if "tierName" in spec}
    for _, thing in by_kind.get("PodGroup", []):
        group = read_group(thing, priority_classes, tier_names)
        cluster.groups[group.name] = group
    for position, thing in by_kind.get("Pod", []):
        pod = read_pod(thing, position, cluster.groups, priority_classes)
        cluster.pods[pod.name] = pod
        if pod.subgroup is not None:  # `minTaskMember` counts for tasks of no policy
            cluster.groups[pod.group].min_task_member.pop(pod.task, None)
    for _, thing in by_kind.get("ResourceQuota", []):
        namespace = thing["metadata"].get("namespace", "default")
        cluster.namespace_weights[namespace] = max(
            cluster.namespace_weights.get(namespace, 1), namespace_weight(thing)
        )
    return cluster
