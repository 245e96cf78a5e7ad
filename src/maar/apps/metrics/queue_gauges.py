"""The gauges that the standing of a queue gives: amounts, shares, weights and namespaces."""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from operator import attrgetter
from typing import Final, NamedTuple

from maar.apps.metrics.gauges import GaugeFamily, Sample
from maar.core.model.plan import GUARANTEE_REDUCED, QueueStanding
from maar.core.model.resources import CPU, MEMORY, PODS, Resources, units_in_one

QUEUE: Final = ("queue_name",)
_QUEUE_RESOURCE: Final = ("queue_name", "resource")
_NAMESPACE: Final = ("namespace_name", "queue_name")

_units_in_one: Final = lru_cache(units_in_one)
SamplesOfQueue = Callable[[str, QueueStanding], list[Sample]]


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
    _Amount("deserved", "What the queue deserves", attrgetter("deserved")),
    _Amount("request", "What the queue wants", attrgetter("request")),
    _Amount("guarantee", "What is reserved for the queue", attrgetter("guarantee")),
    _Amount("real_capability", "What the queue can get at most", attrgetter("real_capability")),
)


def _of_volcano(amount: _Amount) -> Iterator[tuple[GaugeFamily, SamplesOfQueue]]:
    """Thousandths of a CPU, bytes, pods, and thousandths of everything else."""

    def one(resource: str, name: str, queue: QueueStanding) -> list[Sample]:
        amounts = amount.of(queue)
        return [((name,), amounts[resource])] if resource in amounts else []

    def rest(name: str, queue: QueueStanding) -> list[Sample]:
        return [
            ((name, resource), units if resource == PODS else units * 1000)
            for resource, units in amount.of(queue).items()
            if resource not in (CPU, MEMORY)
        ]

    metric, meaning = f"volcano_queue_{amount.name}", amount.meaning
    cpu = GaugeFamily(f"{metric}_milli_cpu", f"{meaning}, in thousandths of a CPU.", QUEUE)
    memory = GaugeFamily(f"{metric}_memory_bytes", f"{meaning}, in bytes of memory.", QUEUE)
    others = f"{meaning}, in thousandths of other resources; pods in pieces."
    yield cpu, partial(one, CPU)
    yield memory, partial(one, MEMORY)
    yield GaugeFamily(f"{metric}_scalar_resources", others, _QUEUE_RESOURCE), rest


def _in_whole_units(amount: _Amount) -> tuple[GaugeFamily, SamplesOfQueue]:
    """CPUs, bytes and pieces, as Prometheus' own convention is."""

    def samples(name: str, queue: QueueStanding) -> list[Sample]:
        return [
            ((name, resource), units / _units_in_one(resource))
            for resource, units in amount.of(queue).items()
        ]

    meaning = f"{amount.meaning}, in CPUs, bytes and pieces."
    return GaugeFamily(f"maar_queue_{amount.name}", meaning, _QUEUE_RESOURCE), samples


def _share(name: str, queue: QueueStanding) -> list[Sample]:
    return [((name,), float(queue.share))]


def _parent(name: str, queue: QueueStanding) -> list[Sample]:
    return [((queue.parent, name), 1)] if queue.parent else []


def _weight(name: str, queue: QueueStanding) -> list[Sample]:
    return [((name,), queue.weight)]


def _overused(name: str, queue: QueueStanding) -> list[Sample]:
    deserved = queue.deserved
    return [((name,), any(units > deserved.get(one, 0) for one, units in queue.used.items()))]


def _weight_factor(name: str, queue: QueueStanding) -> list[Sample]:
    factor = queue.past_use.factor if queue.past_use is not None else 1.0
    return [] if queue.history is None else [((name,), factor)]


def _guarantee_reduced(name: str, queue: QueueStanding) -> list[Sample]:
    is_reduced = any(one.type == GUARANTEE_REDUCED for one in queue.conditions)
    return [((name,), is_reduced)] if is_reduced or queue.guarantee else []


def _namespace_share(name: str, queue: QueueStanding) -> list[Sample]:
    return [
        ((namespace, name), float(one.share) * one.weight * (one.past_use.factor if one.past_use else 1))
        for namespace, one in queue.namespaces.items()
    ]


def _weighted_share(name: str, queue: QueueStanding) -> list[Sample]:
    return [((namespace, name), float(one.share)) for namespace, one in queue.namespaces.items()]


FAMILIES: Final[tuple[tuple[GaugeFamily, SamplesOfQueue], ...]] = (
    *(family for amount in _VOLCANOS for family in _of_volcano(amount)),
    *map(_in_whole_units, _OURS),
    (
        GaugeFamily(
            "volcano_queue_share",
            "Used of deserved, on the resource where that is largest; infinite where nothing is deserved.",
            QUEUE,
        ),
        _share,
    ),
    (
        GaugeFamily(
            "maar_queue_parent", "1 for every queue and the queue above it.", ("parent_name", "queue_name")
        ),
        _parent,
    ),
    (GaugeFamily("volcano_queue_weight", "The claim of the queue among its siblings.", QUEUE), _weight),
    (
        GaugeFamily(
            "volcano_queue_overused", "1 where the queue uses more than it deserves of a resource.", QUEUE
        ),
        _overused,
    ),
    (
        GaugeFamily(
            "maar_queue_weight_factor",
            "What past use makes of the queue's weight (plugin usage); 1 where it changes nothing.",
            QUEUE,
        ),
        _weight_factor,
    ),
    (
        GaugeFamily(
            "maar_queue_guarantee_reduced",
            "1 where less is reserved than the guarantee says, because not all guarantees can hold.",
            QUEUE,
        ),
        _guarantee_reduced,
    ),
    (
        GaugeFamily(
            "volcano_namespace_share",
            "What the namespace uses in the queue, of the cluster's total; the largest of all resources.",
            _NAMESPACE,
        ),
        _namespace_share,
    ),
    (
        GaugeFamily(
            "volcano_namespace_weighted_share",
            "The share of the namespace per weight; the smallest has the next turn.",
            _NAMESPACE,
        ),
        _weighted_share,
    ),
)
