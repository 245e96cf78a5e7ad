"""What a scheduler does, in numbers: with Volcano's names where it has them, and ours for the rest."""

from collections import Counter as Counts
from collections.abc import Iterator
from typing import Final, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import CounterMetricFamily, UnknownMetricFamily

from maar.apps.metrics.queues import QueueCollector
from maar.apps.metrics.watches import Lags, WatchMetrics
from maar.core.model.plan import Plan
from maar.core.model.reasons import Reason
from maar.core.model.writes import Bind, Evict, EvictingAction, Write
from maar.core.tables.tables import Tables
from maar.kube.outcome import Done, Outcome
from maar.kube.watch import Trouble

_MILLISECONDS: Final = tuple(5.0 * 2**step for step in range(15))  # Volcano's own buckets
_CYCLE_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_WRITE_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class SchedulerMetrics:
    """An observer that counts, and keeps the last plan for the metrics of queues."""

    def __init__(self, registry: CollectorRegistry, tables: Tables) -> None:
        self._queues, self._attempts = QueueCollector(tables.groups), _AttemptCollector()
        self._evicted = _EvictionCollector(tables)
        for collector in (self._queues, self._attempts, self._evicted):
            registry.register(collector)
        self._watches = WatchMetrics(registry)
        self._latency = Histogram(
            "volcano_e2e_scheduling_latency_milliseconds",
            "The time of a cycle in milliseconds.",
            buckets=_MILLISECONDS,
            registry=registry,
        )
        attempts = Counter(
            "volcano_schedule_attempts_total",
            "Pods that were to be bound, by what became of it: scheduled, or error.",
            ["result"],
            registry=registry,
        )
        self._scheduled, self._failed = attempts.labels("scheduled"), attempts.labels("error")
        self._victims = Gauge(
            "volcano_pod_preemption_victims",
            "Pods evicted in the last cycle in which preemption evicted any.",
            registry=registry,
        )
        self._cycle = Histogram(
            "maar_cycle_seconds", "The time of a cycle in seconds.", buckets=_CYCLE_S, registry=registry
        )
        self._last_decision = Gauge(
            "maar_last_decision_timestamp_seconds",
            "When the last cycle ended, in seconds since 1970; 0 while this process has made no decision.",
            registry=registry,
        )
        decisions = Counter(
            "maar_decisions_total",
            "Pods that cycles decided to bind, or to evict in reclaim, preempt or cleanup.",
            ["action"],
            registry=registry,
        )
        self._binds = decisions.labels("bind")
        self._evictions = {action: decisions.labels(action) for action in get_args(EvictingAction)}
        held = Counter(
            "maar_pod_groups_held_total",
            "Times that a pod group came to be held, by what holds it.",
            ["reason"],
            registry=registry,
        )
        self._reasons: dict[str, Reason] = {}  # of the pod groups that something holds
        self._held = {reason: held.labels(reason.value) for reason in Reason}
        self._holding_room = Gauge(
            "maar_pod_groups_holding_room",
            "Pod groups that room is held for, by whether it is known when they start.",
            ["planned_start"],
            registry=registry,
        )
        writes = Counter(
            "maar_writes_total",
            "Writes of what was decided, by what became of them.",
            ["write", "outcome"],
            registry=registry,
        )
        self._writes = {
            (write, outcome): writes.labels(write.__name__, outcome.__name__)
            for write in get_args(Write)
            for outcome in get_args(Outcome)
        }
        waits = Histogram(
            "maar_write_seconds",
            "From a decision to the API server's answer to its write.",
            ["write"],
            buckets=_WRITE_S,
            registry=registry,
        )
        self._waits = {write: waits.labels(write.__name__) for write in get_args(Write)}

    def follow(self, lags: Lags) -> None:
        """Read the lag of each watch from here when metrics are scraped."""
        self._watches.follow(lags)

    def learned(self, events: int, delay_s: float) -> None:
        """Count what was fed."""
        self._watches.learned(events, delay_s)

    def decided(self, plan: Plan, seconds: float) -> None:
        """Count what was decided, and keep the plan."""
        self._last_decision.set_to_current_time()
        self._cycle.observe(seconds)
        self._latency.observe(seconds * 1000)
        self._binds.inc(len(plan.binds))
        for eviction in plan.evictions:
            self._evictions[eviction.action].inc()
            self._evicted.count(eviction)
        if preempted := [one for one in plan.evictions if one.action == "preempt"]:
            self._victims.set(len(preempted))
            self._attempts.count += len({one.beneficiary for one in preempted})
        self._count_held(plan)
        unknown = sum(one.start is None for one in plan.held_room)
        self._holding_room.labels("known").set(len(plan.held_room) - unknown)
        self._holding_room.labels("unknown").set(unknown)
        self._queues.plan = self._evicted.plan = plan

    def answered(self, write: Write, outcome: Outcome, seconds: float) -> None:
        """Count a write by what became of it."""
        self._writes[type(write), type(outcome)].inc()
        self._waits[type(write)].observe(seconds)
        if isinstance(write, Bind):
            (self._scheduled if isinstance(outcome, Done) else self._failed).inc()

    def troubled(self, trouble: Trouble) -> None:
        """Count what goes wrong with a watch."""
        self._watches.troubled(trouble)

    def _count_held(self, plan: Plan) -> None:
        before = self._reasons
        held = {key: one.refusal.reason for key, one in plan.pod_groups.items() if one.refusal is not None}
        for key, reason in held.items():
            if before.get(key) is not reason:
                self._held[reason].inc()
        self._reasons = held


class _EvictionCollector:
    """Counts evictions from each queue; what was counted goes with the queue."""

    def __init__(self, tables: Tables) -> None:
        self.plan = Plan()
        self._tables = tables
        self._counts: Counts[tuple[str, EvictingAction]] = Counts()

    def count(self, eviction: Evict) -> None:
        """Count a pod that is to be evicted, in its queue."""
        pod = self._tables.pods.get(eviction.pod)
        if pod is not None and pod.group is not None:
            self._counts[pod.group.queue_name, eviction.action] += 1

    def collect(self) -> Iterator[Metric]:
        counted = CounterMetricFamily(
            "maar_queue_evictions",
            "Pods of the queue that cycles decided to evict, by action.",
            labels=["queue_name", "action"],
        )
        for (queue, action), count in list(self._counts.items()):
            if queue in self.plan.queues:
                counted.add_metric((queue, action), count)
            else:
                del self._counts[queue, action]
        yield counted

    def describe(self) -> Iterator[Metric]:
        return self.collect()


class _AttemptCollector:
    """A counter whose name does not end as the library's counters do."""

    def __init__(self) -> None:
        self.count = 0

    def collect(self) -> Iterator[Metric]:
        yield UnknownMetricFamily(
            "volcano_total_preemption_attempts", "Pod groups that pods were preempted for.", self.count
        )

    def describe(self) -> Iterator[Metric]:
        return self.collect()
