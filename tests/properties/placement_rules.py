"""Where a pod may run (docs/specification/cycle.md, filters), rule by rule, as Kubernetes defines them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from maar.core.model.affinity import (
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    Toleration,
    TopologySpreadConstraint,
)
from maar.core.model.metadata import LabelSelector, Requirement
from maar.core.model.node import Node, Taint
from maar.core.model.pod import ContainerPort, Pod
from maar.core.model.queue import DEFAULT
from properties.cluster_reading import Moment

Labels = Mapping[str, str]
Neighbours = Collection[tuple[Pod, Node]]


def misplaced(moment: Moment, pod: Pod, node: Node) -> Iterator[str]:
    """Say why a pod may not be on a node, given who else is where; the pod's own place is not looked at.

    Room is not looked at either: that is a matter of the whole node.
    """
    yield from misplaced_by_itself(pod, node)
    pods, nodes = moment.reading.pods, moment.reading.nodes
    there = [(pods[key], nodes[where]) for key, where in moment.places.items() if key != pod.key]
    neighbours = [other for other, where in there if where is node]
    if any(clash(port, other) for one in neighbours for other in host_ports(one) for port in host_ports(pod)):
        yield "a host port is taken"
    yield from unloved(pod, node, there)
    if not finds_its_own(pod, node, there):
        yield "the pods that it wants to be with are not there"


def misplaced_by_itself(pod: Pod, node: Node) -> Iterator[str]:
    """Say why a pod may not be on a node, whoever else is where."""
    if not node.is_ready:
        yield "the node is not ready"
    if node.spec.unschedulable:
        yield "the node is unschedulable"
    if not suits(pod, node):
        yield "its node selector or node affinity does not match"
    if any(taint.effect != "PreferNoSchedule" and not is_tolerated(taint, pod) for taint in node.spec.taints):
        yield "it does not tolerate a taint"


def unloved(pod: Pod, node: Node, there: Neighbours) -> Iterator[str]:
    """Required anti-affinity, of the pod and of those who are there."""
    for other, where in there:
        for term in required(pod, anti=True):
            if is_meant(term, pod, other) and is_same_domain(term, node, where):
                yield f"it keeps away from {other.key}"
        for term in required(other, anti=True):
            if is_meant(term, other, pod) and is_same_domain(term, node, where):
                yield f"{other.key} keeps away from it"


def finds_its_own(pod: Pod, node: Node, there: Neighbours) -> bool:
    """Required pod affinity; the first of pods that want to be together may go where the topology is."""
    terms = required(pod, anti=False)
    if all(
        any(is_meant(term, pod, other) and is_same_domain(term, node, where) for other, where in there)
        for term in terms
    ):
        return True
    has_topology = all(term.topology_key in node.metadata.labels for term in terms)
    return has_topology and not joins_others(pod, [other for other, _ in there])


def joins_others(pod: Pod, there: Collection[Pod]) -> bool:
    """Whether required pod affinity lets a pod start only beside others, those there or some to come."""
    terms = required(pod, anti=False)
    is_first = all(is_meant(term, pod, pod) for term in terms)
    return not is_first or any(is_meant(term, pod, other) for term in terms for other in there)


def suits(pod: Pod, node: Node) -> bool:
    """NodeSelector and required node affinity."""
    if not pod.spec.node_selector.items() <= node.metadata.labels.items():
        return False
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    selector = affinity and affinity.required_during_scheduling_ignored_during_execution
    return not selector or any(meets(term, node) for term in selector.node_selector_terms)


def meets(term: NodeSelectorTerm, node: Node) -> bool:
    """A term without requirements is met by no node."""
    fields = {"metadata.name": node.metadata.name}
    lines = [*((one, node.metadata.labels) for one in term.match_expressions)]
    lines += [(one, fields) for one in term.match_fields]
    return bool(lines) and all(holds(one, labels) for one, labels in lines)


OPERATORS: Final[dict[str, Callable[[str | None, Collection[str]], bool]]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: value is not None and int(value) > int(next(iter(values))),
    "Lt": lambda value, values: value is not None and int(value) < int(next(iter(values))),
}


def holds(requirement: Requirement, labels: Labels) -> bool:
    """One line of a selector."""
    return OPERATORS[requirement.operator](labels.get(requirement.key), requirement.values)


def selects(selector: LabelSelector | None, labels: Labels) -> bool:
    """No selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    return selector.match_labels.items() <= labels.items() and all(
        holds(one, labels) for one in selector.match_expressions
    )


