"""The rule about capabilities: children stay within the nearest queue above them that sets one."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from maar.core.admission.plain import below, brief
from maar.core.admission.queue_case import QueueCase
from maar.core.admission.request import Problem
from maar.core.admission.rulebook import Rule, about_others
from maar.core.model.queue import Queue
from maar.core.model.resources import precisely


class CapabilityLimit(NamedTuple):
    """The capability that holds for the children of a queue, and the queue that sets it."""

    units: int
    setter: str


@about_others
def capability_parent(queue: QueueCase) -> Iterator[Problem]:
    """Children's capabilities together (--child-capability=max: each) stay within the nearest one above."""
    if queue.is_resized and queue.has_place:
        yield from _above(queue)
        yield from _below(queue)


def _above(queue: QueueCase) -> Iterator[Problem]:
    """The queue among its siblings, where that makes it worse."""
    parent, path = queue.new.parent, list(queue.known.above(queue.new))
    stored = queue.known.queue(queue.name)
    was_there = stored is not None and stored.parent == parent
    for resource, units in queue.spec.capability.items():
        limit = _nearest(path, resource)
        if limit is None:
            continue
        own = stored.spec.capability.get(resource, 0) if stored is not None and was_there else 0
        before = queue.known.reservations.capped_below(parent).get(resource, 0)
        after, words = before - own + units, f"the capabilities of the children of {parent} together to"
        if queue.options.child_capability == "max":
            before, after, words = own, units, "its capability to"
        if after > max(limit.units, before):
            sentence = (
                f"brings {words} {resource} {precisely(resource, after)}, must be <= capability of "
                f"{limit.setter}, {precisely(resource, limit.units)}; lower it or raise that capability"
            )
            yield Problem(below("spec.capability", resource), precisely(resource, units), sentence)


def _below(queue: QueueCase) -> Iterator[Problem]:
    """The queues below, where a capability that holds for the queue gets smaller."""
    after = [queue.new, *queue.known.above(queue.new)]
    before = [queue.old, *queue.known.above(queue.old)] if queue.old is not None else []
    for resource in dict.fromkeys(resource for one in after for resource in one.spec.capability):
        limit, old = _nearest(after, resource), _nearest(before, resource)
        if limit is None or (old is not None and old.units <= limit.units):
            continue
        for words, units in _capped(queue, resource):
            if units > limit.units:
                most = precisely(resource, limit.units)
                sentence = (
                    f"makes the capability of {limit.setter}, {resource} {most}, the most for what is below, "
                    f"and {words} {precisely(resource, units)}; lower that first"
                )
                yield Problem(*_place(queue, resource), sentence)
                break


def _place(queue: QueueCase, resource: str) -> tuple[str, str]:
    """The field that makes the difference, and its value."""
    if resource in queue.spec.capability:
        units = queue.spec.capability[resource]
        return below("spec.capability", resource), precisely(resource, units)
    return "spec.parent", brief(queue.new.parent)


def _capped(queue: QueueCase, resource: str) -> Iterator[tuple[str, int]]:
    """What is compared with the capability that holds at the queue: as text, and the amount."""
    todo = [queue.name]
    seen = {queue.name}
    for name in todo:
        children = [one for one in map(queue.known.queue, queue.known.children(name)) if one is not None]
        if queue.options.child_capability == "sum":
            yield (
                f"the children of {name} together have",
                queue.known.reservations.capped_below(name).get(resource, 0),
            )
        else:
            yield from (
                (f"{one.metadata.name} has", one.spec.capability.get(resource, 0)) for one in children
            )
        new = {one.metadata.name for one in children if resource not in one.spec.capability} - seen
        seen |= new
        todo += sorted(new)


def _nearest(path: Iterable[Queue], resource: str) -> CapabilityLimit | None:
    for one in path:
        if resource in one.spec.capability:
            return CapabilityLimit(one.spec.capability[resource], one.metadata.name)
    return None


RULES: Final[Mapping[str, Rule[QueueCase]]] = {"queue-capability-parent": capability_parent}
