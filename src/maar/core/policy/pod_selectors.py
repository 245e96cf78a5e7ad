"""Audiences: the pods that a term or a constraint speaks of, and who speaks of a given pod."""

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
        return all(meets(one, labels.get(one.key), LABEL_OPERATORS) for one in self.requirements)

    def both(self, other: "PodSelector") -> "PodSelector":
        """The pods that belong to this and to the other."""
        if self.namespaces is None or other.namespaces is None:
            shared = other.namespaces if self.namespaces is None else self.namespaces
        else:
            shared = self.namespaces & other.namespaces
        return PodSelector(shared, self.requirements + other.requirements)


NOBODY: Final = PodSelector(frozenset())


def pod_selector(
    selector: LabelSelector | None,
    namespaces: Namespaces,
    labels: Mapping[str, str],
    match_keys: Iterable[str] = (),
    mismatch_keys: Iterable[str] = (),
) -> PodSelector:
    """What a selector means when a pod says it whose labels have to be matched, or not, for some keys."""
    if selector is None:
        return NOBODY
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
    """Whoever speaks of an audience, found by a pod that belongs to it."""

    def __init__(self) -> None:
        self._by_label: dict[tuple[str, str], dict[T, PodSelector]] = {}
        self._others: dict[T, PodSelector] = {}

    def add(self, speaker: T, speaks_of: PodSelector) -> None:
        """Let somebody speak of an audience."""
        if speaks_of.key is None:
            self._others[speaker] = speaks_of
        else:
            key, values = speaks_of.key
            for value in values:
                self._by_label.setdefault((key, value), {})[speaker] = speaks_of

    def discard(self, speaker: T, speaks_of: PodSelector) -> None:
        """Let somebody be silent again."""
        self._others.pop(speaker, None)
        key, values = speaks_of.key or ("", ())
        for value in values:
            speakers = self._by_label[key, value]
            del speakers[speaker]
            if not speakers:
                del self._by_label[key, value]

    def about(self, namespace: str, labels: Labels) -> list[T]:
        """Those who speak of a pod."""
        found = [self._by_label[pair] for pair in labels if pair in self._by_label] if self._by_label else []
        if self._others:
            found.append(self._others)
        if not found:
            return []
        known = dict(labels)
        return [
            speaker
            for speakers in found
            for speaker, speaks_of in speakers.items()
            if speaks_of.includes(namespace, known)
        ]
