"""Neighbours, the slow way: every rule as Kubernetes documents it, pod by pod and node by node."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import log

from maar.core.model.affinity import (
    Affinity,
    PodAffinity,
    PodAffinityTerm,
    Toleration,
    TopologySpreadConstraint,
)
from maar.core.model.metadata import LabelSelector, Requirement
from maar.core.model.node import Taint
from maar.core.tables.rows import NodeRow, PodRow

Labels = Mapping[str, str]


@dataclass
class SlowNeighbours:
    """Nodes, the labels of namespaces, and pods on nodes."""

    nodes: list[NodeRow]
    namespaces: Mapping[str, Labels]
    placed: dict[tuple[str, str], tuple[PodRow, NodeRow]] = field(default_factory=dict)

    def add(self, pod: PodRow, node: NodeRow) -> None:
        """Put a pod on a node."""
        self.placed[pod.key, node.name] = pod, node

    def remove(self, pod: PodRow, node: NodeRow) -> None:
        """Take a pod off a node."""
        self.placed.pop((pod.key, node.name), None)

    def verdicts(self, pod: PodRow, node: NodeRow) -> dict[str, bool]:
        """What every rule says of a pod on a node."""
        return {
            "ports": self._ports_are_free(pod, node),
            "affinity": self._is_near(pod, node),
            "anti-affinity": self._is_apart(pod, node),
            "anti-affinity of others": self._is_welcome(pod, node),
            "spread": self._lies_evenly(pod, node),
        }

    # --- host ports

    def _ports_are_free(self, pod: PodRow, node: NodeRow) -> bool:
        taken = [port for other, where in self.placed.values() if where is node for port in other.shape.ports]
        return not any(
            (protocol, number) == (other_protocol, other_number)
            and (address == other_address or "" in (address, other_address))
            for address, protocol, number in pod.shape.ports
            for other_address, other_protocol, other_number in taken
        )

    # --- affinity

    def _is_near(self, pod: PodRow, node: NodeRow) -> bool:
        """For every term one that meets all is in the node's domain, or the pod is the first of them."""
        terms = _near(pod).required_during_scheduling_ignored_during_execution
        if any(term.topology_key not in node.labels for term in terms):
            return False
        friends = [
            where for other, where in self.placed.values() if all(self.means(pod, t, other) for t in terms)
        ]
        if all(any(_together(node, where, term.topology_key) for where in friends) for term in terms):
            return True
        is_first = not any(term.topology_key in where.labels for where in friends for term in terms)
        return is_first and all(self.means(pod, term, pod) for term in terms)

    def _is_apart(self, pod: PodRow, node: NodeRow) -> bool:
        return not any(
            self.means(pod, term, other) and _together(node, where, term.topology_key)
            for term in _away(pod).required_during_scheduling_ignored_during_execution
            for other, where in self.placed.values()
        )

    def _is_welcome(self, pod: PodRow, node: NodeRow) -> bool:
        return not any(
            self.means(other, term, pod) and _together(node, where, term.topology_key)
            for other, where in self.placed.values()
            for term in _away(other).required_during_scheduling_ignored_during_execution
        )

    def means(self, pod: PodRow, term: PodAffinityTerm, other: PodRow) -> bool:
        """Whether a term of a pod speaks of another."""
        chosen = term.namespace_selector
        if not term.namespaces and chosen is None:
            is_there = other.namespace == pod.namespace
        else:
            is_there = other.namespace in term.namespaces or (
                chosen is not None
                and (chosen == LabelSelector() or other.namespace in self.namespaces)
                and _selects(chosen, self.namespaces.get(other.namespace, {}))
            )
        own, others = dict(pod.labels), dict(other.labels)
        return (
            is_there
            and _selects(term.label_selector, others)
            and all(others.get(key) == own[key] for key in term.match_label_keys if key in own)
            and all(others.get(key) != own[key] for key in term.mismatch_label_keys if key in own)
        )

    def affinity_weight(self, pod: PodRow, node: NodeRow) -> int:
        """What preferred terms make of a node: the pod's about others, and others' about the pod."""
        return sum(
            weight
            for other, where in self.placed.values()
            for one, about in ((pod, other), (other, pod))
            for term, weight in _preferences(one)
            if self.means(one, term, about) and _together(node, where, term.topology_key)
        )

    # --- spread

    def _lies_evenly(self, pod: PodRow, node: NodeRow) -> bool:
        hard = [one for one in pod.shape.spread if one.when_unsatisfiable == "DoNotSchedule"]
        for one in hard:
            if one.topology_key not in node.labels:
                return False
            counts = self._counts(pod, one, hard)
            fewest = min(counts.values()) if len(counts) >= max(one.min_domains, 1) else 0
            count = counts.get(node.labels[one.topology_key], 0)
            if count + _counts_for(pod, one, pod) - fewest > one.max_skew:
                return False
        return True

    def _counts(
        self, pod: PodRow, constraint: TopologySpreadConstraint, beside: list[TopologySpreadConstraint]
    ) -> dict[str, int]:
        """The matching pods in every eligible domain."""
        counts: dict[str, int] = {}
        for node in self.nodes:
            if all(one.topology_key in node.labels for one in beside) and _includes(constraint, pod, node):
                here = [other for other, where in self.placed.values() if where is node]
                matching = [
                    one for one in here if not one.is_terminating and _counts_for(pod, constraint, one)
                ]
                domain = node.labels[constraint.topology_key]
                counts[domain] = counts.get(domain, 0) + len(matching)
        return counts

    def crowd(self, pod: PodRow, node: NodeRow, among: list[NodeRow]) -> float | None:
        """How crowded a node's domains are, by the soft constraints; None where it lacks a topology."""
        soft = [one for one in pod.shape.spread if one.when_unsatisfiable == "ScheduleAnyway"]
        if any(one.topology_key not in node.labels for one in soft):
            return None
        known = [other for other in among if all(one.topology_key in other.labels for one in soft)]
        crowd = 0.0
        for one in soft:
            domains = {other.labels[one.topology_key] for other in known}
            count = self._counts(pod, one, soft).get(node.labels[one.topology_key], 0)
            crowd += count * log(len(domains) + 2) + one.max_skew - 1
        return crowd

    def score(self, pod: PodRow, among: list[NodeRow]) -> dict[str, float]:
        """The candidates' scores by name: preferred affinity and evenness, each 0 to 100 and twice."""
        weights = [self.affinity_weight(pod, node) for node in among]
        spans = max(weights, default=0) - min(weights, default=0)
        scores = {
            node.name: 200 * (weight - min(weights)) / spans if spans else 0.0
            for node, weight in zip(among, weights, strict=True)
        }
        if any(one.when_unsatisfiable == "ScheduleAnyway" for one in pod.shape.spread):
            crowds = {node.name: self.crowd(pod, node, among) for node in among}
            known = [crowd for crowd in crowds.values() if crowd is not None]
            most, least = max(known, default=0.0), min(known, default=0.0)
            for name, crowd in crowds.items():
                if crowd is not None:
                    scores[name] += 200 * (most + least - crowd) / most if most else 200
        return scores


