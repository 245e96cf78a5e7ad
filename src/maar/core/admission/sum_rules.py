"""Rules about what queues guarantee together, asked only where a change makes a sum or its limit worse."""

from collections.abc import Iterator, Mapping
from typing import Final

from maar.core.admission.levels import guarantees_above
from maar.core.admission.plain import below, brief
from maar.core.admission.queue_case import QueueCase
from maar.core.admission.queue_rules import guarantee_field
from maar.core.admission.request import Problem
from maar.core.admission.reservations import AmountsByName
from maar.core.admission.rulebook import Rule, about_others
from maar.core.model.queue import Queue
from maar.core.model.resources import precisely


def guarantee_total(queue: QueueCase) -> Iterator[Problem]:
    """A guarantee is no more than the cluster's total, while the cluster has nodes."""
    return over_total(queue) if queue.options.guarantee_over_total == "refuse" else iter(())


def over_total(queue: QueueCase) -> Iterator[Problem]:
    """Guarantees beyond what the cluster has."""
    total = queue.known.total.amounts
    before = queue.old.spec.guarantee.resource if queue.old is not None else {}
    for resource, units in queue.spec.guarantee.resource.items() if total is not None else ():
        most = max(0, (total or {}).get(resource, 0))
        if units > max(most, before.get(resource, 0)):
            amount, limit = precisely(resource, units), precisely(resource, most)
            sentence = (
                f"is {amount}, and the cluster's total is {limit}; "
                "lower it or add nodes (--guarantee-over-total=warn lets it wait for nodes that come later)"
            )
            yield Problem(guarantee_field(queue, resource), amount, sentence)


@about_others
def guarantee_parent(queue: QueueCase) -> Iterator[Problem]:
    """Children together guarantee no more than their parent guarantees, where it sets a guarantee."""
    return _over_limit(queue, "guarantee")


@about_others
def guarantee_parent_capability(queue: QueueCase) -> Iterator[Problem]:
    """Children together guarantee no more than their parent's capability, where it sets one."""
    return _over_limit(queue, "capability")


def _over_limit(queue: QueueCase, word: str) -> Iterator[Problem]:
    """Sums of guarantees that exceed what a queue sets: the levels above, and the queue's own children."""
    if not queue.is_resized:
        return
    for level in guarantees_above(queue):
        parent = level.parent.metadata.name
        for resource, most in _limits(queue, level.parent, word).items():
            after = level.after.get(resource, 0)
            if after > max(most, level.before.get(resource, 0)):
                sums = f"{resource} {precisely(resource, after)}"
                sentence = (
                    f"brings what the children of {parent} guarantee together to {sums}, must be <= {word} "
                    f"of {parent}, {precisely(resource, most)}; lower it or raise that {word}"
                )
                yield Problem(*_place(queue, resource), sentence)
    yield from _under_children(queue, word)


def _under_children(queue: QueueCase, word: str) -> Iterator[Problem]:
    """A limit that the queue's own children already exceed."""
    together = queue.known.reservations.below(queue.name)
    before = _limits(queue, queue.old, word) if queue.old is not None else {}
    for resource, most in _limits(queue, queue.new, word).items():
        if together.get(resource, 0) > most and most < before.get(resource, most + 1):
            amount, more = precisely(resource, most), precisely(resource, together[resource])
            sentence = (
                f"is {amount}, and its children guarantee {more} together; "
                "lower theirs first, or set at least as much here"
            )
            field = below("spec.capability", resource)
            yield Problem(
                guarantee_field(queue, resource) if word == "guarantee" else field, amount, sentence
            )


def _limits(queue: QueueCase, parent: Queue, word: str) -> AmountsByName:
    return queue.known.reservations.declared(parent) if word == "guarantee" else parent.spec.capability


def _place(queue: QueueCase, resource: str) -> tuple[str, str]:
    """The field that makes the difference, and its value."""
    declared = queue.known.reservations.declared(queue.new)
    if resource in declared:
        return guarantee_field(queue, resource), precisely(resource, declared[resource])
    return "spec.parent", brief(queue.new.parent)


RULES: Final[Mapping[str, Rule[QueueCase]]] = {
    "queue-guarantee-total": guarantee_total,
    "queue-guarantee-parent": guarantee_parent,
    "queue-guarantee-parent-capability": guarantee_parent_capability,
}
