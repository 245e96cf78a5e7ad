"""What every cluster has beside its batch work: the parts of the fixture `ordinary`, each to be had alone."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, cast

from cycle_bench import GIB, job, ready_node, work_of
from msgspec.structs import replace
from policy_bench import NOW

from maar.core.model.affinity import (
    Affinity,
    PodAffinity,
    PodAffinityTerm,
    PreferredPodTerm,
    TopologySpreadConstraint,
)
from maar.core.model.events import AnyObject, Event, Upserted
from maar.core.model.metadata import LabelSelector, Metadata, Object, OwnerReference
from maar.core.model.node import Node, Taint
from maar.core.model.pod import Container, ContainerPort, Pod, PodSpec, PodStatus
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Guarantee, Queue
from maar.core.model.resources import Resources

PARTS: Final = {
    "coredns": "two CoreDNS pods with preferred anti-affinity",
    "daemons": "kube-proxy, and a node-exporter with a host port, on each node",
    "web": "a Deployment with required anti-affinity, and one with topology spread",
    "tainted": "a control-plane node with a taint",
    "guarantees": "guarantees on two queues",
    "min-runtimes": "minimum run times on two queues",
    "namespaces": "several namespaces in a leaf",
    "shapes": "a fifth of the groups with pods of two shapes",
    "own-affinity": "a gang with affinity to its own pods",
}
_HOST: Final = "kubernetes.io/hostname"
_NAMESPACES: Final = 3
_YOUNG: Final = 10  # one group of so many has started a moment ago


def ordinary(
    events: Iterable[Event], parts: Collection[str] = tuple(PARTS), now: datetime = NOW
) -> Iterator[Event]:
    """The events of a cluster with batch work, changed and followed by what an ordinary cluster has."""
    nodes, queues, groups = list[str](), list[str](), 0
    for event in events:
        one = event.object if isinstance(event, Upserted) else None
        if isinstance(one, Node):
            nodes.append(one.metadata.name)
        elif isinstance(one, Queue):
            queues.append(one.metadata.name)
            yield Upserted(object=_queue(one, len(queues), parts))
            continue
        elif isinstance(one, PodGroup):
            groups += 1
            yield Upserted(object=replace(one, metadata=_of_job(one.metadata, groups, parts)))
            continue
        elif isinstance(one, Pod):
            yield Upserted(object=_pod(one, groups, parts, now))
            continue
        yield event
    if "tainted" in parts:
        size = Resources({"cpu": 4_000, "memory": 16 * GIB, "pods": 110})
        taint = Taint(key="node-role.kubernetes.io/control-plane", effect="NoSchedule")
        yield Upserted(object=ready_node("control-plane", size, {}, (taint,)))
    if "own-affinity" in parts:
        together = Affinity(pod_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=(
            _near("gang", "own", "zone"),
        )))  # fmt: skip
        specs = [replace(work_of(20), affinity=together)] * 4
        yield from job("own-affinity", "ns-0", queues[0], specs, {"gang": "own"})
    yield from _pods_of_others(nodes, parts)


def both(objects: Sequence[Object], now: float) -> Iterator[tuple[str, Sequence[Object]]]:
    """The objects of a plain cluster, and those of an ordinary one with the same work."""
    yield "a plain cluster", objects
    events = (Upserted(object=cast("AnyObject", one)) for one in objects)
    at = datetime.fromtimestamp(now, UTC)
    changed = (event.object for event in ordinary(events, now=at) if isinstance(event, Upserted))
    yield "an ordinary cluster", [*changed]


def _queue(queue: Queue, number: int, parts: Collection[str]) -> Queue:
    spec = queue.spec
    if "guarantees" in parts and number in (1, 2):
        spec = replace(spec, guarantee=Guarantee(resource=Resources({"cpu": 64_000})))
    if "min-runtimes" in parts and number in (2, 3):
        spec = replace(spec, preempt_min_runtime="10m", reclaim_min_runtime="10m")
    return replace(queue, spec=spec)


def _of_job(metadata: Metadata, group: int, parts: Collection[str]) -> Metadata:
    """Of a group or a pod of it: with a label of its own job, as operators write it."""
    namespace = f"ns-{group % _NAMESPACES}" if "namespaces" in parts else metadata.namespace
    return replace(metadata, namespace=namespace, labels={**metadata.labels, "job-name": f"job-{group}"})


def _pod(pod: Pod, group: int, parts: Collection[str], now: datetime) -> Pod:
    pod = replace(pod, metadata=_of_job(pod.metadata, group, parts))
    if pod.spec.node_name:
        is_young, stated = group % _YOUNG == 0, pod.status.start_time
        started = now - timedelta(minutes=1) if is_young else stated or now - timedelta(hours=1)
        return replace(pod, status=replace(pod.status, start_time=started))
    if "shapes" in parts and group % 5 == 0 and pod.metadata.name.endswith("-0"):
        return replace(pod, spec=replace(pod.spec, containers=work_of(7).containers))
    return pod


def _pods_of_others(nodes: list[str], parts: Collection[str]) -> Iterator[Event]:
    """Running pods of another scheduler."""
    if "coredns" in parts:
        preferred = (PreferredPodTerm(weight=100, pod_affinity_term=_near("k8s-app", "kube-dns")),)
        away = PodAffinity(preferred_during_scheduling_ignored_during_execution=preferred)
        spec = PodSpec(affinity=Affinity(pod_anti_affinity=away))
        for number in range(2):
            yield _other(f"coredns-{number}", nodes[number], {"k8s-app": "kube-dns"}, spec)
    exporter = PodSpec(containers=(Container(name="main", ports=(ContainerPort(host_port=9100),)),))
    for node in nodes if "daemons" in parts else ():
        yield _other(f"kube-proxy-{node}", node, {"k8s-app": "kube-proxy"}, PodSpec(), "DaemonSet")
        yield _other(f"node-exporter-{node}", node, {"app": "node-exporter"}, exporter, "DaemonSet")
    if "web" in parts:
        away = PodAffinity(required_during_scheduling_ignored_during_execution=(_near("app", "web"),))
        api = LabelSelector(match_labels={"app": "api"})
        even = TopologySpreadConstraint(
            max_skew=1, topology_key=_HOST, when_unsatisfiable="DoNotSchedule", label_selector=api
        )
        apart, spread = Affinity(pod_anti_affinity=away), PodSpec(topology_spread_constraints=(even,))
        for number in range(3):
            yield _other(f"web-{number}", nodes[number], {"app": "web"}, PodSpec(affinity=apart))
            yield _other(f"api-{number}", nodes[number], {"app": "api"}, spread)


def _near(label: str, value: str, topology: str = _HOST) -> PodAffinityTerm:
    return PodAffinityTerm(topology_key=topology, label_selector=LabelSelector(match_labels={label: value}))


def _other(name: str, node: str, labels: dict[str, str], spec: PodSpec, owner: str = "ReplicaSet") -> Event:
    owners = (OwnerReference(api_version="apps/v1", kind=owner, name=name, uid=name, controller=True),)
    metadata = Metadata(name=name, namespace="kube-system", labels=labels, owner_references=owners)
    containers = spec.containers or (Container(name="main"),)
    spec = replace(spec, node_name=node, scheduler_name="default-scheduler", containers=containers)
    return Upserted(object=Pod(metadata=metadata, spec=spec, status=PodStatus(phase="Running")))
