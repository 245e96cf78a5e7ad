"""Metrics of queues and namespaces, made from the last plan when metrics are scraped."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Final, NamedTuple

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from maar.core.model.plan import QueueStanding
from maar.core.model.reasons import Reason
from maar.core.model.resources import CPU, MEMORY, PODS, Resources, units_in_one

Standings = Mapping[str, QueueStanding]


class _Amount(NamedTuple):
    name: str
    meaning: str
    of: Callable[[QueueStanding], Resources]


# Volcano's `allocated` is what the pods of a queue hold; our word for that is `used`.
_VOLCANOS: Final = (
    _Amount("allocated", "What the pods of the queue hold", attrgetter("used")),
    _Amount("request", "What the queue wants", attrgetter("request")),
    _Amount("deserved", "What the queue deserves", attrgetter("deserved")),
    _Amount("real_capacity", "What the queue can get at most", attrgetter("real_capability")),
)
_OURS: Final = (
    _Amount("used", "What the pods of the queue hold", attrgetter("used")),
    _Amount("allocated", "The part of what it deserves that the queue can use now", attrgetter("allocated")),
    _Amount("preempting", "What is being freed for the queue", attrgetter("preempting")),
)


class QueueCollector:
    """Renders what it was given last, so that nothing is left of a queue that is gone."""

    def __init__(self) -> None:
        self.queues: Standings = {}
        self.held: Mapping[str, Reason] = {}  # by pod group

    def collect(self) -> Iterator[Metric]:
        """Give every series."""
        queues, held = self.queues, self.held  # others may come while we are at it
        for amount in _VOLCANOS:
            yield from _in_volcanos_units(amount, queues)
        for amount in _OURS:
            yield _in_whole_units(amount, queues)
        yield from _relations(queues)
        yield from _namespaces(queues)
        yield from _waiting(held)

    def describe(self) -> Iterator[Metric]:
        """Say which metrics there are."""
        return QueueCollector().collect()


def _in_volcanos_units(amount: _Amount, queues: Standings) -> Iterator[Metric]:
    """Thousandths of a CPU, bytes, pods, and thousandths of everything else."""
    name, meaning = f"volcano_queue_{amount.name}", amount.meaning
    cpu = GaugeMetricFamily(f"{name}_milli_cpu", f"{meaning}, in thousandths of a CPU.", labels=_QUEUE)
    memory = GaugeMetricFamily(f"{name}_memory_bytes", f"{meaning}, in bytes of memory.", labels=_QUEUE)
    rest = GaugeMetricFamily(
        f"{name}_scalar_resources",
        f"{meaning}, in thousandths of other resources; pods in pieces.",
        labels=_QUEUE_RESOURCE,
    )
    for queue, standing in queues.items():
        for resource, units in amount.of(standing).items():
            if resource == CPU:
                cpu.add_metric((queue,), units)
            elif resource == MEMORY:
                memory.add_metric((queue,), units)
            else:
                rest.add_metric((queue, resource), units if resource == PODS else units * 1000)
    yield from (cpu, memory, rest)


def _in_whole_units(amount: _Amount, queues: Standings) -> Metric:
    """CPUs, bytes and pieces, as Prometheus' own convention is."""
    meaning = f"{amount.meaning}, in CPUs, bytes and pieces."
    family = GaugeMetricFamily(f"maar_queue_{amount.name}", meaning, labels=_QUEUE_RESOURCE)
    for queue, standing in queues.items():
        for resource, units in amount.of(standing).items():
            family.add_metric((queue, resource), units / units_in_one(resource))
    return family


def _relations(queues: Standings) -> Iterator[Metric]:
    share = GaugeMetricFamily(
        "volcano_queue_share",
        "Used of deserved, on the resource where that is largest; infinite where nothing is deserved.",
        labels=_QUEUE,
    )
    weight = GaugeMetricFamily(
        "volcano_queue_weight", "The claim of the queue among its siblings.", labels=_QUEUE
    )
    overused = GaugeMetricFamily(
        "volcano_queue_overused", "1 where the queue uses more than it deserves of a resource.", labels=_QUEUE
    )
    for queue, standing in queues.items():
        share.add_metric((queue,), float(standing.share))
        weight.add_metric((queue,), standing.weight)
        deserved = standing.deserved
        overused.add_metric(
            (queue,), any(units > deserved.get(one, 0) for one, units in standing.used.items())
        )
    factor = GaugeMetricFamily(
        "maar_queue_weight_factor",
        "What past use makes of the queue's weight (plugin usage); 1 where it changes nothing.",
        labels=_QUEUE,
    )
    for queue, standing in queues.items():
        if standing.history is not None:
            factor.add_metric((queue,), standing.past_use.factor if standing.past_use is not None else 1.0)
    yield from (share, weight, overused, factor)


def _namespaces(queues: Standings) -> Iterator[Metric]:
    weight = GaugeMetricFamily(
        "volcano_namespace_weight",
        "The claim of the namespace beside others in a queue.",
        labels=_NAMESPACE[:1],
    )
    share = GaugeMetricFamily(
        "volcano_namespace_share",
        "What the namespace uses in the queue of the cluster's total, on the resource where that is largest.",
        labels=_NAMESPACE,
    )
    weighted = GaugeMetricFamily(
        "volcano_namespace_weighted_share",
        "The share of the namespace per weight; the smallest has the next turn.",
        labels=_NAMESPACE,
    )
    weights: dict[str, int] = {}
    for queue, standing in queues.items():
        for name, inside in standing.namespaces.items():
            weights[name] = inside.weight
            factor = inside.past_use.factor if inside.past_use is not None else 1
            share.add_metric((name, queue), float(inside.share) * inside.weight * factor)
            weighted.add_metric((name, queue), float(inside.share))
    for name, number in weights.items():
        weight.add_metric((name,), number)
    yield from (weight, share, weighted)


def _waiting(held: Mapping[str, Reason]) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "volcano_unschedule_job_count", "Pod groups that something holds.", value=len(held)
    )
    family = GaugeMetricFamily(
        "maar_pod_groups_waiting", "Pod groups that something holds, by what.", labels=["reason"]
    )
    counts = Counter(held.values())
    for reason in Reason:
        family.add_metric((reason.value,), counts[reason])
    yield family


_QUEUE: Final = ("queue_name",)
_QUEUE_RESOURCE: Final = ("queue_name", "resource")
_NAMESPACE: Final = ("namespace_name", "queue_name")