def is_tolerated(taint: Taint, pod: Pod) -> bool:
    """Whether one of the pod's tolerations covers the taint."""
    return any(covers(one, taint) for one in pod.spec.tolerations)


def covers(toleration: Toleration, taint: Taint) -> bool:
    """Empty means any; without a key only `Exists` covers."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (bool(toleration.key) and toleration.value == taint.value)


def host_ports(pod: Pod) -> list[ContainerPort]:
    """What the pod takes of its node's ports."""
    return [port for one in pod.spec.containers for port in one.ports if port.host_port]


def clash(one: ContainerPort, other: ContainerPort) -> bool:
    """The same port and protocol, on the same address or on all."""
    everywhere = ("", "0.0.0.0")  # noqa: S104
    same_address = one.host_ip == other.host_ip or one.host_ip in everywhere or other.host_ip in everywhere
    return same_address and (one.host_port, one.protocol) == (other.host_port, other.protocol)


def required(pod: Pod, *, anti: bool) -> tuple[PodAffinityTerm, ...]:
    """The required terms of pod affinity or anti-affinity."""
    affinity = pod.spec.affinity
    found: PodAffinity | None = None
    if affinity:
        found = affinity.pod_anti_affinity if anti else affinity.pod_affinity
    return found.required_during_scheduling_ignored_during_execution if found else ()


def is_meant(term: PodAffinityTerm, owner: Pod, other: Pod) -> bool:
    """Whether a term of the owner's means the other pod; random clusters select no namespaces."""
    namespaces = term.namespaces or (owner.metadata.namespace or DEFAULT,)
    return (other.metadata.namespace or DEFAULT) in namespaces and selects(
        term.label_selector, other.metadata.labels
    )


def is_same_domain(term: PodAffinityTerm, node: Node, other: Node) -> bool:
    """Whether two nodes count as together; without the label a node is in no domain."""
    value = node.metadata.labels.get(term.topology_key)
    return value is not None and value == other.metadata.labels.get(term.topology_key)


def skew(moment: Moment, pod: Pod, constraint: TopologySpreadConstraint) -> dict[str, int]:
    """How many pods that the constraint means are in each domain that the pod could go to."""
    domains = dict[str, int]()
    for node in moment.reading.nodes.values():
        domain = node.metadata.labels.get(constraint.topology_key)
        if domain is None or not suits(pod, node):
            continue
        here = [
            other
            for key, where in moment.places.items()
            if where == node.metadata.name
            and (other := moment.reading.pods[key]).metadata.namespace == pod.metadata.namespace
            and selects(constraint.label_selector, other.metadata.labels)
        ]
        domains[domain] = domains.get(domain, 0) + len(here)
    return domains


def spread_breaches(moment: Moment, pod: Pod, node: Node) -> Iterator[str]:
    """Say where a placed pod leaves its domain fuller than `maxSkew` allows."""
    for constraint in pod.spec.topology_spread_constraints:
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        domain = node.metadata.labels.get(constraint.topology_key)
        domains = skew(moment, pod, constraint)
        if domain is None:
            yield f"the node has no {constraint.topology_key}"
        elif domains.get(domain, 0) - min(domains.values(), default=0) > constraint.max_skew:
            yield f"{constraint.topology_key} {domain} has {domains[domain]} of {domains}"
