"""Preempt, inside one queue: docs/specification/eviction.md, Preempt."""

from reference.amounts import Amounts
from reference.attempt import Attempt
from reference.objects import PodGroup, total_request
from reference.turns import Turns
from reference.units import Losses, Unit


class Preempt(Attempt):
    """One attempt of a group to take the place of others of its queue."""

    action = "preempt"

    def __init__(self, cycle: Turns, group: PodGroup) -> None:
        super().__init__(cycle, group)
        self.was_ready = cycle.ready(group)
        self.job_before = cycle.dominant(cycle.used_by_group(group))
        self.namespace_before = cycle.namespace_share(self.leaf, group.namespace, Amounts())
        self.by_priority = cycle.configuration.is_enabled("priority", "enablePreemptable")
        self.by_fairness = cycle.configuration.is_enabled("drf", "enablePreemptable")

    def worthwhile(self) -> bool:
        """Whether there is anything to try; never for a group that would run on loan."""
        deserved, held = self.cycle.shares.deserved[self.leaf], total_request(self.cycle.core(self.group))
        gang = held if self.was_ready else held.plus(self.request)
        return super().worthwhile() and all(
            max(gang[resource], amount) <= deserved[resource] for resource, amount in self.request.items()
        )

    def candidates(self, taken: list[Unit]) -> list[Unit]:
        """The units of the queue's other pod groups."""
        losses = self.cycle.losses(taken)
        groups = [group for group in self.cycle.groups_in(self.leaf) if group.name != self.group.name]
        units = [unit for group in groups for unit in self.units(group, taken)]
        return sorted(units, key=lambda unit: self.cycle.unit_order(unit, losses))

    def may_take(self, unit: Unit, taken: list[Unit]) -> bool:
        """Of lower priority, or of a namespace or job that holds more; for surplus only of lower priority."""
        victim, lower = unit.group, unit.group.priority < self.group.priority
        if self.was_ready and not lower:
            return False
        losses = self.cycle.losses([*taken, unit])
        if victim.namespace != self.group.namespace:
            lost = losses.namespaces[self.leaf, victim.namespace]
            return (
                self.by_fairness
                and victim.priority <= self.group.priority
                and self.cycle.namespace_share(self.leaf, victim.namespace, lost) > self.namespace_before
            )
        if lower and self.by_priority:
            return True
        share_after = self.cycle.dominant(self.cycle.used_by_group(victim).minus(losses.groups[victim.name]))
        return self.by_fairness and victim.priority == self.group.priority and share_after > self.job_before

    def allows(self, losses: Losses) -> bool:
        """The queue ends within real capability, and nothing reserved is given away."""
        return self.cycle.keeps_reservations(self.leaf, self.request, losses)
