"""The status of disruption budgets: how many pods are healthy, and how many may be evicted."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Final

from maar.core.model.metadata import OwnerReference
from maar.core.model.whole_numbers import whole_number
from maar.embedded.calls import metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.view import (
    PODS,
    BudgetPods,
    CountedPod,
    EmbeddedController,
    ObjectChanged,
    View,
    Wanted,
    moment,
)
from maar.embedded.failures import Json
from maar.embedded.kinds.budgets import PLURAL, with_answer
from maar.embedded.kinds.parts import number, part
from maar.embedded.store import Key

_UNCONFIRMED_S: Final = 120.0  # how long an evicted pod may take to begin to go
_SCALES: Final = {  # owners that say how many pods they want, and where
    ("apps/v1", "ReplicaSet"): ("replicasets.apps", "replicas"),
    ("apps/v1", "StatefulSet"): ("statefulsets.apps", "replicas"),
    ("batch/v1", "Job"): ("jobs.batch", "parallelism"),
}
_OWNERS: Final = frozenset(plural for plural, _ in _SCALES.values())


class Budgets(EmbeddedController):
    """Keys are those of disruption budgets."""

    def keys(self, change: ObjectChanged, cluster: View) -> Iterator[Key]:
        """A budget, and those whose pods or whose pods' owners may have changed."""
        plural, namespace, _ = change.key
        if plural == PLURAL:
            yield change.key
        elif plural == PODS or plural in _OWNERS:
            yield from (Key(PLURAL, namespace, name) for name in cluster.budgets.get(namespace, {}))

    def wanted(self, cluster: View, key: Key, now: datetime) -> Wanted:
        """Write down what has changed."""
        budget = cluster.cluster.read(*key)
        counts = cluster.budgets.get(key.namespace, {}).get(key.name)
        if budget is None or counts is None:
            return
        evicted = _unconfirmed(part(budget, "status", "disruptedPods"), counts.pods, now.timestamp())
        yield partial(_count, cluster.cluster, key, budget, counts, evicted)
        if evicted:  # which counts as failed after a while
            yield moment(min(map(_moment, evicted.values())) + _UNCONFIRMED_S + 1.0)


def _count(cluster: Cluster, key: Key, budget: Json, counts: BudgetPods, evicted: dict[str, str]) -> None:
    generation = number(metadata(budget), "generation")
    expected, desired = _wanted(cluster, key.namespace, part(budget, "spec"), counts)
    healthy = counts.healthy - sum(counts.pods[name].is_healthy for name in evicted)

    def counted(value: Json) -> Json:
        status: Json = {
            **part(value, "status"),
            "observedGeneration": generation,
            "expectedPods": expected,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": max(healthy - desired, 0) if expected > 0 else 0,
        }
        status["disruptedPods"] = evicted
        if not evicted:
            del status["disruptedPods"]
        return {**value, "status": with_answer(status, generation, cluster.now())}

    cluster.rewrite(*key, counted)


def _wanted(cluster: Cluster, namespace: str, spec: Json, counts: BudgetPods) -> tuple[int, int]:
    """How many pods there should be, and how many of them healthy."""
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    if most is None and isinstance(least, int):
        return len(counts.pods), least
    expected = _scale(cluster, namespace, counts)
    if most is not None:
        return expected, max(expected - _share(most, expected), 0)
    return expected, _share(least, expected)


def _scale(cluster: Cluster, namespace: str, counts: BudgetPods) -> int:
    """What the owners of the pods want; a pod without an owner that says so stands for itself."""
    wanted = {owner: _scale_of(cluster, namespace, owner) for owner in counts.of_controller}
    return sum(counts.unfinished[owner] if scale is None else scale for owner, scale in wanted.items())


def _scale_of(cluster: Cluster, namespace: str, owner: OwnerReference | None) -> int | None:
    if owner is None or (owner.api_version, owner.kind) not in _SCALES:
        return None
    plural, field = _SCALES[owner.api_version, owner.kind]
    workload = cluster.read(plural, namespace, owner.name)
    if workload is None or text(metadata(workload), "uid") != owner.uid:
        return None
    return number(part(workload, "spec"), field, otherwise=1)


def _unconfirmed(evicted: Json, pods: Mapping[str, CountedPod], now: float) -> dict[str, str]:
    """Evicted pods that are not terminating yet, and still may."""
    return {
        name: str(at)
        for name, at in evicted.items()
        if name in pods and not pods[name].is_terminating and _moment(str(at)) + _UNCONFIRMED_S >= now
    }


def _moment(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


def _share(part_of: object, whole: int) -> int:
    """A number, or a percentage of the whole rounded up."""
    if isinstance(part_of, int):
        return part_of
    percent = whole_number(str(part_of or "0%").removesuffix("%"))
    return -(-whole * (percent or 0) // 100)
