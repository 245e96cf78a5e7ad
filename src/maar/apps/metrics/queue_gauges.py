"""The gauges that the standing of a queue gives: amounts, shares, weights and namespaces."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from operator import attrgetter
from typing import Final, NamedTuple

from maar.apps.metrics.gauges import NUMBERS, GaugeFamily, Sample, Texts, label_text
from maar.core.model.plan import GUARANTEE_REDUCED, QueueStanding
from maar.core.model.resources import CPU, MEMORY, PODS, Resources, units_in_one

_QUEUE_NAME: Final = "queue_name"
QUEUE: Final = (_QUEUE_NAME,)
_RESOURCE: Final = (_QUEUE_NAME, "resource")
_NAMESPACE: Final = ("namespace_name", _QUEUE_NAME)
_PARENT: Final = ("parent_name", _QUEUE_NAME)

OfQueue = Callable[[QueueStanding], Iterable[tuple[str, float]]]


class QueueGauge(NamedTuple):
    """A gauge with series for each queue: values of the label beside the queue's name, and numbers."""

    family: GaugeFamily
    of: OfQueue

    def samples(self, name: str, queue: QueueStanding) -> Iterator[Sample]:
        """The series of a queue."""
        for other, number in self.of(queue):
            yield _values(self.family.labels, name, other), number

    def lines(self, labels: "LabelsOfQueue", queue: QueueStanding) -> str:
        """The same as text."""
        name, texts = self.family.name, labels[self.family.labels]
        return "".join([f"{name}{texts[other]} {NUMBERS[number]}\n" for other, number in self.of(queue)])


LabelsOfQueue = dict[tuple[str, ...], Texts[str]]  # by the names of the labels, by the value of the other one


def labels_of(queue: str) -> LabelsOfQueue:
    """The texts of the labels of a queue's series; many of its gauges have the same."""

    def texts(names: tuple[str, ...]) -> Texts[str]:
        return Texts(lambda other: label_text(names, _values(names, queue, other)))

    return {names: texts(names) for names in (QUEUE, _RESOURCE, _NAMESPACE, _PARENT)}


def _values(names: tuple[str, ...], queue: str, other: str) -> tuple[str, ...]:
    return tuple([queue if name == _QUEUE_NAME else other for name in names])


# Amounts


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


def _of_volcano(amount: _Amount) -> Iterator[QueueGauge]:
    """Thousandths of a CPU, bytes, pods, and thousandths of everything else."""

    def one(resource: str, queue: QueueStanding) -> list[tuple[str, float]]:
        amounts = amount.of(queue)
        return [("", amounts[resource])] if resource in amounts else []

    def rest(queue: QueueStanding) -> list[tuple[str, float]]:
        return [
            (resource, units if resource == PODS else units * 1000)
            for resource, units in amount.of(queue).items()
            if resource not in (CPU, MEMORY)
        ]

    metric, meaning = f"volcano_queue_{amount.name}", amount.meaning
    cpu = GaugeFamily(f"{metric}_milli_cpu", f"{meaning}, in thousandths of a CPU.", QUEUE)
    memory = GaugeFamily(f"{metric}_memory_bytes", f"{meaning}, in bytes of memory.", QUEUE)
    others = f"{meaning}, in thousandths of other resources; pods in pieces."
    yield QueueGauge(cpu, partial(one, CPU))
    yield QueueGauge(memory, partial(one, MEMORY))
    yield QueueGauge(GaugeFamily(f"{metric}_scalar_resources", others, _RESOURCE), rest)


def _in_whole_units(amount: _Amount) -> QueueGauge:
    """CPUs, bytes and pieces, as Prometheus' own convention is."""

    def of(queue: QueueStanding) -> list[tuple[str, float]]:
        return [(resource, units / _units_in_one(resource)) for resource, units in amount.of(queue).items()]

    meaning = f"{amount.meaning}, in CPUs, bytes and pieces."
    return QueueGauge(GaugeFamily(f"maar_queue_{amount.name}", meaning, _RESOURCE), of)


_units_in_one: Final = lru_cache(units_in_one)

# What else there is of a queue


def _gauge(name: str, meaning: str, labels: tuple[str, ...] = QUEUE) -> Callable[[OfQueue], QueueGauge]:
    return lambda of: QueueGauge(GaugeFamily(name, meaning, labels), of)


@_gauge(
    "volcano_queue_share",
    "Used of deserved, on the resource where that is largest; infinite where nothing is deserved.",
)
def _share(queue: QueueStanding) -> Iterator[tuple[str, float]]:
    yield "", float(queue.share)


@_gauge("maar_queue_parent", "1 for every queue and the queue above it.", _PARENT)
def _parent(queue: QueueStanding) -> Iterator[tuple[str, float]]:
    if queue.parent:
        yield queue.parent, 1


@_gauge("volcano_queue_weight", "The claim of the queue among its siblings.")
def _weight(queue: QueueStanding) -> Iterator[tuple[str, float]]:
    yield "", queue.weight


@_gauge("volcano_queue_overused", "1 where the queue uses more than it deserves of a resource.")
def _overused(queue: QueueStanding) -> Iterator[tuple[str, float]]:
    deserved = queue.deserved
    yield "", any(units > deserved.get(resource, 0) for resource, units in queue.used.items())


@_gauge(
    "maar_queue_weight_factor",
    "What past use makes of the queue's weight (plugin usage); 1 where it changes nothing.",
)
def _weight_factor(queue: QueueStanding) -> Iterator[tuple[str, float]]:
    if queue.history is not None:
        yield "", queue.past_use.factor if queue.past_use is not None else 1.0


@_gauge(
    "maar_queue_guarantee_reduced",
    "1 where less is reserved than the guarantee says, because not all guarantees can hold.",
)
def _guarantee_reduced(queue: QueueStanding) -> Iterator[tuple[str, float]]:
    is_reduced = any(one.type == GUARANTEE_REDUCED for one in queue.conditions)
    if is_reduced or queue.guarantee:
        yield "", is_reduced


@_gauge(
    "volcano_namespace_share",
    "What the namespace uses in the queue, of the cluster's total; the largest of all resources.",
    _NAMESPACE,
)
def _namespace_share(queue: QueueStanding) -> Iterator[tuple[str, float]]:
    for namespace, one in queue.namespaces.items():
        factor = one.past_use.factor if one.past_use is not None else 1
        yield namespace, float(one.share) * one.weight * factor


@_gauge(
    "volcano_namespace_weighted_share",
    "The share of the namespace per weight; the smallest has the next turn.",
    _NAMESPACE,
)
def _weighted_share(queue: QueueStanding) -> Iterator[tuple[str, float]]:
    for namespace, one in queue.namespaces.items():
        yield namespace, float(one.share)


GAUGES: Final = (
    *(gauge for amount in _VOLCANOS for gauge in _of_volcano(amount)),
    *map(_in_whole_units, _OURS),
    _share,
    _parent,
    _weight,
    _overused,
    _weight_factor,
    _guarantee_reduced,
    _namespace_share,
    _weighted_share,
)
