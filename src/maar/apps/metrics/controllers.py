"""What the controllers do, in numbers, and what is in the queues, with Volcano's names."""

from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily

from maar.apps.metrics.watches import Lags, WatchMetrics
from maar.core.model.job import Job
from maar.core.model.queue import Queue
from maar.core.model.writes import ControllerWrite
from maar.kube.outcome import Outcome
from maar.kube.watch import Trouble

_ROUND_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_PHASES: Final = ("pending", "inqueue", "running", "unknown", "completed")


class ControllerMetrics:
    """Counts rounds and writes; queues and jobs are read when metrics are scraped."""

    def __init__(
        self, registry: CollectorRegistry, queues: Mapping[str, Queue], jobs: Mapping[str, Job]
    ) -> None:
        registry.register(_GroupCollector(queues))
        registry.register(_JobCollector(jobs))
        self._watches = WatchMetrics(registry)
        self._round = Histogram(
            "maar_controller_round_seconds",
            "The time of a round: learning, and working out what has to be written.",
            buckets=_ROUND_S,
            registry=registry,
        )
        self._writes = Counter(
            "maar_controller_writes_total",
            "Writes of the controllers, by what became of them.",
            ["write", "kind", "outcome"],
            registry=registry,
        )

    def follow(self, lags: Lags) -> None:
        """Read the lag of each watch from here when metrics are scraped."""
        self._watches.follow(lags)

    def learned(self, events: int, delay_s: float) -> None:
        """Count what was fed."""
        self._watches.learned(events, delay_s)

    def reconciled(self, seconds: float) -> None:
        """Count a round."""
        self._round.observe(seconds)

    def answered(self, write: ControllerWrite, outcome: Outcome) -> None:
        """Count a write by what became of it."""
        self._writes.labels(type(write).__name__, write.kind, type(outcome).__name__).inc()

    def troubled(self, trouble: Trouble) -> None:
        """Count what goes wrong with a watch."""
        self._watches.troubled(trouble)


class _GroupCollector:
    """The pod groups of each queue and of those below it, by phase, as the status of the queue has them."""

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        self._queues = queues

    def collect(self) -> Iterator[Metric]:
        queues = dict(self._queues)  # it may change while we are at it
        for phase in _PHASES:
            family = GaugeMetricFamily(
                f"volcano_queue_pod_group_{phase}_count",
                f"Pod groups in the queue and below it that are {phase.capitalize()}.",
                labels=["queue_name"],
            )
            for name, queue in queues.items():
                family.add_metric((name,), getattr(queue.status, phase))
            yield family

    def describe(self) -> Iterator[Metric]:
        return _GroupCollector({}).collect()


class _JobCollector:
    """The jobs that have completed and that have failed; one that is deleted is no longer there."""

    def __init__(self, jobs: Mapping[str, Job]) -> None:
        self._jobs = jobs

    def collect(self) -> Iterator[Metric]:
        jobs = dict(self._jobs)  # it may change while we are at it
        for phase in ("Completed", "Failed"):
            family = GaugeMetricFamily(
                f"volcano_job_{phase.lower()}_phase_count",
                f"Jobs that are {phase}.",
                labels=["job_name", "queue_name"],
            )
            for key, job in jobs.items():
                if job.status.state.phase == phase:
                    family.add_metric([key, job.spec.queue], 1)
            yield family
