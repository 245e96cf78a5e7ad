"""Which pod groups are let in: docs/specification/cycle.md, Enqueue."""

from copy import copy
from functools import partial

from reference.amounts import Amounts, Tables
from reference.attempt import Attempt, stays_on
from reference.entitlements import fits_below
from reference.objects import PodGroup, total_request
from reference.preempt import Preempt
from reference.state import ADMITTED_PHASES
from reference.turns import Turns
from reference.units import Unit
from reference.water_filling import ROOT


class Gate(Turns):
    """A state in which pod groups are let in."""

    def enqueue(self) -> None:
        """Let pod groups in, in fair order; those inside that hold nothing take their turn too."""
        self.counted, self.counted_within_deserved = self.held_amounts(), self.held_amounts()
        self.not_counted = Amounts()
        self.not_tried = {
            name
            for name, group in self.cluster.groups.items()
            if self.waits_inside(group) and self.lacks_pods(group)
        }
        judged: set[str] = set()

        def waits(group: PodGroup) -> bool:
            is_waiting = self.phase[group.name] == "Pending" or self.waits_inside(group)
            return is_waiting and group.name not in judged

        while group := self.next_group(self.queue_order, waits):
            judged.add(group.name)
            if self.has_room_to_enter(group):
                is_held_by_nodes = self.is_held_by_nodes(group)
                self.let_in(group)
                if not self.holds_something(group) and not is_held_by_nodes:  # else it counts already
                    self.count(group, self.counted)
                    if not self.would_run_on_loan(group):
                        self.count(group, self.counted_within_deserved)
            elif self.waits_inside(group) or self.opens_for(group):
                self.let_in(group)
            else:
                judged.update(name for name in self.stopped_by(group) if self.phase[name] == "Pending")

    def is_held_by_nodes(self, group: PodGroup) -> bool:
        """Whether it never starts on this cluster, or nodes refuse it while enough is idle.

        Groups of the second kind are left out of the count up to the total of the cluster together.
        """
        if not self.waits_inside(group) or self.lacks_pods(group):
            return False
        if self.never_starts(group):
            return True
        if group.unschedulable_since is None or not group.min_resources:
            return False
        wanted, nodes = group.min_resources.asked(), self.usable_nodes()
        together = self.not_counted.plus(wanted)
        for name, amount in wanted.items():
            idle = sum(node.allocatable[name] - self.held_later[node.name][name] for node in nodes)
            if idle < amount or together[name] > self.budget[name]:
                return False
        if not fits_below(self.path[group.queue], wanted, self.used, self.shares.real_capability):
            return False
        self.not_counted = together
        return True

    def never_starts(self, group: PodGroup) -> bool:
        """Whether its queue may not have as much of the empty cluster, or empty nodes cannot take it."""
        first = self.pending(group)[: max(group.min_member, 1)]
        empty = copy(self.cluster)
        empty.pods = {name: pod for name, pod in empty.pods.items() if not (pod.node or pod.nominated)}
        alone = type(self)(empty, self.configuration, self.now)
        if not alone.within(group.queue, total_request(first), alone.shares.real_capability):
            return True
        if group.policies or not first:
            return False
        all_pods = [pod for pod in self.cluster.pods.values() if pod.node and pod.live]
        return self.place(first, at_once=False, victims=all_pods) is None

    def opens_for(self, group: PodGroup) -> bool:
        """Where preempt is configured: whether it would make room, by amounts alone."""
        if "preempt" not in self.configuration.actions:
            return False
        attempt = GateAttempt(self, group)
        if attempt.search():
            return True
        self.note_until(attempt)
        return False

    def let_in(self, group: PodGroup) -> None:
        """A group that is inside stays inside; one that comes in now has not been tried."""
        if not self.waits_inside(group):
            self.phase[group.name] = "Inqueue"
            self.not_tried.add(group.name)

    def waits_inside(self, group: PodGroup) -> bool:
        """Inside, and holds nothing; one that was evicted whole and has no new pods is on its way out."""
        if (
            group.queue not in self.leaves
            or self.phase[group.name] not in ADMITTED_PHASES
            or self.holds_something(group)
        ):
            return False
        return self.phase[group.name] == "Inqueue" or bool(self.pending(group))

    def would_run_on_loan(self, group: PodGroup) -> bool:
        """Whether it alone exceeds what its queue deserves; then it counts for the first rule only."""
        deserved = self.shares.deserved[group.queue]
        return any(
            amount > deserved[resource]
            for resource, amount in (group.min_resources or Amounts()).asked().items()
        )

    def held_amounts(self) -> Tables:
        """What the groups that hold something count for; the others count as enqueue comes to them."""
        amounts: Tables = {name: Amounts() for name in self.queues}
        for group in self.cluster.groups.values():
            if self.holds_something(group):
                self.count(group, amounts)
        return amounts

    def count(self, group: PodGroup, amounts: Tables) -> None:
        """A group counts as admitted in its queue and all above it."""
        for name in [*self.path[group.queue], ROOT] if group.queue in self.leaves else []:
            amounts[name] = amounts[name].plus(self.admitted_amount(group))

    def has_room_to_enter(self, group: PodGroup) -> bool:
        """By real capability and overcommit, or within its queue's deserved, or within the guarantee."""
        if group.min_resources is None:
            return True
        wanted, admitted = group.min_resources.asked(), self.counted_within_deserved
        path, queue = self.path[group.queue], self.queues[group.queue]
        if self.is_under_ceilings(path, wanted, self.counted):
            return True
        if fits_below([queue.name], wanted, admitted, self.shares.deserved):
            return True
        reserved = queue.guarantee.keys() | queue.percentage.keys()
        named = Amounts({resource: amount for resource, amount in wanted.items() if resource in reserved})
        others = Amounts({resource: amount for resource, amount in wanted.items() if resource not in named})
        return (
            bool(named)
            and fits_below([queue.name], named, admitted, self.shares.guarantee)
            and self.is_under_ceilings(path, others, self.counted)
        )

    def is_under_ceilings(self, path: list[str], wanted: Amounts, admitted: Tables) -> bool:
        """Within real capability at every level, and for the cluster within overcommit factor times total."""
        real, is_enabled = self.shares.real_capability, self.configuration.is_enabled
        if is_enabled("proportion", "enableJobEnqueued") and not fits_below(path, wanted, admitted, real):
            return False
        factor = self.configuration.overcommit_factor
        limits = {ROOT: Amounts({resource: factor * amount for resource, amount in self.budget.items()})}
        is_limited = is_enabled("overcommit", "enableJobEnqueued")
        return not is_limited or fits_below([ROOT], wanted, admitted, limits)

    def note_until(self, attempt: Attempt) -> None:
        """The earliest time that an attempt gives for `VictimsProtectedUntil`."""
        name, until = attempt.group.name, attempt.until()
        if until is not None:
            self.protected_until[name] = min(until, self.protected_until.get(name, until))


