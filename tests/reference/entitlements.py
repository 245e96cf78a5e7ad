"""What queues, namespaces and pod groups use, and up to where they may: docs/specification/terms.md."""

import math
from collections.abc import Iterable
from fractions import Fraction

from reference.amounts import Amounts, Tables
from reference.objects import Pod, PodGroup, total_request
from reference.state import State
from reference.subgroups import is_gang, peel
from reference.units import Losses
from reference.water_filling import own_guarantee


class Entitlements(State):
    """A state in which use is compared with what queues may have."""

    def used_by_group(self, group: PodGroup) -> Amounts:
        """What the pods of a group hold, promises included."""
        return total_request(self.holders(group))

    def used_by_namespace(self, leaf: str, namespace: str) -> Amounts:
        """What a namespace uses in this queue."""
        return total_request(
            pod
            for group in self.groups_in(leaf)
            if group.namespace == namespace
            for pod in self.holders(group)
        )

    def share(self, queue: str, used: Amounts, resources: Iterable[str] | None = None) -> Fraction | float:
        """Used ÷ deserved on the resource where that is largest; 0 ÷ 0 is 0, x ÷ 0 is infinite."""
        largest: Fraction | float = Fraction(0)
        for resource in used if resources is None else resources:
            if used[resource] > 0:
                deserved = self.shares.deserved[queue][resource]
                largest = max(largest, used[resource] / deserved if deserved else math.inf)
        return largest

    def dominant(self, used: Amounts) -> Fraction | float:
        """Dominant share of the cluster's total."""
        return max(
            (
                amount / self.budget[resource] if self.budget[resource] else math.inf
                for resource, amount in used.asked().items()
            ),
            default=Fraction(0),
        )

    def namespace_share(self, leaf: str, namespace: str, lost: Amounts) -> Fraction | float:
        """Dominant share that it uses in this queue ÷ weight."""
        used = self.used_by_namespace(leaf, namespace).minus(lost)
        return self.dominant(used) / self.cluster.namespace_weights.get(namespace, 1)

    def overused(self, queue: str, resources: Iterable[str], lost: Amounts) -> bool:
        """Whether used exceeds deserved on some resource."""
        return any(
            self.used[queue][resource] - lost[resource] > self.shares.deserved[queue][resource]
            for resource in resources
        )

    def within(self, leaf: str, request: Amounts, limits: Tables, losses: Losses | None = None) -> bool:
        """Whether a queue and each one above stay within a limit with the request, net of losses."""
        losses = losses or Losses()
        for name in self.path[leaf]:
            for resource, amount in request.asked().items():
                used = self.used[name][resource] - losses.queues[name][resource]
                if used + amount > limits[name][resource]:
                    return False
        return True

    def holds(self, queue: str, resource: str, change: dict[str, Fraction]) -> Fraction:
        """Of a leaf max(used, guarantee); of an inner queue max(own guarantee, what its children hold)."""
        guarantee = self.shares.guarantee[queue][resource]
        if queue in self.leaves:
            return max(self.used[queue][resource] + change.get(queue, Fraction(0)), guarantee)
        own = min(own_guarantee(self.claims[queue], resource, self.budget), guarantee)
        below = (self.holds(child, resource, change) for child in self.children[queue])
        return max(own, sum(below, Fraction(0)))

    def reserved_for_others(self, leaf: str, request: Amounts, losses: Losses | None = None) -> set[str]:
        """The resources on which a turn would give away what is reserved for other queues."""
        broken = set()
        for resource, amount in request.asked().items():
            change = {
                name: -lost[resource]
                for name, lost in (losses.queues if losses else {}).items()
                if name in self.leaves
            }
            change[leaf] = change.get(leaf, Fraction(0)) + amount
            for name in self.path[leaf]:
                parent = self.queues[name].parent
                raised = self.holds(name, resource, change) > self.holds(name, resource, {})
                together = sum(self.holds(sibling, resource, change) for sibling in self.children[parent])
                if raised and together > self.shares.real_capability[parent][resource]:
                    broken.add(resource)
        return broken

    def holds_something(self, group: PodGroup) -> bool:
        """Whether pods of the group are on nodes or have a promise."""
        return bool(self.holders(group) or self.running(group))

    def lacks_pods(self, group: PodGroup) -> bool:
        """Whether a group cannot be tried; pods that have succeeded count towards `minMember`."""
        there = [pod for pod in self.pods_of[group.name] if pod.phase == "Succeeded" or pod.live]
        there = [pod for pod in there if not self.gone(pod)]
        return not is_gang(group, there) if group.policies else len(there) < group.min_member

    def admitted_amount(self, group: PodGroup) -> Amounts:
        """The larger of `minResources` and what its pods hold without surplus."""
        return total_request(self.core(group)).larger(group.min_resources or Amounts())

    def core(self, group: PodGroup) -> list[Pod]:
        """What a group holds without its surplus."""
        holders = self.holders(group)
        if group.policies:
            return peel(group, holders[::-1], holders, holders)[1]
        return holders[: group.min_member]


def fits_below(path: Iterable[str], wanted: Amounts, admitted: Tables, limits: Tables) -> bool:
    """Whether admitted + wanted stays within a limit at every level of the path."""
    return all(
        admitted[name][resource] + amount <= limits[name][resource]
        for name in path
        for resource, amount in wanted.items()
    )
