"""What the controllers do, in numbers, and what is in the queues, with Volcano's names."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from maar.apps.metrics.gauges import GaugeFamily, Gauges, Sample
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
        registry.register(Gauges(partial(_groups, queues)))
        registry.register(Gauges(partial(_jobs, jobs)))
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


def _groups(queues: Mapping[str, Queue]) -> Iterator[tuple[GaugeFamily, list[Sample]]]:
    """The pod groups of each queue and of those below it, by phase, as the status of the queue has them."""
    statuses = [(name, queue.status) for name, queue in dict(queues).items()]  # it may change meanwhile
    for phase in _PHASES:
        family = GaugeFamily(
            f"volcano_queue_pod_group_{phase}_count",
            f"Pod groups in the queue and below it that are {phase.capitalize()}.",
            ("queue_name",),
        )
        yield family, [((name,), getattr(status, phase)) for name, status in statuses]


def _jobs(jobs: Mapping[str, Job]) -> Iterator[tuple[GaugeFamily, list[Sample]]]:
    """The jobs that have completed and that have failed; one that is deleted is no longer there."""
    ended = [(job.status.state.phase, key, job.spec.queue) for key, job in dict(jobs).items()]
    for phase in ("Completed", "Failed"):
        family = GaugeFamily(
            f"volcano_job_{phase.lower()}_phase_count", f"Jobs that are {phase}.", ("job_name", "queue_name")
        )
        yield family, [((key, queue), 1) for is_now, key, queue in ended if is_now == phase]
