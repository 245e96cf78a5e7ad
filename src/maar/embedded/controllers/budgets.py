"""The status of disruption budgets: how many pods are healthy, and how many may be evicted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from maar.core.model.metadata import LabelSelector
from maar.core.model.whole_numbers import whole_number
from maar.core.policy.selectors import match_selector
from maar.embedded.calls import metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.controller import Observed, Owner, WorkItem
from maar.embedded.failures import Json
from maar.embedded.kinds.budgets import PLURAL, selector_of, with_answer
from maar.embedded.kinds.parts import number, part
from maar.embedded.kinds.usage import FINISHED
from maar.embedded.store import Key


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""
    conditions: tuple[_Condition, ...] | None = None


class _Meta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    labels: dict[str, str] | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[Owner, ...] | None = None


class Pod(msgspec.Struct, frozen=True, gc=False):
    """What of a pod bears on budgets."""

    metadata: _Meta = _Meta()
    status: _Status = _Status()


_POD: Final = msgspec.json.Decoder(Pod)


class CountedPod(NamedTuple):
    """A pod as budgets count it."""

    is_ready: bool
    is_terminating: bool
    is_finished: bool
    controller: Owner | None

    @property
    def is_healthy(self) -> bool:
        """Whether it is ready and not terminating."""
        return self.is_ready and not self.is_terminating


class BudgetPods:
    """Sums that a change of one pod changes by one; nothing is added up anew."""

    def __init__(self, selector: LabelSelector | None) -> None:
        self.selector = selector
        self.pods: dict[str, CountedPod] = {}
        self.healthy = 0
        self.of_controller: Counter[Owner | None] = Counter()
        self.unfinished: Counter[Owner | None] = Counter()

    def take(self, name: str, pod: Pod | None) -> None:
        """Take note of how a pod is now; None for one that has gone."""
        if (before := self.pods.pop(name, None)) is not None:
            self._count(before, -1)
        if pod is not None and match_selector(self.selector, pod.metadata.labels or {}):
            now = self.pods[name] = _counted(pod)
            self._count(now, 1)

    def _count(self, pod: CountedPod, step: int) -> None:
        self.healthy += step * pod.is_healthy
        self.unfinished[pod.controller] += step * (not pod.is_finished)
        self.of_controller[pod.controller] += step
        if not self.of_controller[pod.controller]:
            del self.of_controller[pod.controller]
            del self.unfinished[pod.controller]


def pod_of(body: bytes) -> Pod:
    """A pod as it is stored."""
    return _POD.decode(body)


def _counted(pod: Pod) -> CountedPod:
    owners = pod.metadata.owner_references or ()
    return CountedPod(
        any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions or ()),
        pod.metadata.deletion_timestamp is not None,
        pod.status.phase in FINISHED,
        next((owner for owner in owners if owner.controller), None),
    )


_SETTLE_S: Final = 0.02  # pods change together: one count for all of them
_UNCONFIRMED_S: Final = 120.0  # how long an evicted pod may take to begin to go
_SCALES: Final = {  # owners that say how many pods they want, and where
    ("apps/v1", "ReplicaSet"): ("replicasets.apps", "replicas"),
    ("apps/v1", "StatefulSet"): ("statefulsets.apps", "replicas"),
    ("batch/v1", "Job"): ("jobs.batch", "parallelism"),
}
_OWNERS: Final = frozenset(plural for plural, _ in _SCALES.values())


class BudgetController:
    """Counts the pods of every budget."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._counts: dict[str, dict[str, BudgetPods]] = {}  # by namespace and name of the budget

    def observe(self, observed: Observed) -> Iterable[WorkItem]:
        """Keep the counts; come back for budgets whose pods or whose pods' owners have changed."""
        key = observed.key
        if key.resource == PLURAL:
            if observed.is_gone:
                self._forget(key)
                return ()
            return (WorkItem(key),)
        all_counts = self._counts.get(key.namespace)
        if all_counts is None or (key.resource != "pods" and key.resource not in _OWNERS):
            return ()
        if key.resource == "pods":
            pod = None if observed.is_gone else pod_of(observed.body)
            for counts in all_counts.values():
                counts.take(key.name, pod)
        return [WorkItem(Key(PLURAL, key.namespace, name), _SETTLE_S) for name in all_counts]

    def reconcile(self, key: Key) -> Iterator[WorkItem | None]:
        """Count, and write down what has changed."""
        budget = self._cluster.read(*key)
        if budget is None:
            return
        counts = self._counts.get(key.namespace, {}).get(key.name)
        if counts is None or counts.selector != selector_of(budget):
            counts = BudgetPods(selector_of(budget))
            self._counts.setdefault(key.namespace, {})[key.name] = counts
            for _, name, body in self._cluster.store.scan("pods", key.namespace):
                counts.take(name, pod_of(body))
                yield None
        if (again := self._count(key, counts)) is not None:
            yield WorkItem(key, again)

    def _count(self, key: Key, counts: BudgetPods) -> float | None:
        """Write the status; give the seconds after which an eviction that is under way counts as failed."""
        budget = self._cluster.read(*key)
        if budget is None:
            return None
        now, generation = self._cluster.clock(), number(metadata(budget), "generation")
        evicted = _unconfirmed(part(budget, "status", "disruptedPods"), counts.pods, now)
        expected, desired = self._wanted(key.namespace, part(budget, "spec"), counts)
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
            return {**value, "status": with_answer(status, generation, self._cluster.now())}

        self._cluster.rewrite(*key, counted)
        return min(map(_moment, evicted.values())) + _UNCONFIRMED_S - now + 1.0 if evicted else None

    def _wanted(self, namespace: str, spec: Json, counts: BudgetPods) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
        if most is None and isinstance(least, int):
            return len(counts.pods), least
        expected = self._scale(namespace, counts)
        if most is not None:
            return expected, max(expected - _share(most, expected), 0)
        return expected, _share(least, expected)

    def _scale(self, namespace: str, counts: BudgetPods) -> int:
        """What the owners of the pods want; a pod without an owner that says so stands for itself."""
        wanted = {owner: self._scale_of(namespace, owner) for owner in counts.of_controller}
        return sum(counts.unfinished[owner] if scale is None else scale for owner, scale in wanted.items())

    def _scale_of(self, namespace: str, owner: Owner | None) -> int | None:
        if owner is None or (owner.api_version, owner.kind) not in _SCALES:
            return None
        plural, field = _SCALES[owner.api_version, owner.kind]
        found = self._cluster.read(plural, namespace, owner.name)
        if found is None or text(metadata(found), "uid") != owner.uid:
            return None
        return number(part(found, "spec"), field, otherwise=1)

    def _forget(self, key: Key) -> None:
        all_counts = self._counts.get(key.namespace, {})
        all_counts.pop(key.name, None)
        if not all_counts:
            self._counts.pop(key.namespace, None)


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