def _together(node: NodeRow, other: NodeRow, topology: str) -> bool:
    return topology in node.labels and node.labels[topology] == other.labels.get(topology)


def _near(pod: PodRow) -> PodAffinity:
    return (pod.shape.affinity or Affinity()).pod_affinity or PodAffinity()


def _away(pod: PodRow) -> PodAffinity:
    return (pod.shape.affinity or Affinity()).pod_anti_affinity or PodAffinity()


def _preferences(pod: PodRow) -> Iterator[tuple[PodAffinityTerm, int]]:
    for sign, part in ((1, _near(pod)), (-1, _away(pod))):
        for one in part.preferred_during_scheduling_ignored_during_execution:
            yield one.pod_affinity_term, sign * one.weight


def _counts_for(pod: PodRow, constraint: TopologySpreadConstraint, other: PodRow) -> bool:
    own, others = dict(pod.labels), dict(other.labels)
    return (
        other.namespace == pod.namespace
        and _selects(constraint.label_selector, others)
        and all(others.get(key) == own[key] for key in constraint.match_label_keys if key in own)
    )


def _includes(constraint: TopologySpreadConstraint, pod: PodRow, node: NodeRow) -> bool:
    """Whether a node counts under the constraint's policies."""
    if constraint.node_affinity_policy == "Honor":
        node_affinity = (pod.shape.affinity or Affinity()).node_affinity
        required = node_affinity and node_affinity.required_during_scheduling_ignored_during_execution
        if any(node.labels.get(key) != value for key, value in pod.shape.node_selector):
            return False
        if required and not any(
            term.match_expressions and all(_meets(one, node.labels) for one in term.match_expressions)
            for term in required.node_selector_terms
        ):
            return False
    return constraint.node_taints_policy == "Ignore" or all(
        taint.effect == "PreferNoSchedule" or any(_tolerates(one, taint) for one in pod.shape.tolerations)
        for taint in node.taints
    )


def _selects(selector: LabelSelector | None, labels: Labels) -> bool:
    return (
        selector is not None
        and all(labels.get(key) == value for key, value in selector.match_labels.items())
        and all(_meets(one, labels) for one in selector.match_expressions)
    )


def _meets(requirement: Requirement, labels: Labels) -> bool:
    there = requirement.key in labels
    among = there and labels[requirement.key] in requirement.values
    answers = {"In": among, "NotIn": not among, "Exists": there, "DoesNotExist": not there}
    return answers.get(requirement.operator, False)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    return (
        toleration.key in ("", taint.key)
        and toleration.effect in ("", taint.effect)
        and (toleration.operator == "Exists" or toleration.value == taint.value)
    )
