"""Pods on nodes, and tallies of them: how many that a selector includes are in every domain of a topology.

A tally is made when it is first needed, kept up to date pod by pod, and forgotten when there are
too many. So are the masks of nodes that follow from it: when a count changes, only the nodes of
that domain do. Axis letters: D domains, that is distinct values of a node label.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from maar.core.fairshare.water_fill import Flags, Ints
from maar.core.policy.domain_masks import DomainMask, Domains
from maar.core.policy.pod_selectors import PodSelector, SelectorIndex
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.rows import PodRow

_MOST_TALLIES: Final = 512  # with 10,000 domains each, 50 MB
_MOST_TOPOLOGIES: Final = 256

Place = tuple[str, int]  # a pod's key and a node's index


@dataclass(frozen=True, eq=False)
class Eligible:
    """Nodes whose pods count for a spread, where those that are leaving do not."""

    nodes: Flags  # [N]


class Tally:
    """The number of selected pods, by domain."""

    def __init__(self, domains: Domains, eligible: Eligible | None) -> None:
        self.domains, self.eligible = domains, eligible
        self.counts: Ints = np.zeros(domains.missing + 1, np.int64)  # [D + 1] of nodes without the label: 0
        self.total = 0
        self._empty: DomainMask | None = None  # the domains without any, once they have been asked for
        self._within: DomainMask | None = None  # those that `within` gave last

    def count(self, pod: PodRow, node: int, sign: int) -> None:
        """Count a selected pod, or take it out."""
        if self.eligible is not None and (pod.is_terminating or not self.eligible.nodes[node]):
            return
        domain = self.domains.of(node)
        if domain != self.domains.missing:
            self.counts[domain] += sign
            self.total += sign
            if self._empty is not None:
                self._empty.put(domain, is_in=not self.counts[domain])

    @property
    def empty(self) -> Flags:
        """The nodes that have none in their domain, or no domain; not to be changed. [N]"""
        if self._empty is None:
            self._empty = DomainMask(self.domains, self.counts == 0)
        return self._empty.nodes

    def within(self, most: int) -> Flags:
        """The nodes that have so many in their domain at most, if they have one; not to be changed. [N]"""
        fine = self.counts <= most  # [D + 1]
        fine[-1] = False
        if self._within is None:
            self._within = DomainMask(self.domains, fine)
        else:
            self._within.become(fine)
        return self._within.nodes


class Tallies:
    """All pods on nodes, and the tallies that were needed so far.

    A pod that changes gets a new row, so that the row that came is the one that goes.
    """

    def __init__(self, columns: NodeColumns) -> None:
        self._columns = columns
        self._pods: list[dict[str, PodRow]] = [{} for _ in columns]
        self._by_label: dict[str, dict[str, dict[Place, PodRow]]] = {}  # of labels that tallies ask for
        self._tallies: dict[tuple[PodSelector, str, Eligible | None], Tally] = {}
        self._index = SelectorIndex[Tally]()
        self._domains: dict[str, Domains] = {}

    def domains(self, topology: str) -> Domains:
        """The domains of a topology."""
        found = self._domains.get(topology)
        if found is None:
            if len(self._domains) >= _MOST_TOPOLOGIES:
                self._domains.clear()
            found = self._domains[topology] = Domains(self._columns.label(topology))
        return found

    def has(self, pod: PodRow, node: int) -> bool:
        """Whether a pod is on a node."""
        return pod.key in self._pods[node]

    def add(self, pod: PodRow, node: int) -> None:
        """Put a pod on a node."""
        self._pods[node][pod.key] = pod
        if self._tallies:
            for key, value in pod.labels:
                if key in self._by_label:
                    self._by_label[key].setdefault(value, {})[pod.key, node] = pod
            for tally in self._index.about(pod.namespace, pod.labels):
                tally.count(pod, node, 1)

    def remove(self, pod: PodRow, node: int) -> PodRow | None:
        """Take a pod off a node and return it as it came; None where it is not there."""
        came = self._pods[node].pop(pod.key, None)
        if came is not None and self._tallies:
            for key, value in came.labels:
                if key in self._by_label:
                    pods = self._by_label[key][value]
                    del pods[came.key, node]
                    if not pods:
                        del self._by_label[key][value]
            for tally in self._index.about(came.namespace, came.labels):
                tally.count(came, node, -1)
        return came

    def of(self, pod_selector: PodSelector, topology: str, eligible: Eligible | None = None) -> Tally:
        """How many selected pods are in every domain of a topology, on eligible nodes or on all."""
        tally = self._tallies.get((pod_selector, topology, eligible))
        if tally is None:
            if len(self._tallies) >= _MOST_TALLIES:
                self._forget()
            tally = Tally(self.domains(topology), eligible)
            for pod, node in self._candidates(pod_selector):
                if pod_selector.includes(pod.namespace, dict(pod.labels)):
                    tally.count(pod, node, 1)
            self._tallies[pod_selector, topology, eligible] = tally
            self._index.add(tally, pod_selector)
        return tally

    def _candidates(self, pod_selector: PodSelector) -> Iterator[tuple[PodRow, int]]:
        """All pods that a selector may include."""
        if pod_selector.key is None:
            for node, pods in enumerate(self._pods):
                for pod in pods.values():
                    yield pod, node
            return
        key, values = pod_selector.key
        if key not in self._by_label:
            self._by_label[key] = self._values(key)
        for value in values:
            for (_, node), pod in self._by_label[key].get(value, {}).items():
                yield pod, node

    def _values(self, key: str) -> dict[str, dict[Place, PodRow]]:
        """The pods that have a label, by its value."""
        found: dict[str, dict[Place, PodRow]] = {}
        for node, pods in enumerate(self._pods):
            for pod in pods.values():
                for label, value in pod.labels:
                    if label == key:
                        found.setdefault(value, {})[pod.key, node] = pod
                        break
        return found

    def _forget(self) -> None:
        self._tallies.clear()
        self._by_label.clear()
        self._index = SelectorIndex()
