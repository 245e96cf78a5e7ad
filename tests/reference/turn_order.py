"""Whose turn it is: docs/specification/cycle.md, Order of turns."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from reference.amounts import Amounts
from reference.entitlements import Entitlements
from reference.objects import PodGroup
from reference.water_filling import ROOT

Order = Callable[[str], tuple[Any, ...]]


class TurnOrder(Entitlements):
    """A state in which queues and pod groups have an order."""

    def queue_order(self, name: str) -> tuple[Any, ...]:
        """By priority, then smallest share, then age."""
        queue = self.queues[name]
        return (-queue.priority, self.share(name, self.used[name]), queue.created, name)

    def lending_order(self, name: str) -> tuple[Any, ...]:
        """By priority, then smallest dominant share of the cluster in use ÷ weight, then age."""
        queue = self.queues[name]
        return (-queue.priority, self.dominant(self.used[name]) / queue.weight, queue.created, name)

    def leaves_in(self, order: Order, below: str = ROOT) -> list[str]:
        """The leaf queues, in order at each level of the tree."""
        result = []
        for child in sorted(self.children[below], key=order):
            result += self.leaves_in(order, child) if self.children[child] else [child]
        return result

    def job_order(self, group: PodGroup) -> tuple[Any, ...]:
        """By priority, those not ready first, then smallest dominant share, then age."""
        return (
            -group.priority,
            self.ready(group),
            self.dominant(self.used_by_group(group)),
            group.created,
            group.name,
        )

    def best_job(self, leaf: str, groups: list[PodGroup]) -> PodGroup:
        """The best job of the neediest namespace; of equal ones, that with the oldest waiting group."""
        oldest: dict[str, datetime] = {}
        for group in groups:
            oldest[group.namespace] = min(group.created, oldest.get(group.namespace, group.created))
        chosen = min(
            oldest,
            key=lambda namespace: (
                self.namespace_share(leaf, namespace, Amounts()),
                oldest[namespace],
                namespace,
            ),
        )
        return min((group for group in groups if group.namespace == chosen), key=self.job_order)

    def next_group(self, order: Order, waits: Callable[[PodGroup], bool]) -> PodGroup | None:
        """The best job of the neediest namespace of the neediest queue where any waits."""
        for leaf in self.leaves_in(order):
            groups = [group for group in self.groups_in(leaf) if waits(group)]
            if groups:
                return self.best_job(leaf, groups)
        return None

    def stopped_by(self, group: PodGroup) -> set[str]:
        """In a fifo queue the first job that does not fit stops those behind it."""
        return (
            {other.name for other in self.groups_in(group.queue)}
            if self.queues[group.queue].fifo
            else {group.name}
        )
