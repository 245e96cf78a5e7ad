"""Pods that want to be near others or away from them, and others that say so of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from maar.core.fairshare.water_fill import Flags, Ints
from maar.core.policy.affinity_terms import NO_TERMS, Term, TermReader, Terms, keys_read
from maar.core.policy.pod_selectors import PodSelector, SelectorIndex
from maar.core.policy.selectors import HOSTNAME_LABEL
from maar.core.policy.tallies import Tallies, Tally
from maar.core.policy.term_cache import TermCache
from maar.core.tables.node_columns import Codes, NodeColumns
from maar.core.tables.rows import PodRow


@dataclass(frozen=True)
class DomainStart:
    """Pods that must be together and of which none is placed yet: the first one decides for all."""

    who: PodSelector
    domains: tuple[Codes, ...] = field(compare=False)  # [N] the numbers of each node's domains


@dataclass(eq=False)
class TermTally:
    """A term that pods on nodes have, and the weight it has in every domain that such pods are in."""

    term: Term
    weight_in: dict[int, int] = field(default_factory=dict)


class TermTallies:
    """The terms of pods on nodes, found by the pods that they select."""

    def __init__(self, columns: NodeColumns) -> None:
        self._columns = columns
        self._known: dict[tuple[PodSelector, str], TermTally] = {}
        self._index = SelectorIndex[TermTally]()

    def count(self, term: Term, node: int, sign: int) -> None:
        """Let a pod on a node have a term, or no longer."""
        domains = self._columns.label(term.topology)
        domain, key = domains[node], (term.pod_selector, term.topology)
        if domain == domains.missing:
            return
        term_tally = self._known.get(key)
        if term_tally is None:
            term_tally = self._known[key] = TermTally(term)
            self._index.add(term_tally, term.pod_selector)
        term_tally.weight_in[domain] = term_tally.weight_in.get(domain, 0) + sign * term.weight
        if not term_tally.weight_in[domain]:
            del term_tally.weight_in[domain]
        if not term_tally.weight_in:
            del self._known[key]
            self._index.discard(term_tally, term.pod_selector)

    def about(self, pod: PodRow) -> list[TermTally]:
        """The terms that select a pod."""
        return self._index.about(pod.namespace, pod.labels) if self._known else []


class PodAffinities:
    """Required and preferred pod affinity and anti-affinity, in both directions."""

    def __init__(
        self, columns: NodeColumns, tallies: Tallies, labels_of: Mapping[str, Mapping[str, str]]
    ) -> None:
        self._columns, self._tallies = columns, tallies
        self._term_cache = TermCache(keys_read, TermReader(labels_of).read)
        self._refusals = TermTallies(columns)  # required anti-affinity of pods on nodes
        self._wishes = TermTallies(columns)  # what they prefer

    def count(self, pod: PodRow, node: int, sign: int) -> None:
        """Let the terms of a pod on a node hold, or no longer."""
        terms = self._terms(pod)
        for term in terms.apart:
            self._refusals.count(term, node, sign)
        for term in terms.preferred:
            self._wishes.count(term, node, sign)

    def matters_to(self, pod: PodRow) -> bool:
        """Whether it could keep a pod off a node."""
        terms = self._terms(pod)
        return terms.together is not None or bool(terms.apart or self._refusals.about(pod))

    def narrow(self, mask: Flags, pod: PodRow) -> None:
        """Leave out the nodes that are too far from others or too near to them."""
        terms = self._terms(pod)
        near = self._near(terms)
        is_first = self._is_first(terms, near, pod)
        for tally in near:
            fine = tally.counts >= (0 if is_first else 1)  # [D + 1]
            fine[-1] = False
            mask &= fine[tally.domains.codes]
        for term in terms.apart:
            tally = self._tallies.of(term.pod_selector, term.topology)
            if tally.total:
                mask &= (tally.counts == 0)[tally.domains.codes]
        for topology, taken in self._refused(pod).items():
            domains = self._columns.label(topology)
            fine = np.ones(domains.missing + 1, np.bool_)
            fine[list(taken)] = False
            mask &= fine[domains.codes]

    def required_near(self, pod: PodRow) -> PodSelector | None:
        """The pods that a pod has to be near."""
        return self._terms(pod).together

    def keeps_alone(self, pod: PodRow) -> bool:
        """Whether two pods like this one keep each other off a node."""
        return any(
            term.pod_selector.includes(pod.namespace, dict(pod.labels)) for term in self._terms(pod).apart
        )

    def domain_start(self, pod: PodRow) -> DomainStart | None:
        """The pods that a pod must be near, where it would be the first of them."""
        terms = self._terms(pod)
        near = self._near(terms)
        if terms.together is None or not self._is_first(terms, near, pod):
            return None
        return DomainStart(terms.together, tuple(tally.domains.codes for tally in near))

    def allow_new_node(self, pod: PodRow) -> bool:
        """Whether a node that is yet to come could be in a domain where the pod has to be.

        A new node can be in any zone, but no pod that is there already can be on it.
        """
        terms = self._terms(pod)
        near = self._near(terms)
        if self._is_first(terms, near, pod):
            return True
        return all(
            topology != HOSTNAME_LABEL and tally.total
            for topology, tally in zip(terms.near, near, strict=True)
        )

    def must_share_node(self, pod: PodRow) -> bool:
        """Whether a pod has to be on one node with others."""
        return HOSTNAME_LABEL in self._terms(pod).near

    def why_not(self, pod: PodRow, node: int) -> str:
        """The term that keeps a pod off a node, as a clause; empty where none does."""
        terms = self._terms(pod)
        near = self._near(terms)
        is_first = self._is_first(terms, near, pod)
        for topology, tally in zip(terms.near, near, strict=True):
            domain = tally.domains[node]
            if domain == tally.domains.missing:
                return f"have no label {topology}, which the pod affinity needs"
            if not is_first and not tally.counts[domain]:
                return f"do not match the pod affinity on {topology}"
        for term in terms.apart:
            tally = self._tallies.of(term.pod_selector, term.topology)
            if tally.counts[tally.domains[node]]:
                return f"do not match the pod anti-affinity on {term.topology}"
        for topology, taken in sorted(self._refused(pod).items()):
            if self._columns.label(topology)[node] in taken:
                return f"have pods whose anti-affinity on {topology} keeps the pod away"
        return ""

    def prefers(self, pod: PodRow) -> bool:
        """Whether a pod prefers some nodes to others, or pods on nodes do so for it."""
        return bool(self._terms(pod).preferred or self._wishes.about(pod))

    def score(self, pod: PodRow) -> Ints:
        """The weight of all terms that hold on every node, for the pod less against it. [N]"""
        by_topology: dict[str, Ints] = {}
        for term in self._terms(pod).preferred:
            sums = self._sums(by_topology, term.topology)
            sums += term.weight * self._tallies.of(term.pod_selector, term.topology).counts
        for term_tally in self._wishes.about(pod):
            sums = self._sums(by_topology, term_tally.term.topology)
            sums[list(term_tally.weight_in)] += list(term_tally.weight_in.values())
        score = np.zeros(len(self._columns), np.int64)
        for topology, sums in by_topology.items():
            score += sums[self._columns.label(topology).codes]
        return score

    def _terms(self, pod: PodRow) -> Terms:
        if pod.shape.affinity is None:
            return NO_TERMS
        return self._term_cache.of(pod.shape, pod.namespace, pod.labels)

    def _sums(self, by_topology: dict[str, Ints], topology: str) -> Ints:
        if topology not in by_topology:
            by_topology[topology] = np.zeros(self._columns.label(topology).missing + 1, np.int64)
        return by_topology[topology]

    def _near(self, terms: Terms) -> list[Tally]:
        if terms.together is None:
            return []
        return [self._tallies.of(terms.together, topology) for topology in terms.near]

    def _is_first(self, terms: Terms, near: list[Tally], pod: PodRow) -> bool:
        """Whether a pod that wants to be near its like is the first of them, and so may start anywhere."""
        return (
            terms.together is not None
            and not any(tally.total for tally in near)
            and terms.together.includes(pod.namespace, dict(pod.labels))
        )

    def _refused(self, pod: PodRow) -> dict[str, set[int]]:
        """The domains, by topology, in which pods keep this one away."""
        taken: dict[str, set[int]] = {}
        for term_tally in self._refusals.about(pod):
            taken.setdefault(term_tally.term.topology, set()).update(term_tally.weight_in)
        return taken
