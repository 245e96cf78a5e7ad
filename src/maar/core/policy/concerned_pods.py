"""Which pods the affinity of other pods may concern: those that a term of any pod in the cluster selects.

A pod that no term selects, and that has no constraints on other pods itself, goes where its shape
can go. In most clusters some pods have terms, CoreDNS for one, and nearly no term selects a pod of
a batch job.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from maar.core.policy.affinity_terms import TermReader, keys_read
from maar.core.policy.pod_selectors import PodSelector, SelectorIndex
from maar.core.policy.term_cache import TermCache
from maar.core.tables.rows import PodRow
from maar.core.tables.shapes import Labels


class ConcernedPods:
    """The pods that terms select, whether pods with these terms are on nodes or not."""

    def __init__(self, selectors: Iterable[PodSelector] = ()) -> None:
        self.selectors = frozenset(selectors)
        self._index = SelectorIndex[PodSelector]()
        for one in self.selectors:
            self._index.add(one, one)
        # The pod that was asked about last: pods of a group come together, and mostly have the same labels.
        self._namespace, self._is_selected = "", False
        self._labels: Labels | None = None

    def includes(self, pod: PodRow) -> bool:
        """Whether other pods could exclude or prefer nodes for a pod."""
        if pod.shape.has_affinity or not self.selectors:
            return pod.shape.has_affinity
        if pod.labels != self._labels or pod.namespace != self._namespace:
            self._namespace, self._labels = pod.namespace, pod.labels
            self._is_selected = bool(self._index.about(pod.namespace, pod.labels))
        return self._is_selected


NO_PODS: Final = ConcernedPods()


def concerned_pods(pods: Iterable[PodRow], labels_of: Mapping[str, Mapping[str, str]]) -> ConcernedPods:
    """The pods that the terms of some pods select, of namespaces with these labels."""
    terms_of = TermCache(keys_read, TermReader(labels_of).read).of
    selectors = dict[PodSelector, None]()
    for pod in pods:
        if pod.shape.affinity is not None:
            terms = terms_of(pod.shape, pod.namespace, pod.labels)
            selectors.update((term.pod_selector, None) for term in (*terms.apart, *terms.preferred))
    return ConcernedPods(selectors)
