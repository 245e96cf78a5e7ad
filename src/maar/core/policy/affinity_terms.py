"""What the pod affinity of a shape means: which pods it selects, in which topology, with what weight."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple

from maar.core.model.affinity import Affinity, PodAffinity, PodAffinityTerm
from maar.core.policy.pod_selectors import PodSelector, namespaces_of, pod_selector
from maar.core.tables.shapes import Shape

_NOTHING: Final = PodAffinity()


class Term(NamedTuple):
    """A pod selector, the topology whose domains count as together, and its weight."""

    pod_selector: PodSelector
    topology: str
    weight: int = 1


@dataclass(frozen=True)
class Terms:
    """What the affinity of a pod means."""

    together: PodSelector | None = None  # the pods that all required terms select
    near: tuple[str, ...] = ()  # the topologies in which one of them must be
    apart: tuple[Term, ...] = ()
    preferred: tuple[Term, ...] = ()  # away from others: below 0


NO_TERMS: Final = Terms()


@dataclass(frozen=True)
class TermReader:
    """Reads terms, knowing the labels of namespaces."""

    labels_of: Mapping[str, Mapping[str, str]]

    def read(self, shape: Shape, namespace: str, labels: Mapping[str, str]) -> Terms:
        """Read a shape's affinity for a pod of a namespace with these labels."""
        affinity = shape.affinity or Affinity()
        near, away = affinity.pod_affinity or _NOTHING, affinity.pod_anti_affinity or _NOTHING

        def meant(term: PodAffinityTerm, weight: int = 1) -> Term:
            spaces = namespaces_of(term, namespace, self.labels_of)
            keys = term.match_label_keys, term.mismatch_label_keys
            return Term(pod_selector(term.label_selector, spaces, labels, *keys), term.topology_key, weight)

        required = [meant(one) for one in near.required_during_scheduling_ignored_during_execution]
        return Terms(
            together=reduce(PodSelector.both, [term.pod_selector for term in required]) if required else None,
            near=tuple(dict.fromkeys(term.topology for term in required)),
            apart=tuple(meant(one) for one in away.required_during_scheduling_ignored_during_execution),
            preferred=tuple(
                meant(one.pod_affinity_term, sign * one.weight)
                for sign, part in ((1, near), (-1, away))
                for one in part.preferred_during_scheduling_ignored_during_execution
            ),
        )


def keys_read(shape: Shape) -> tuple[str, ...]:
    """The labels of its own pod that a shape's affinity reads."""
    keys = [key for term in _terms(shape) for key in (*term.match_label_keys, *term.mismatch_label_keys)]
    return tuple(dict.fromkeys(keys))


def _terms(shape: Shape) -> Iterator[PodAffinityTerm]:
    affinity = shape.affinity or Affinity()
    for part in (affinity.pod_affinity or _NOTHING, affinity.pod_anti_affinity or _NOTHING):
        yield from part.required_during_scheduling_ignored_during_execution
        for one in part.preferred_during_scheduling_ignored_during_execution:
            yield one.pod_affinity_term
