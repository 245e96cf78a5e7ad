"""Pods that want to be near others or away from them, and others that say so of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from maar.core.fairshare.water_fill import Flags, Ints
from maar.core.policy.affinity_terms import NO_TERMS, Term, TermReader, Terms, keys_read
from maar.core.policy.domain_masks import DomainMask, Domains
from maar.core.policy.pod_selectors import PodSelector, SelectorIndex
from maar.core.policy.selectors import HOSTNAME_LABEL
from maar.core.policy.tallies import Tallies, Tally
from maar.core.policy.term_cache import TermCache
from maar.core.tables.node_columns import Codes, NodeColumns
from maar.core.tables.rows import PodRow

_MOST_MASKS: Final = 512  # of terms; with 10,000 nodes each, 5 MB


@dataclass(frozen=True)
class DomainStart:
    """Pods that must be together and of which none is placed yet: the first one decides for all."""

    who: PodSelector
    domains: tuple[Codes, ...] = field(compare=False)  # [N] the numbers of each node's domains


@dataclass(eq=False)
class TermTally:
    """A term that pods on nodes have, and the weight it has in every domain that such pods are in."""

    term: Term
    domains: Domains
    weight_in: dict[int, int] = field(default_factory=dict)


class TermTallies:
    """The terms of pods on nodes, found by the pods that they select."""

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies
        self._known: dict[tuple[PodSelector, str], TermTally] = {}
        self._index = SelectorIndex[TermTally]()
        self._free: dict[TermTally, DomainMask] = {}  # the domains where it has no weight

    def count(self, term: Term, node: int, sign: int) -> None:
        """Let a pod on a node have a term, or no longer."""
        domains = self._tallies.domains(term.topology)
        domain, key = domains.of(node), (term.pod_selector, term.topology)
        if domain == domains.missing:
            return
        term_tally = self._known.get(key)
        if term_tally is None:
            term_tally = self._known[key] = TermTally(term, domains)
            self._index.add(term_tally, term.pod_selector)
        weight_in = term_tally.weight_in
        weight_in[domain] = weight_in.get(domain, 0) + sign * term.weight
        if term_tally in self._free:
            self._free[term_tally].put(domain, is_in=not weight_in[domain])
        if not weight_in[domain]:
            del weight_in[domain]
        if not term_tally.weight_in:
            del self._known[key]
            self._free.pop(term_tally, None)
            self._index.discard(term_tally, term.pod_selector)

    def about(self, pod: PodRow) -> list[TermTally]:
        """The terms that select a pod."""
        return self._index.about(pod.namespace, pod.labels) if self._known else []

    def free(self, term_tally: TermTally) -> Flags:
        """The nodes in whose domain no pod has the term; not to be changed. [N]"""
        mask = self._free.get(term_tally)
        if mask is None:
            if len(self._free) >= _MOST_MASKS:
                self._free.clear()
            are_free = np.ones(term_tally.domains.missing + 1, np.bool_)
            are_free[list(term_tally.weight_in)] = False
            mask = self._free[term_tally] = DomainMask(term_tally.domains, are_free)
        return mask.nodes


class PodAffinities:
    """Required and preferred pod affinity and anti-affinity, in both directions."""

    def __init__(
        self, columns: NodeColumns, tallies: Tallies, labels_of: Mapping[str, Mapping[str, str]]
    ) -> None:
        self._columns, self._tallies = columns, tallies
        self._term_cache = TermCache(keys_read, TermReader(labels_of).read)
        self._refusals = TermTallies(tallies)  # required anti-affinity of pods on nodes
        self._wishes = TermTallies(tallies)  # what they prefer

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
            mask &= tally.domains.known if is_first else ~tally.empty
        for term in terms.apart:
            mask &= self._tallies.of(term.pod_selector, term.topology).empty
        for term_tally in self._refusals.about(pod):
            mask &= self._refusals.free(term_tally)

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
            domain = tally.domains.of(node)
            if domain == tally.domains.missing:
                return f"have no label {topology}, which the pod affinity needs"
            if not is_first and not tally.counts[domain]:
                return f"do not match the pod affinity on {topology}"
        for term in terms.apart:
            tally = self._tallies.of(term.pod_selector, term.topology)
            if tally.counts[tally.domains.of(node)]:
                return f"do not match the pod anti-affinity on {term.topology}"
        for term_tally in sorted(self._refusals.about(pod), key=lambda one: one.term.topology):
            if term_tally.domains.of(node) in term_tally.weight_in:
                return f"have pods whose anti-affinity on {term_tally.term.topology} keeps the pod away"
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
            score += sums[self._tallies.domains(topology).codes]
        return score

    def _terms(self, pod: PodRow) -> Terms:
        if pod.shape.affinity is None:
            return NO_TERMS
        return self._term_cache.of(pod.shape, pod.namespace, pod.labels)

    def _sums(self, by_topology: dict[str, Ints], topology: str) -> Ints:
        if topology not in by_topology:
            by_topology[topology] = np.zeros(self._tallies.domains(topology).missing + 1, np.int64)
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
