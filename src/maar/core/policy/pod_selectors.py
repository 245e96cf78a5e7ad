"""Pod selectors: the pods that a term or a constraint selects, and an index from pods to selectors."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Generic, TypeVar

from maar.core.model.affinity import PodAffinityTerm
from maar.core.model.metadata import LabelSelector, Requirement
from maar.core.policy.selectors import LABEL_OPERATORS, match_selector, meets, requirements
from maar.core.tables.shapes import Labels

T = TypeVar("T")

Namespaces = frozenset[str] | None  # None: all of them


@dataclass(frozen=True)
class PodSelector:
    """Pods of some namespaces whose labels meet every requirement."""

    namespaces: Namespaces
    requirements: tuple[Requirement, ...] = ()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Its hash, which tallies are looked up by for every pod that is placed."""
        return hash((self.namespaces, self.requirements))

    @cached_property
    def key(self) -> tuple[str, tuple[str, ...]] | None:
        """A label that all its pods have, and the values they may have there, as few as there are."""
        named = [
            (one.key, tuple(dict.fromkeys(one.values))) for one in self.requirements if one.operator == "In"
        ]
        return min(named, key=lambda one: len(one[1]), default=None)

    def includes(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a pod belongs to it."""
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        for one in self.requirements:  # noqa: SIM110 (it is asked for every pod that is placed)
            if not meets(one, labels.get(one.key), LABEL_OPERATORS):
                return False
        return True

    def both(self, other: "PodSelector") -> "PodSelector":
        """The pods that belong to this and to the other."""
        if self.namespaces is None or other.namespaces is None:
            shared = other.namespaces if self.namespaces is None else self.namespaces
        else:
            shared = self.namespaces & other.namespaces
        return PodSelector(shared, self.requirements + other.requirements)


NO_PODS: Final = PodSelector(frozenset())


def pod_selector(
    selector: LabelSelector | None,
    namespaces: Namespaces,
    labels: Mapping[str, str],
    match_keys: Iterable[str] = (),
    mismatch_keys: Iterable[str] = (),
) -> PodSelector:
    """The pods that a pod's selector selects; for some keys they must have the pod's labels, or must not."""
    if selector is None:
        return NO_PODS
    keyed = [
        Requirement(key=key, operator=operator, values=(labels[key],))
        for operator, keys in (("In", match_keys), ("NotIn", mismatch_keys))
        for key in keys
        if key in labels
    ]
    return PodSelector(namespaces, requirements(selector) + tuple(keyed))


def namespaces_of(term: PodAffinityTerm, own: str, labels_of: Mapping[str, Mapping[str, str]]) -> Namespaces:
    """The namespaces that a term names or selects; its pod's own where it does neither."""
    selector = term.namespace_selector
    if selector is None:
        return frozenset(term.namespaces or (own,))
    if not requirements(selector):
        return None
    return frozenset(term.namespaces) | {
        name for name, labels in labels_of.items() if match_selector(selector, labels)
    }


class SelectorIndex(Generic[T]):
    """Items with a pod selector, found by a pod that the selector includes."""

    def __init__(self) -> None:
        self._by_label: dict[tuple[str, str], dict[T, PodSelector]] = {}
        self._others: dict[T, PodSelector] = {}

    def add(self, item: T, selector: PodSelector) -> None:
        """Add an item with its selector."""
        if selector.key is None:
            self._others[item] = selector
        else:
            key, values = selector.key
            for value in values:
                self._by_label.setdefault((key, value), {})[item] = selector

    def discard(self, item: T, selector: PodSelector) -> None:
        """Remove an item."""
        self._others.pop(item, None)
        key, values = selector.key or ("", ())
        for value in values:
            entries = self._by_label[key, value]
            del entries[item]
            if not entries:
                del self._by_label[key, value]

    def about(self, namespace: str, labels: Labels) -> list[T]:
        """The items whose selectors include a pod."""
        by_label = self._by_label
        if not self._others and by_label.keys().isdisjoint(labels):  # as of nearly all pods
            return []
        found, known = [by_label[pair] for pair in labels if pair in by_label], dict(labels)
        found.append(self._others)
        return [
            item
            for entries in found
            for item, selector in entries.items()
            if selector.includes(namespace, known)
        ]
