"""How a change of one queue would move the sums above it: level by level, before and after."""

from collections.abc import Iterator
from dataclasses import dataclass

from maar.core.admission.queue_case import QueueCase
from maar.core.admission.reservations import AmountsByName, larger
from maar.core.model.queue import ROOT, Queue


@dataclass(frozen=True)
class ChangedGuarantees:
    """A queue whose children's guarantees change: what they come to, and what the queue itself sets."""

    parent: Queue
    before: AmountsByName
    after: AmountsByName


def guarantees_above(queue: QueueCase) -> Iterator[ChangedGuarantees]:
    """Every level above a queue on which more or less would be guaranteed than now, nearest first."""
    if queue.name == ROOT or not queue.has_place:
        return
    sums, known = queue.known.reservations, queue.known.queue(queue.name)
    path = list(queue.known.above(queue.new))
    gained = {path[0].metadata.name: larger(sums.declared(queue.new), sums.below(queue.name))}
    if known is not None:
        where, lost = _lost(queue, known, {one.metadata.name for one in path})
        gained[where] = _difference(gained.get(where, {}), lost)
    change: AmountsByName = {}
    for parent in path:
        change = _sum(change, gained.get(parent.metadata.name, {}))
        before = sums.below(parent.metadata.name)
        after = _sum(before, change)
        if any(change.values()):
            yield ChangedGuarantees(parent, before, after)
        own = sums.declared(parent)
        change = _difference(larger(own, after), larger(own, before))


def guaranteed_in_all(queue: QueueCase) -> AmountsByName:
    """What all queues below the root would guarantee together."""
    at_root = [level.after for level in guarantees_above(queue) if level.parent.metadata.name == ROOT]
    return at_root[0] if at_root else queue.known.reservations.below(ROOT)


def _lost(queue: QueueCase, known: Queue, path: set[str]) -> tuple[str, AmountsByName]:
    """What the old place loses, at the first queue that is above both the old and the new place."""
    sums = queue.known.reservations
    lost = sums.of(known)
    for parent in queue.known.above(known):
        if parent.metadata.name in path:
            return parent.metadata.name, lost
        before = sums.below(parent.metadata.name)
        own = sums.declared(parent)
        lost = _difference(larger(own, before), larger(own, _difference(before, lost)))
    return "", {}


def _sum(one: AmountsByName, other: AmountsByName) -> AmountsByName:
    return {resource: one.get(resource, 0) + other.get(resource, 0) for resource in {**one, **other}}


def _difference(one: AmountsByName, other: AmountsByName) -> AmountsByName:
    return {resource: one.get(resource, 0) - other.get(resource, 0) for resource in {**one, **other}}
