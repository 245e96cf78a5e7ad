"""Metrics of queues and namespaces, made from the last plan when metrics are scraped.

Decisions hand over their plan and pay nothing more. The lines of a queue are kept with its
standing: one that is the very object of the last scrape, as that of a queue in which nothing
happened is, has the same lines.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import inf
from time import time
from typing import Final, NamedTuple

from prometheus_client import Metric

from maar.apps.metrics.gauges import GaugeFamily, Sample
from maar.apps.metrics.queue_gauges import GAUGES, QUEUE, labels_of
from maar.core.model.plan import GroupOutcome, Plan, QueueStanding
from maar.core.model.reasons import Reason
from maar.core.tables.rows import GroupRow


class QueueCollector:
    """Renders what it was given last, so that nothing is left of a queue that is gone."""

    def __init__(self, groups: Mapping[str, GroupRow]) -> None:
        self.plan = Plan()
        self._groups = groups
        self._lines: dict[str, tuple[QueueStanding, list[str]]] = {}  # by queue, for each gauge in order

    def collect(self) -> Iterator[Metric]:
        """Give every series to the library."""
        plan = self.plan  # another may come while we are at it
        for gauge in GAUGES:
            yield gauge.family.metric(
                one for name, queue in plan.queues.items() for one in gauge.samples(name, queue)
            )
        for family, samples in self._of_all(plan):
            yield family.metric(samples)

    def describe(self) -> Iterator[Metric]:
        """Say which metrics there are."""
        return self.collect()

    def text(self) -> str:
        """Every series as it is sent to Prometheus."""
        plan, before = self.plan, self._lines
        lines: dict[str, tuple[QueueStanding, list[str]]] = {}
        for name, queue in plan.queues.items():
            known = before.get(name)
            if known is None or known[0] is not queue:
                labels = labels_of(name)
                known = queue, [gauge.lines(labels, queue) for gauge in GAUGES]
            lines[name] = known
        self._lines = lines
        parts = []
        for index, gauge in enumerate(GAUGES):
            parts.append(gauge.family.head())
            parts += [of_queue[index] for _, of_queue in lines.values()]
        parts += [family.head() + family.lines(samples) for family, samples in self._of_all(plan)]
        return "".join(parts)

    def _of_all(self, plan: Plan) -> Iterator[tuple[GaugeFamily, list[Sample]]]:
        """What does not belong to one queue alone, or changes with time."""
        weights = {
            name: one.weight for queue in plan.queues.values() for name, one in queue.namespaces.items()
        }
        yield _NAMESPACE_WEIGHT, [((name,), weight) for name, weight in weights.items()]
        held = Counter(one.refusal.reason for one in plan.pod_groups.values() if one.refusal is not None)
        yield _HELD, [((), held.total())]
        yield _HELD_BY_REASON, [((reason.value,), held[reason]) for reason in Reason]
        waits = waits_of_queues(plan, self._groups)
        yield _WAITING, [((name,), wait.groups) for name, wait in waits.items()]
        now = time()
        yield _LONGEST_WAIT, [((name,), max(0.0, now - min(now, wait.since))) for name, wait in waits.items()]


class QueueWait(NamedTuple):
    """The pod groups of a queue and of those below it that wait, and since when the first of them does."""

    groups: int = 0
    since: float = inf


def waits_of_queues(plan: Plan, groups: Mapping[str, GroupRow]) -> dict[str, QueueWait]:
    """How each queue of a plan waits; a group waits since its condition Unschedulable is true."""
    waits = dict.fromkeys(plan.queues, QueueWait())
    for key, outcome in plan.pod_groups.items():
        row = groups.get(key) if _is_waiting(outcome) else None
        queue = row.queue_name if row is not None else ""
        seen = set[str]()  # a queue that is set aside may be its own ancestor
        while row is not None and queue in waits and queue not in seen:
            known, since = waits[queue], row.unschedulable_since
            waits[queue] = QueueWait(known.groups + 1, min(known.since, inf if since is None else since))
            seen.add(queue)
            queue = plan.queues[queue].parent
    return waits


def _is_waiting(outcome: GroupOutcome) -> bool:
    """Whether something keeps it from starting; a group that runs may wait for more pods than it needs."""
    return outcome.refusal is not None and (outcome.is_unschedulable or outcome.phase == "Pending")


_NAMESPACE_WEIGHT: Final = GaugeFamily(
    "volcano_namespace_weight", "The claim of the namespace beside others in a queue.", ("namespace_name",)
)
_HELD: Final = GaugeFamily("volcano_unschedule_job_count", "Pod groups that something holds.")
_HELD_BY_REASON: Final = GaugeFamily(
    "maar_pod_groups_waiting", "Pod groups that something holds, by what.", ("reason",)
)
_WAITING: Final = GaugeFamily(
    "maar_queue_pod_groups_waiting", "Pod groups in the queue and below it that wait to start.", QUEUE
)
_LONGEST_WAIT: Final = GaugeFamily(
    "maar_queue_longest_wait_seconds",
    "For how long the pod group in the queue or below it has waited that has waited longest.",
    QUEUE,
)
