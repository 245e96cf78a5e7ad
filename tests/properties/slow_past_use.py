"""Past use the slow way: from the definition, one group of siblings at a time."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from fractions import Fraction
from math import log2
from typing import Any, Protocol

from maar.core.fairshare.weight_factors import FACTORS
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue

HALF_LIFE_S = 24 * 3600.0
STRENGTH = 1

Hours = Mapping[str, float]


def hours(texts: Mapping[str, Any]) -> Hours:
    """Amounts as statuses have them."""
    return {name: float(str(text).removesuffix("Gi")) for name, text in texts.items()}


def decayed(history: Mapping[str, Any], until: float) -> Hours:
    """What is left of the past use of a queue at a time."""
    age = until - datetime.fromisoformat(history["time"]).timestamp()
    return {name: one * 0.5 ** (age / HALF_LIFE_S) for name, one in hours(history.get("used", {})).items()}


def factors(past_use: Mapping[str, Hours], weights: Mapping[str, int]) -> dict[str, Fraction]:
    """For every sibling: clamp(1 + strength x (s - u) / s, 1/8, 8), to the nearest step of 2^(1/4)."""
    resources = {resource for one in past_use.values() for resource in one}
    totals = {resource: sum(one.get(resource, 0) for one in past_use.values()) for resource in resources}
    if not any(totals.values()):
        return dict.fromkeys(weights, Fraction(1))
    found = {}
    for name, weight in weights.items():
        s = weight / sum(weights.values())
        u = max(past_use.get(name, {}).get(one, 0) / total for one, total in totals.items() if total)
        factor = min(max(1 + STRENGTH * (s - u) / s, 1 / 8), 8)
        found[name] = Fraction(FACTORS[12 + round(4 * log2(factor))], 1024)
    return found


def queue_factors(queues: Mapping[str, Queue], children: Mapping[str, Iterable[str]]) -> dict[str, Fraction]:
    """The factors of all queues of a tree; they have histories only where the plugin is configured."""
    known = {name: queue.status.history for name, queue in queues.items()}
    histories = {name: history for name, history in known.items() if isinstance(history, dict)}
    if not histories:
        return {}
    last = max(datetime.fromisoformat(one["time"]).timestamp() for one in histories.values())
    found = {}
    for siblings in children.values():
        weights = {name: queues[name].spec.weight for name in siblings}
        past_use = {name: decayed(histories[name], last) for name in weights if name in histories}
        found.update(factors(past_use, weights))
    return found


class Namespaces(Protocol):
    """What is asked of a reading."""

    queues: dict[str, Queue]
    groups: dict[str, PodGroup]

    def namespace(self, group: PodGroup) -> str:
        """The namespace of a group."""

    def weight(self, namespace: str) -> int:
        """Its weight."""


def namespace_factor(reading: Namespaces, leaf: str, namespace: str) -> Fraction:
    """The factor of a namespace in a leaf, among those with work there and those with past use."""
    history = reading.queues[leaf].status.history
    inside = history.get("namespaces", {}) if isinstance(history, dict) else {}
    if not inside:
        return Fraction(1)
    names = {reading.namespace(group) for group in reading.groups.values() if group.spec.queue == leaf}
    past_use = {name: hours(texts) for name, texts in inside.items()}
    weights = {name: reading.weight(name) for name in names | inside.keys()}
    return factors(past_use, weights).get(namespace, Fraction(1))
