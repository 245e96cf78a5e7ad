"""Reclaim, across queues: docs/specification/eviction.md, Reclaim."""

from collections import defaultdict
from fractions import Fraction
from typing import Any

from reference.amounts import Amounts, Tables
from reference.attempt import Attempt
from reference.objects import Domain, PodGroup, total_request
from reference.turns import Turns
from reference.units import Losses, Unit
from reference.water_filling import ROOT


class Reclaim(Attempt):
    """One attempt of a queue to get what it deserves back from others."""

    action = "reclaim"

    def __init__(self, cycle: Turns, group: PodGroup) -> None:
        super().__init__(cycle, group)
        self.reserved = cycle.reserved_for_others(self.leaf, self.request)
        self.own_path = [*cycle.path[self.leaf], ROOT]
        self.aim(None)

    def aim(self, domain: Domain | None) -> None:
        """Find the resources that the beneficiary needs and cannot get, there or in any allowed domain."""
        cycle = self.cycle
        domains = [domain] if domain else self.domains() or [cycle.whole]
        self.shortage = set.intersection(*(self.cannot_get(one.nodes) for one in domains)) or set(
            self.request
        )
        self.reserved_first = self.is_within_guarantee()
        self.share_before = {
            name: cycle.share(name, cycle.used[name], self.shortage) for name in cycle.queues
        }
        self.on_loan: Tables = defaultdict(Amounts)  # what units on loan hold of a queue's use
        for leaf in cycle.leaves:
            loans = [
                unit
                for victim in cycle.groups_in(leaf)
                for unit in self.units_in_time(victim)
                if self.is_on_loan(unit)
            ]
            for name in cycle.path[leaf]:
                self.on_loan[name] = self.on_loan[name].plus(cycle.losses(loans).queues[name])

    def worthwhile(self) -> bool:
        """Whether the queue stays within deserved (law 4 of eviction), and idle room is not enough."""
        used, deserved = self.cycle.used[self.leaf], self.cycle.shares.deserved[self.leaf]
        idle_is_enough = not self.reserved and self.places([]) is not None
        return (
            bool(self.pods)
            and not idle_is_enough
            and all(
                used[resource] + amount <= deserved[resource] for resource, amount in self.request.items()
            )
        )

    def cannot_get(self, nodes: frozenset[str]) -> set[str]:
        """What it needs and cannot get; idle room that is reserved for others counts as not there."""
        idle = [
            node.allocatable.minus(self.cycle.held_later[node.name])
            for node in self.cycle.usable_nodes()
            if node.name in nodes
        ]
        shortage = set(self.reserved)
        for resource, amount in self.request.items():
            largest = max((room[resource] for room in idle), default=Fraction(0))
            is_too_large = any(pod.request[resource] > largest for pod in self.pods)
            if is_too_large or amount > sum(room[resource] for room in idle):
                shortage.add(resource)
        return shortage or set(self.request)

    def is_within_guarantee(self) -> bool:
        """Whether its queue stays within a guarantee that names every resource it cannot get."""
        for name in self.cycle.path[self.leaf]:
            queue, guarantee = self.cycle.queues[name], self.cycle.shares.guarantee[name]
            named = self.request.keys() & (queue.guarantee.keys() | queue.percentage.keys())
            after = self.cycle.used[name].plus(self.request)
            if self.shortage <= named and all(after[resource] <= guarantee[resource] for resource in named):
                return True
        return False

    def branch(self, leaf: str) -> list[str]:
        """A victim's leaf and the queues above it, up to the level where the branches meet."""
        return [name for name in self.cycle.path[leaf] if name not in self.own_path]

    def own_branch(self, leaf: str) -> str:
        """The beneficiary's queue at the level where its branch meets the victim's."""
        return next(
            name for name in reversed(self.own_path) if name != ROOT and name not in self.cycle.path[leaf]
        )

    def branch_order(self, leaf: str, losses: Losses) -> tuple[Any, ...]:
        """Nearest first; then lower priority, smaller weight, larger share, younger, from the top down."""
        branch, keys = self.branch(leaf), []
        for name in reversed(branch):
            queue, used = self.cycle.queues[name], self.cycle.used[name].minus(losses.queues[name])
            share = self.cycle.share(name, used)
            keys.append((queue.priority, queue.weight, -share, -queue.created.timestamp(), name))
        shared_levels = len(self.cycle.path[leaf]) - len(branch)
        return (-shared_levels, keys)

    def candidates(self, taken: list[Unit]) -> list[Unit]:
        """From reclaimable leaf queues, what holds a resource that the beneficiary cannot get."""
        losses, ordered = self.cycle.losses(taken), list[tuple[Any, Any, int, Unit]]()
        for leaf in self.cycle.leaves:
            if leaf == self.leaf or not self.cycle.queues[leaf].reclaimable:
                continue
            order = self.branch_order(leaf, losses)
            for group in self.cycle.groups_in(leaf):
                for unit in self.units(group, taken):
                    if total_request(unit.pods).keys() & self.shortage:
                        ordered.append((order, self.cycle.unit_order(unit, losses), len(ordered), unit))
        return [unit for *_, unit in sorted(ordered, key=lambda entry: entry[:3])]

    def units_in_time(self, group: PodGroup) -> list[Unit]:
        """What a group could give without minimum run times: what is on loan does not depend on the time."""
        return self.cycle.units(group, self.action, [], young=lambda _: False)

    def is_on_loan(self, unit: Unit) -> bool:
        """Whether it, or the gang it is surplus of, alone exceeds what its queue deserves."""
        deserved = self.cycle.shares.deserved[unit.group.queue]
        whole = (
            [other for other in self.units_in_time(unit.group) if not other.surplus] if unit.surplus else []
        )
        return any(
            total_request(one.pods)[resource] > deserved[resource]
            for one in [unit, *whole]
            for resource in self.shortage
        )

    def may_take(self, unit: Unit, taken: list[Unit]) -> bool:
        """Law 3 of eviction, for one unit more; of a unit on loan only overuse is asked."""
        branch = self.branch(unit.group.queue)
        if self.is_on_loan(unit):
            before = self.cycle.losses(taken)
            return all(self.cycle.overused(name, self.shortage, before.queues[name]) for name in branch)
        others = [one for one in taken if not self.is_on_loan(one)]
        before, after = self.cycle.losses(others), self.cycle.losses([*others, unit])
        if not all(
            self.cycle.overused(name, self.shortage, before.queues[name].plus(self.on_loan[name]))
            for name in branch
        ):
            return False
        if not all(self.keeps_guarantee(name, after.queues[name]) for name in branch):
            return False
        top, own = branch[-1], self.own_branch(unit.group.queue)
        share_after = self.cycle.share(top, self.own_use(top).minus(after.queues[top]), self.shortage)
        return self.reserved_first or share_after > self.share_before[own]

    def own_use(self, name: str) -> Amounts:
        """What a queue uses as if units on loan were gone: so it is counted for all other units."""
        return self.cycle.used[name].minus(self.on_loan[name])

    def keeps_guarantee(self, name: str, lost: Amounts) -> bool:
        """Whether a victim's queue stays at or above its guarantee (law 3 of eviction)."""
        used, guarantee = self.own_use(name), self.cycle.shares.guarantee[name]
        return all(
            guarantee[resource] == 0 or used[resource] - amount >= guarantee[resource]
            for resource, amount in lost.asked().items()
        )

    @property
    def limits(self) -> Tables:
        """Reclaim is for what a queue deserves."""
        return self.cycle.shares.deserved

    def allows(self, losses: Losses) -> bool:
        """Within deserved at every level, net of losses (law 4); nothing reserved is given away."""
        within_deserved = self.cycle.within(self.leaf, self.request, self.cycle.shares.deserved, losses)
        return within_deserved and not self.cycle.reserved_for_others(self.leaf, self.request, losses)
