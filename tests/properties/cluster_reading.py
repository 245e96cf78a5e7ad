"""A snapshot as the definitions of docs/specification read it, slowly and knowing nothing of the engine.

`Reading` is what does not change while a cycle decides: objects, the tree, the budget, what queues deserve.
`Moment` is where the pods are: a value, from which what everybody uses, holds and lacks is counted anew.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeVar

from maar.core.fairshare.queue_demand import HUNDRED_PERCENT, QueueDemand
from maar.core.model.disruption_budget import PodDisruptionBudget
from maar.core.model.metadata import Object, mark
from maar.core.model.namespace import ResourceQuota
from maar.core.model.node import Node
from maar.core.model.pod import GROUP_ANNOTATION, PREEMPTABLE_MARK, Pod
from maar.core.model.pod_group import READY_ANNOTATION, PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import DEFAULT, ROOT, Queue
from maar.core.model.resources import PODS
from properties.definitions import (
    Amounts,
    asked_by_first,
    falls_short,
    is_there,
    lacking,
    number,
    ratio,
    resources_of_pods,
    tolerates,
    total,
)
from properties.slow_fairshare import Share, share_out
from properties.slow_past_use import namespace_factor, queue_factors

NodeChooser = Mapping[str, str]  # pod -> node
SYSTEM_CRITICAL: Final = ("system-cluster-critical", "system-node-critical")
ADMITTED_PHASES: Final = {"Inqueue", "Running", "Unknown"}

ObjectT = TypeVar("ObjectT", bound=Object)


class Reading:
    """The objects of a snapshot, and what follows from them alone."""

    def __init__(self, objects: Iterable[Object]) -> None:
        things = list(objects)
        self.nodes, self.pods = _named(Node, things), _named(Pod, things)
        self.groups, self.classes = _named(PodGroup, things), _named(PriorityClass, things)
        self.budgets = _named(PodDisruptionBudget, things)
        self.queues = {ROOT: Queue(), DEFAULT: Queue(), **_named(Queue, things)}
        self.weights = Counter[str]()
        for quota in _named(ResourceQuota, things).values():
            name = quota.metadata.namespace or DEFAULT
            self.weights[name] = max(self.weights[name], quota.weight)
        self._read_tree()
        self._read_pods()
        self.budget = self._budget()
        self.claims = {name: self._claim(name) for name in self.path}
        self.factors = queue_factors(self.queues, self.children)
        self.shares: dict[str, Share] = share_out(self.claims.values(), self.budget, self.factors)

    # --- the tree

    def _read_tree(self) -> None:
        paths = {name: self._path(name) for name in self.queues}
        self.path = {name: path for name, path in paths.items() if path is not None}
        self.children: dict[str, list[str]] = {name: [] for name in self.path}
        for name in self.path:
            if name != ROOT:
                self.children[self.queues[name].parent].append(name)
        self.leaves = [name for name, below in self.children.items() if name != ROOT and not below]

    def _path(self, name: str) -> list[str] | None:
        """The queue and those above it, the root left out; None where they do not lead to the root."""
        path = list[str]()
        while name != ROOT:
            if name not in self.queues or name in path:
                return None
            path.append(name)
            name = self.queues[name].parent
        return path

    # --- pods and groups

    def _read_pods(self) -> None:
        self.pods_of: dict[str, list[Pod]] = {key: [] for key in self.groups}
        self.group_of: dict[str, str] = {}
        for key, pod in self.pods.items():
            name = pod.metadata.annotations.get(GROUP_ANNOTATION, "")
            group = f"{pod.metadata.namespace or DEFAULT}/{name}"
            if group in self.groups:
                self.pods_of[group].append(pod)
                self.group_of[key] = group
        for pods in self.pods_of.values():
            pods.sort(key=lambda pod: (-self.pod_priority(pod), number(pod), pod.key))

    def is_finished(self, group: str) -> bool:
        """The phase follows the pods; where there are none, the stored one counts."""
        pods = self.pods_of[group]
        return (
            all(pod.is_finished for pod in pods) if pods else self.groups[group].status.phase == "Completed"
        )

    def phase(self, group: str) -> str:
        """The phase with which a cycle finds a group; who has a pod in a place has been let in."""
        stored, pods = self.groups[group].status.phase, self.pods_of[group]
        if self.is_finished(group):
            return "Completed"
        on_nodes = any(pod.spec.node_name and not pod.is_finished for pod in pods)
        in_places = any(pod.key in self.at_first.places for pod in pods)
        if stored in ADMITTED_PHASES and (on_nodes or in_places):
            return stored
        return "Inqueue" if in_places or stored == "Inqueue" else "Pending"

    def leaf_of(self, pod: str) -> str | None:
        """The leaf queue that a pod counts in, if any."""
        group = self.group_of.get(pod)
        leaf = self.groups[group].spec.queue if group else ""
        return leaf if leaf in self.leaves else None

    def pod_priority(self, pod: Pod) -> int:
        """The pod's own priority, as the API server writes it."""
        return pod.spec.priority or 0

    def priority(self, group: PodGroup) -> int:
        """The priority of a job: that of its class."""
        found = self.classes.get(group.spec.priority_class_name)
        return found.value if found else 0

    def namespace(self, group: PodGroup) -> str:
        """The namespace of a job."""
        return group.metadata.namespace or DEFAULT

    def weight(self, namespace: str) -> int:
        """The largest weight among its quotas, at least 1."""
        return max(1, self.weights[namespace])

    def is_protected(self, pod: Pod) -> bool:
        """Law 5: by its own word before its group's, or as a system-critical or kube-system pod."""
        own = mark(pod.metadata, PREEMPTABLE_MARK)
        word = (
            own if own is not None else mark(self.groups[self.group_of[pod.key]].metadata, PREEMPTABLE_MARK)
        )
        is_critical = (
            pod.metadata.namespace == "kube-system" or pod.spec.priority_class_name in SYSTEM_CRITICAL
        )
        return is_critical or (word or "").lower() == "false"

    def is_on_ready_node(self, pod: Pod) -> bool:
        """Used: pods on nodes that are not ready count nowhere."""
        node = self.nodes.get(pod.spec.node_name)
        return node is not None and node.is_ready and not pod.is_finished

    @cached_property
    def usable_nodes(self) -> list[Node]:
        """Ready, schedulable nodes."""
        return [node for node in self.nodes.values() if node.is_ready and not node.spec.unschedulable]

    # --- the budget and the claims

    def _budget(self) -> Amounts:
        shared = [node for node in self.usable_nodes if self.is_tolerated(node)]
        budget = total(node.status.allocatable for node in shared)
        for key, pod in self.pods.items():
            if self.is_on_ready_node(pod):
                is_shared = self.nodes[pod.spec.node_name] in shared
                is_ours = self.leaf_of(key) is not None
                if is_shared and not is_ours:
                    budget.subtract(pod.request)
                elif is_ours and not is_shared:
                    budget.update(pod.request)
        return Amounts({resource: max(0, units) for resource, units in budget.items()})

    def is_tolerated(self, node: Node) -> bool:
        """Whether a live pod of a leaf queue could be there, for all that the node's taints say."""
        keeping_out = [taint for taint in node.spec.taints if taint.effect in ("NoSchedule", "NoExecute")]
        ours = [
            pod
            for key, pod in self.pods.items()
            if self.leaf_of(key) and is_there(pod) and not pod.is_terminating
        ]
        return not keeping_out or any(
            all(any(tolerates(one, taint) for one in pod.spec.tolerations) for taint in keeping_out)
            for pod in ours
        )

    def to_start(self, key: str) -> Amounts | None:
        """Needs to start: minResources without quota names, and at least what the pods it needs ask for."""
        spec = self.groups[key].spec
        if spec.min_resources is None:
            return None
        least, gated = resources_of_pods(spec.min_resources), Amounts()
        staying = [pod for pod in self.pods_of[key] if not pod.is_finished and not pod.is_terminating]
        first = asked_by_first(spec.min_member, self.pods_of[key])
        gated.update(total(pod.request for pod in staying if not is_there(pod)))
        if PODS not in least:
            del first[PODS]
        return Amounts({one: units - gated[one] for one, units in least.items()}) | first

    def _claim(self, name: str) -> QueueDemand:
        queue, created = self.queues[name], self.queues[name].metadata.creation_timestamp
        request: Mapping[str, int] = self._leaf_request(name)
        if queue.spec.request is not None:  # nobody declares how many pods they will have
            request = {PODS: request.get(PODS, 0), **queue.spec.request}
        return QueueDemand(
            name=name,
            parent=queue.parent,
            weight=queue.spec.weight,
            guarantee=queue.spec.guarantee.resource,
            percentage=queue.spec.guarantee.percentage,
            soft_guarantee=queue.spec.deserved,
            capability=queue.spec.capability,
            request=request,
            created=created.timestamp() if created else 0.0,
        )

    def _leaf_request(self, leaf: str) -> Amounts:
        request = Amounts()
        for key, group in self.groups.items():
            if group.spec.queue == leaf and not self.is_finished(key):
                live = [pod for pod in self.pods_of[key] if is_there(pod) and not pod.is_terminating]
                request.update(total(pod.request for pod in live) | (self.to_start(key) or Amounts()))
        return request

    def guarantee(self, name: str, resource: str) -> int:
        """The guarantee in force."""
        return self.shares[name].guarantee.get(resource, 0)

    def own_guarantee(self, name: str, resource: str) -> int:
        """What the queue itself declares, as far as it is in force."""
        claim = self.claims[name]
        part = self.budget[resource] * claim.percentage.get(resource, 0) // HUNDRED_PERCENT
        return min(max(claim.guarantee.get(resource, 0), part), self.guarantee(name, resource))

    def names_in_guarantee(self, name: str) -> set[str]:
        """The resources that a queue's own guarantee names."""
        return {*self.claims[name].guarantee, *self.claims[name].percentage}

    def deserved(self, name: str, resource: str) -> int:
        """What the water-filling gives the queue."""
        return self.shares[name].deserved.get(resource, 0)

    def real_capability(self, name: str, resource: str) -> int:
        """The ceiling in force."""
        return self.shares[name].real_capability.get(resource, 0)

    def dominant(self, used: Mapping[str, int]) -> Fraction | float:
        """The dominant share of the cluster's total."""
        return max((ratio(units, self.budget[one]) for one, units in used.items()), default=Fraction(0))

    @cached_property
    def at_first(self) -> "Moment":
        """Terminating pods count as gone and nominated pods as placed on their node."""
        places = dict[str, str]()
        for key, pod in self.pods.items():
            place = pod.spec.node_name or pod.status.nominated_node_name
            if place in self.nodes and not pod.is_finished and not pod.is_terminating:
                places[key] = place
        return Moment(self, places)


