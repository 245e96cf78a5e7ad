"""Warnings: what a queue may have but is surely a mistake, given when it is written, not on later updates."""

from collections.abc import Iterator, Mapping
from typing import Final

from maar.core.admission.levels import guaranteed_in_all
from maar.core.admission.plain import below, brief
from maar.core.admission.queue_case import QueueCase
from maar.core.admission.queue_rules import guarantee_field
from maar.core.admission.request import Problem
from maar.core.admission.rulebook import Rule
from maar.core.admission.sum_rules import over_total
from maar.core.model.queue import DEFAULT, ROOT, Queue
from maar.core.model.queue_state import asked_to_close_by
from maar.core.model.resources import precisely

_PARENT: Final = "spec.parent"


def closed_parent(queue: QueueCase) -> Iterator[Problem]:
    """A queue below a closed one receives no jobs."""
    closed = asked_to_close_by(queue.known.above(queue.new))
    opens = queue.old is not None and queue.old.is_asked_to_close and not queue.new.is_asked_to_close
    if closed is not None and (queue.is_moved or opens):
        name = closed.metadata.name
        sentence = f"leads to {name}, which is closed: this queue receives no jobs until that is opened"
        yield Problem(_PARENT, brief(queue.new.parent), sentence)


def only_child(queue: QueueCase) -> Iterator[Problem]:
    """A weight counts among siblings only."""
    weight = queue.spec.weight
    is_new = queue.old is None or queue.old.spec.weight != weight
    siblings = queue.known.children(queue.new.parent)
    alone = len(siblings) - (queue.name in siblings) == 0
    if weight != 1 and is_new and alone and queue.name != ROOT:
        sentence = (
            f"is {weight}, and {queue.new.parent} has no other child: it has no effect among siblings yet"
        )
        yield Problem("spec.weight", str(weight), sentence)


def guarantee_too_large(queue: QueueCase) -> Iterator[Problem]:
    """Guarantees that the cluster cannot honour together are scaled down."""
    if queue.options.guarantee_over_total == "warn":
        yield from over_total(queue)
    total, sums = queue.known.total.amounts, queue.known.reservations
    if total is None or not queue.is_resized:
        return
    together = guaranteed_in_all(queue)
    before = sums.declared(queue.old) if queue.old is not None else {}
    for resource, units in sums.declared(queue.new).items():
        most = max(0, total.get(resource, 0))
        if units > before.get(resource, 0) and together.get(resource, 0) > most:
            sentence = (
                f"makes {resource} {precisely(resource, together[resource])} guaranteed of the cluster's "
                f"{precisely(resource, most)}: no parent can honour that, all are scaled down"
            )
            yield Problem(guarantee_field(queue, resource), precisely(resource, units), sentence)


def deserved(queue: QueueCase) -> Iterator[Problem]:
    """A soft guarantee counts from guarantee to capability, and children's within their parent's."""
    is_changed = queue.old is None or queue.old.spec.deserved != queue.spec.deserved
    if is_changed or queue.is_resized:
        guaranteed = queue.known.reservations.declared(queue.new)
        for resource, units in queue.spec.deserved.items():
            most, least = queue.spec.capability.get(resource, units), guaranteed.get(resource, 0)
            if units > most:
                yield _counts_as(resource, units, "above the capability: it counts as that, {}", most)
            elif units < least:
                yield _counts_as(resource, units, "below the guarantee: it counts as that, {}", least)
    if is_changed or queue.is_moved:
        parent = queue.known.queue(queue.new.parent)
        if parent is not None and ROOT not in (parent.metadata.name, queue.name):
            yield from _beyond_parent(queue, parent, {**_children_of(queue, parent), queue.name: queue.new})
        yield from _beyond_parent(queue, queue.new, _children_of(queue, queue.new))


def _counts_as(resource: str, units: int, words: str, amount: int) -> Problem:
    sentence = f"is {precisely(resource, units)}, {words.format(precisely(resource, amount))}"
    return Problem(below("spec.deserved", resource), precisely(resource, units), sentence)


def _children_of(queue: QueueCase, parent: Queue) -> dict[str, Queue]:
    found = {name: queue.known.queue(name) for name in queue.known.children(parent.metadata.name)}
    return {name: one for name, one in found.items() if one is not None}


def _beyond_parent(queue: QueueCase, parent: Queue, children: Mapping[str, Queue]) -> Iterator[Problem]:
    """Soft guarantees of children that come to more than their parent declares."""
    for resource, most in parent.spec.deserved.items():
        together = sum(one.spec.deserved.get(resource, 0) for one in children.values())
        if together > most and (parent is queue.new or resource in queue.spec.deserved):
            name, amounts = parent.metadata.name, (precisely(resource, together), precisely(resource, most))
            sentence = (
                f"leaves the children of {name} {resource} {amounts[0]} together, and {name} itself sets "
                f"{amounts[1]}: where it gets no more, each of theirs holds to the same part"
            )
            units = precisely(resource, queue.spec.deserved[resource])
            yield Problem(below("spec.deserved", resource), units, sentence)


def default_parent(queue: QueueCase) -> Iterator[Problem]:
    """Below `default` a child takes jobs without a queue their place away."""
    if queue.new.parent == DEFAULT and queue.is_moved:
        sentence = "is default, which is then no leaf: jobs that name no queue will be refused"
        yield Problem(_PARENT, brief(DEFAULT), sentence)


def set_aside(queue: QueueCase) -> Iterator[Problem]:
    """A queue whose parents do not lead to the root takes no part."""
    above = [one.metadata.name for one in queue.known.above(queue.new)]
    if queue.is_moved and queue.name != ROOT and above[-1:] != [ROOT]:
        sentence = (
            f"does not lead to root: nothing is scheduled here until the parent of {above[-1]} is put right"
        )
        yield Problem(_PARENT, brief(queue.new.parent), sentence)


WARNINGS: Final[Mapping[str, Rule[QueueCase]]] = {
    "queue-closed-parent": closed_parent,
    "queue-weight-only-child": only_child,
    "queue-guarantee-too-large": guarantee_too_large,
    "queue-deserved": deserved,
    "queue-default-parent": default_parent,
    "queue-set-aside": set_aside,
}
