"""Topology spread: how evenly pods of one kind must or should lie over the domains of a topology."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from maar.core.fairshare.water_fill import Flags, Floats, Ints
from maar.core.model.affinity import NodeSelector, Toleration, TopologySpreadConstraint
from maar.core.policy.filters import affine, required_affinity, tolerated
from maar.core.policy.pod_selectors import PodSelector, pod_selector
from maar.core.policy.tallies import Eligible, Tallies, Tally
from maar.core.policy.term_cache import TermCache
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.rows import PodRow
from maar.core.tables.shapes import Labels, Shape

_MOST_ELIGIBLE: Final = 512


@dataclass(frozen=True, eq=False)
class SpreadRule:
    """A constraint as a pod means it."""

    pod_selector: PodSelector
    topology: str
    max_skew: int
    min_domains: int
    eligible: Eligible
    domains: npt.NDArray[np.intp]  # those with eligible nodes


@dataclass(frozen=True, eq=False)
class Rules:
    """What a pod's spread must keep to, and what it should."""

    hard: tuple[SpreadRule, ...]
    soft: tuple[SpreadRule, ...]


@dataclass(frozen=True)
class _Inclusion:
    """What decides whether a node counts: the topologies it must have, and which pods it is for."""

    topologies: tuple[str, ...]
    selector: Labels
    required: NodeSelector | None
    tolerations: tuple[Toleration, ...] | None  # None: taints do not matter


class Spread:
    """The spread constraints of pods, against what is on the nodes."""

    def __init__(self, columns: NodeColumns, tallies: Tallies) -> None:
        self._columns, self._tallies = columns, tallies
        self._term_cache = TermCache(_keys_read, self._read)
        self._eligible: dict[_Inclusion, Eligible] = {}

    def matters_to(self, pod: PodRow) -> bool:
        """Whether it could keep a pod off a node."""
        return any(one.when_unsatisfiable == "DoNotSchedule" for one in pod.shape.spread)

    def narrow(self, mask: Flags, pod: PodRow) -> None:
        """Leave out the nodes where one more such pod would lie too unevenly."""
        for rule in self._rules(pod).hard:
            tally = self._tallies.of(rule.pod_selector, rule.topology, rule.eligible)
            mask &= tally.within(_most(rule, tally, pod))

    def why_not(self, pod: PodRow, node: int) -> str:
        """The constraint that keeps a pod off a node, as a clause; empty where none does."""
        for rule in self._rules(pod).hard if pod.shape.spread else ():
            tally = self._tallies.of(rule.pod_selector, rule.topology, rule.eligible)
            domain = tally.domains.of(node)
            if domain == tally.domains.missing:
                return f"have no label {rule.topology}, which the topology spread needs"
            if tally.counts[domain] > _most(rule, tally, pod):
                return f"do not match the topology spread on {rule.topology} (max skew {rule.max_skew})"
        return ""

    def prefers(self, pod: PodRow) -> bool:
        """Whether a pod should lie evenly."""
        return any(one.when_unsatisfiable == "ScheduleAnyway" for one in pod.shape.spread)

    def score(self, pod: PodRow, among: Flags) -> tuple[Floats, Flags]:
        """How crowded the domains of every node are, and which nodes have all topologies. [N]

        As in Kubernetes a topology with many domains counts for more, as its domains are less crowded.
        """
        crowd, known = np.zeros(len(self._columns)), np.ones(len(self._columns), np.bool_)
        rules = self._rules(pod).soft
        for rule in rules:
            known &= self._tallies.domains(rule.topology).known
        for rule in rules:
            tally = self._tallies.of(rule.pod_selector, rule.topology, rule.eligible)
            weight = log(len(tally.domains.had_by(among & known)) + 2)
            crowd += (tally.counts * weight + (rule.max_skew - 1))[tally.domains.codes]
        return crowd, known

    def _rules(self, pod: PodRow) -> Rules:
        return self._term_cache.of(pod.shape, pod.namespace, pod.labels)

    # --- reading

    def _read(self, shape: Shape, namespace: str, labels: Mapping[str, str]) -> Rules:
        """Read a shape's constraints for a pod of a namespace with these labels."""

        def rules(when: Literal["DoNotSchedule", "ScheduleAnyway"]) -> tuple[SpreadRule, ...]:
            asked = [one for one in shape.spread if one.when_unsatisfiable == when]
            topologies = tuple(one.topology_key for one in asked)
            return tuple(self._rule(one, topologies, shape, namespace, labels) for one in asked)

        return Rules(rules("DoNotSchedule"), rules("ScheduleAnyway"))

    def _rule(
        self,
        constraint: TopologySpreadConstraint,
        topologies: tuple[str, ...],
        shape: Shape,
        namespace: str,
        labels: Mapping[str, str],
    ) -> SpreadRule:
        honours_affinity = constraint.node_affinity_policy == "Honor"
        eligible = self._included(
            _Inclusion(
                topologies=topologies,
                selector=shape.node_selector if honours_affinity else (),
                required=required_affinity(shape) if honours_affinity else None,
                tolerations=shape.tolerations if constraint.node_taints_policy == "Honor" else None,
            )
        )
        spaces = frozenset({namespace})
        return SpreadRule(
            pod_selector=pod_selector(constraint.label_selector, spaces, labels, constraint.match_label_keys),
            topology=constraint.topology_key,
            max_skew=constraint.max_skew,
            min_domains=constraint.min_domains,
            eligible=eligible,
            domains=self._columns.label(constraint.topology_key).had_by(eligible.nodes),
        )

    def _included(self, inclusion: _Inclusion) -> Eligible:
        known = self._eligible.get(inclusion)
        if known is None:
            if len(self._eligible) >= _MOST_ELIGIBLE:
                self._eligible.clear()
            nodes = affine(inclusion.selector, inclusion.required, self._columns)
            for topology in inclusion.topologies:
                nodes &= self._tallies.domains(topology).known
            if inclusion.tolerations is not None:
                nodes &= tolerated(inclusion.tolerations, self._columns)
            known = self._eligible[inclusion] = Eligible(nodes)
        return known


def _most(rule: SpreadRule, tally: Tally, pod: PodRow) -> int:
    """How many a domain may have before the pod comes, if the pod is to lie evenly enough there."""
    counts: Ints = tally.counts[rule.domains]
    fewest = int(np.minimum.reduce(counts)) if len(counts) >= max(rule.min_domains, 1) else 0
    counts_itself = rule.pod_selector.includes(pod.namespace, dict(pod.labels))
    return rule.max_skew + fewest - counts_itself


def _keys_read(shape: Shape) -> tuple[str, ...]:
    """The labels of its own pod that a shape's spread reads."""
    return tuple(dict.fromkeys(key for one in shape.spread for key in one.match_label_keys))