@dataclass(frozen=True)
class Moment:
    """Who is where, at some point of a cycle: on a node, or promised room there."""

    reading: Reading
    places: NodeChooser

    def without(self, pods: Collection[str]) -> "Moment":
        """Return the moment with these pods gone."""
        return replace(self, places={key: node for key, node in self.places.items() if key not in pods})

    def with_places(self, places: NodeChooser) -> "Moment":
        """Return the moment with these pods in their places."""
        return replace(self, places={**self.places, **places})

    @cached_property
    def holders(self) -> list[str]:
        """The pods that hold something: those on ready nodes."""
        nodes = self.reading.nodes
        return [pod for pod, node in self.places.items() if nodes[node].is_ready]

    @cached_property
    def used(self) -> dict[str, Amounts]:
        """What each queue uses, ancestors included."""
        used = {name: Amounts() for name in self.reading.path}
        for key in self.holders:
            leaf = self.reading.leaf_of(key)
            for name in self.reading.path[leaf] if leaf else ():
                used[name].update(self.reading.pods[key].request)
        return used

    @cached_property
    def used_by_group(self) -> dict[str, Amounts]:
        """What the pods of each group hold."""
        used = {key: Amounts() for key in self.reading.groups}
        for key in self.holders:
            if key in self.reading.group_of:
                used[self.reading.group_of[key]].update(self.reading.pods[key].request)
        return used

    def used_by_namespace(self, leaf: str, namespace: str) -> Amounts:
        """What a namespace uses in this queue."""
        reading = self.reading
        return total(
            self.used_by_group[key]
            for key, group in reading.groups.items()
            if group.spec.queue == leaf and reading.namespace(group) == namespace
        )

    @cached_property
    def on_nodes(self) -> dict[str, Amounts]:
        """What is taken on each node."""
        taken = {name: Amounts() for name in self.reading.nodes}
        for key, node in self.places.items():
            taken[node].update(self.reading.pods[key].request)
        return taken

    def idle(self, node: str) -> Amounts:
        """What a node has left."""
        left = Amounts(self.reading.nodes[node].status.allocatable)
        left.subtract(self.on_nodes[node])
        return left

    def share(self, queue: str, resources: Iterable[str] | None = None) -> Fraction | float:
        """Share, on some resources or on all."""
        used = self.used[queue]
        among = list(used) if resources is None else list(resources)
        return max(
            (ratio(used[one], self.reading.deserved(queue, one)) for one in among), default=Fraction(0)
        )

    def namespace_share(self, leaf: str, namespace: str) -> Fraction | float:
        """The dominant share of what a namespace uses in this queue, per weight."""
        share = self.reading.dominant(self.used_by_namespace(leaf, namespace))
        return share / (self.reading.weight(namespace) * namespace_factor(self.reading, leaf, namespace))

    def job_share(self, group: str) -> Fraction | float:
        """The DRF share of a job."""
        return self.reading.dominant(self.used_by_group[group])

    def is_overused(self, queue: str, resources: Iterable[str]) -> bool:
        """Overused, on one of these resources."""
        used = self.used[queue]
        return any(used[one] > self.reading.deserved(queue, one) for one in resources)

    def held(self, queue: str, resource: str) -> int:
        """Held: what no other queue may take."""
        reading = self.reading
        if queue in reading.leaves:
            return max(self.used[queue][resource], reading.guarantee(queue, resource))
        below = sum(self.held(child, resource) for child in reading.children[queue])
        return max(reading.own_guarantee(queue, resource), below)

    # --- groups

    def running(self, group: str) -> list[Pod]:
        """The pods of a group that are on a node by themselves, not by promise, and could be victims."""
        return [p for p in self.reading.pods_of[group] if p.key in self.places and p.spec.node_name]

    def placed(self, group: str) -> list[Pod]:
        """The pods that count towards `minMember`: in a place, or succeeded."""
        pods = self.reading.pods_of[group]
        return [pod for pod in pods if pod.key in self.places or pod.status.phase == "Succeeded"]

    def waiting(self, group: str) -> list[Pod]:
        """The pods without a place, in the order in which they are placed."""
        return [
            pod
            for pod in self.reading.pods_of[group]
            if pod.key not in self.places
            and is_there(pod)
            and not (pod.spec.node_name or pod.is_finished or pod.is_terminating)
        ]

    def missing(self, group: str) -> tuple[int, dict[str, int]]:
        """How many pods, and how many of each task, a group lacks to be ready."""
        return lacking(self.reading.groups[group], self.placed(group))

    def is_ready(self, group: str) -> bool:
        """Ready: enough of its pods have a place."""
        return self.missing(group) == (0, {})

    def standing_minimum(self, group: str) -> int:
        """Standing minimum: minMember, or the one it was last ready with where that is less."""
        one = self.reading.groups[group]
        last = int(one.metadata.annotations.get(READY_ANNOTATION, one.spec.min_member))
        return one.spec.min_member if self.is_ready(group) else min(last, one.spec.min_member)

    def is_starving(self, group: str) -> bool:
        """Starving, of a group that holds pods."""
        return falls_short(self.reading.groups[group], self.standing_minimum(group), self.placed(group))


def _named(kind: type[ObjectT], objects: Iterable[Object]) -> dict[str, ObjectT]:
    return {one.key: one for one in objects if isinstance(one, kind)}
