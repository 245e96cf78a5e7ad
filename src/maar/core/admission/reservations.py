"""What queues guarantee and cap together, remembered until something below them changes."""

from collections import Counter
from collections.abc import Iterable, Mapping

from maar.core.admission.total import Total
from maar.core.fairshare.claim import HUNDRED_PERCENT
from maar.core.model.queue import Queue

Amounts = Mapping[str, int]


class Reservations:
    """Sums over the tree; `forget` names the queues below which something has changed."""

    def __init__(
        self, queues: Mapping[str, Queue], children: Mapping[str, Iterable[str]], total: Total
    ) -> None:
        self._queues, self._children, self._total = queues, children, total
        self._guaranteed: dict[str, Amounts] = {}
        self._capped: dict[str, Amounts] = {}
        self._has_percentages = False  # among what is remembered
        self._counted_at = 0  # the version of the total that percentages were counted with

    def declared(self, queue: Queue) -> Amounts:
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

    def of(self, queue: Queue) -> Amounts:
        """What a queue guarantees: the larger of its own and its children's together."""
        return larger(self.declared(queue), self.below(queue.metadata.name))

    def below(self, name: str) -> Amounts:
        """What a queue's children guarantee together."""
        if name not in self._children:
            return {}
        if self._has_percentages and self._counted_at != self._total.version:
            self._guaranteed.clear()
            self._has_percentages = False
        self._counted_at = self._total.version
        if name not in self._guaranteed:
            for queue in reversed(self._unknown(name)):
                self._guaranteed[queue] = self._sum_below(queue)
        return self._guaranteed[name]

    def capped_below(self, name: str) -> Amounts:
        """What the capabilities of a queue's children come to."""
        if name not in self._children:
            return {}
        if name not in self._capped:
            together: Counter[str] = Counter()
            for child in self._children[name]:
                for resource, units in self._queues[child].spec.capability.items():
                    together[resource] += units
            self._capped[name] = together
        return self._capped[name]

    def forget(self, names: Iterable[str]) -> None:
        """Add up anew below these queues when somebody asks."""
        for name in names:
            self._guaranteed.pop(name, None)
            self._capped.pop(name, None)

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

    def _sum_below(self, name: str) -> Amounts:
        together: Counter[str] = Counter()
        for child in self._children.get(name, ()):
            own = self.declared(self._queues[child])
            for resource, units in larger(own, self._guaranteed.get(child, {})).items():
                together[resource] += units
        return together


def larger(one: Amounts, other: Amounts) -> Amounts:
    """The larger amount, resource by resource."""
    if not one or not other:
        return one or other
    return {resource: max(one.get(resource, 0), other.get(resource, 0)) for resource in {**one, **other}}