class GateAttempt(Preempt):
    """What preempt would do for a group that is not let in yet, by amounts alone."""

    def __init__(self, cycle: Gate, group: PodGroup) -> None:
        super().__init__(cycle, group)
        self.request = (group.min_resources or Amounts()).asked()
        self.wanted = self.request
        for other in cycle.groups_in(self.leaf):
            if other.name in cycle.not_tried:
                self.wanted = self.wanted.plus(cycle.admitted_amount(other))

    def has_anybody(self) -> bool:
        """Whether there is a beneficiary; its pods may not be there yet."""
        return bool(self.pods) or self.cycle.lacks_pods(self.group)

    def fits(self, taken: list[Unit]) -> bool:
        """Without the units, what waits is within real capability at every level, and within the cluster."""
        losses, used = self.cycle.losses(taken), Amounts()
        wanted = Amounts({resource: self.wanted[resource] for resource in self.request})
        for name in self.cycle.children[ROOT]:
            used = used.plus(self.cycle.used[name]).minus(losses.queues[name])
        in_cluster = all(
            used[resource] + amount <= self.cycle.budget[resource] for resource, amount in wanted.items()
        )
        return (
            bool(taken)
            and in_cluster
            and self.cycle.within(self.leaf, wanted, self.cycle.shares.real_capability, losses)
        )

    def search(self) -> list[Unit]:
        """Search as preempt does; what it finds is neither trimmed nor taken."""
        if not self.worthwhile():
            return []
        areas = [None, *(partial(stays_on, node) for node in self.cycle.cluster.nodes)]
        return next((taken for area in areas if (taken := self.gather(area))), [])
