"""What queues guarantee and cap together, remembered until something below them changes."""

from collections.abc import Iterable, Mapping

from maar.core.admission.total import Total
from maar.core.fairshare.queue_demand import HUNDRED_PERCENT
from maar.core.model.queue import Queue

AmountsByName = Mapping[str, int]


class Reservations:
    """Sums over the tree; `forget` names the queues that have changed, or below which something has."""

    def __init__(
        self, queues: Mapping[str, Queue], children: Mapping[str, Iterable[str]], total: Total
    ) -> None:
        self._queues, self._children, self._total = queues, children, total
        self._guaranteed: dict[
            str, AmountsByName
        ] = {}  # by each queue, as plain dictionaries: ten times faster
        self._guaranteed_below: dict[str, AmountsByName] = {}
        self._capability: dict[str, AmountsByName] = {}
        self._capped_below: dict[str, AmountsByName] = {}
        self._has_percentages = False  # among what is remembered
        self._counted_at = 0  # the version of the total that percentages were counted with

    def declared(self, queue: Queue) -> AmountsByName:
        """What a queue itself guarantees, percentages as that part of the cluster's total."""
        guarantee = queue.spec.guarantee
        if not guarantee.percentage:
            return guarantee.resource
        self._has_percentages = True
        total = self._total.amounts or {}
        amounts = dict(guarantee.resource)
        for resource, part in guarantee.percentage.items():
            share = max(0, total.get(resource, 0)) * part // HUNDRED_PERCENT
            amounts[resource] = max(amounts.get(resource, 0), share)
        return amounts

    def of(self, queue: Queue) -> AmountsByName:
        """What a queue guarantees: the larger of its own and its children's together."""
        return larger(self.declared(queue), self.below(queue.metadata.name))

    def below(self, name: str) -> AmountsByName:
        """What a queue's children guarantee together."""
        if name not in self._children:
            return {}
        if self._has_percentages and self._counted_at != self._total.version:
            self._guaranteed.clear()
            self._guaranteed_below.clear()
            self._has_percentages = False
        self._counted_at = self._total.version
        if name not in self._guaranteed_below:
            for queue in reversed(self._unknown(name)):
                self._count(queue)
        return self._guaranteed_below[name]

    def capped_below(self, name: str) -> AmountsByName:
        """What the capabilities of a queue's children come to."""
        if name not in self._children:
            return {}
        if name not in self._capped_below:
            children = self._children[name]
            for child in children:
                if child not in self._capability:
                    self._capability[child] = dict(self._queues[child].spec.capability)
            self._capped_below[name] = _sum([self._capability[child] for child in children])
        return self._capped_below[name]

    def forget(self, names: Iterable[str]) -> None:
        """Drop the sums that these queues are part of; they are computed again when next read."""
        for name in names:
            self._guaranteed.pop(name, None)
            self._guaranteed_below.pop(name, None)
            self._capability.pop(name, None)
            self._capped_below.pop(name, None)

    def _unknown(self, name: str) -> list[str]:
        """The queue and those below it that have not been added up, each before its children."""
        found = {name: None}
        todo = [name]
        for queue in todo:
            for child in self._children.get(queue, ()):
                if child not in found and child not in self._guaranteed:
                    found[child] = None
                    todo.append(child)
        return todo

    def _count(self, name: str) -> None:
        """Add up one queue after its children; in a circle some have not been, and count nothing."""
        children = self._children.get(name, ())
        together = _sum([self._guaranteed.get(child, {}) for child in children])
        self._guaranteed_below[name] = together
        if name in self._queues:
            self._guaranteed[name] = dict(larger(self.declared(self._queues[name]), together))


def _sum(of_all: Iterable[AmountsByName]) -> AmountsByName:
    together: dict[str, int] = {}
    for amounts in of_all:
        for resource, units in amounts.items():
            together[resource] = together.get(resource, 0) + units
    return together


def larger(one: AmountsByName, other: AmountsByName) -> AmountsByName:
    """The larger amount, resource by resource."""
    if not one or not other:
        return one or other
    return {resource: max(one.get(resource, 0), other.get(resource, 0)) for resource in {**one, **other}}
