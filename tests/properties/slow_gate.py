"""Enqueue, the slow way: who counts as admitted at the gate, from docs/specification/cycle.md.

Whether preempt lets a group in is read from the plan; all else follows from the snapshot.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from maar.core.model.names import natural
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import ROOT
from properties.cluster_reading import ADMITTED_PHASES, Moment, Reading
from properties.cycle_outcomes import Outcome, fits_together, has_room, turn
from properties.definitions import Amounts, asked, total
from properties.placement_rules import joins_others, misplaced_by_itself
from properties.slow_fairshare import Share, share_out

OVERCOMMIT: Final = Fraction(6, 5)


@dataclass(frozen=True, eq=False)
class SlowGate:
    """The gate of one cycle."""

    outcome: Outcome

    @property
    def reading(self) -> Reading:
        """The snapshot."""
        return self.outcome.reading

    @cached_property
    def counted(self) -> dict[str, Amounts]:
        """Admitted, of every queue and of the root, at the end of enqueue."""
        return self._count()[0]

    @cached_property
    def refused_with_room(self) -> list[str]:
        """The groups that have room and are not admitted all the same."""
        return self._count()[1]

    def _count(self) -> tuple[dict[str, Amounts], list[str]]:
        counted = {name: Amounts() for name in (*self.reading.path, ROOT)}
        within = {name: Amounts() for name in self.reading.leaves}  # deserved: what rules 2 and 3 count
        refused, stopped, passed_over = list[str](), set[str](), Amounts()
        for key, group in self.reading.groups.items():
            if group.spec.queue in within and self.holds(key):
                self.add(counted, within, key, self.held_amount(key))
        for key in self.turns():
            leaf, is_outside = self.reading.groups[key].spec.queue, self.is_outside(key)
            if is_outside and leaf in stopped:
                continue
            wanted = asked(self.reading.to_start(key) or {})
            if self.has_room(key, wanted, counted, within):
                if is_outside and not self.outcome.is_admitted(key):
                    refused.append(key)
                if is_outside or not self.is_held_up(key, wanted, passed_over):
                    self.add(counted, within, key, wanted)
            elif is_outside and not self.outcome.is_admitted(key):
                is_fifo = self.reading.queues[leaf].spec.dequeue_strategy == "fifo"
                stopped |= {leaf} if is_fifo else set()
        return counted, refused

    def add(
        self,
        counted: Mapping[str, Amounts],
        within: Mapping[str, Amounts],
        key: str,
        amounts: Mapping[str, int],
    ) -> None:
        """Count a group in its queue and all above it; one that would run on loan not within deserved."""
        leaf, share = self.reading.groups[key].spec.queue, self.shares(key)
        for name in (*self.reading.path[leaf], ROOT):
            counted[name].update(amounts)
        deserved = share[leaf].deserved
        if self.holds(key) or all(units <= deserved.get(one, 0) for one, units in amounts.items()):
            within[leaf].update(amounts)

    def is_held_up(self, key: str, wanted: Mapping[str, int], passed_over: Amounts) -> bool:
        """Whether nodes hold up a group inside, and not amounts: it is then no reason to refuse others."""
        reading, first = self.reading, self.reading.at_first
        group = reading.groups[key]
        chosen = turn(first, key, first.waiting(key))
        if self.holds_room(key) or not chosen or not self.has_pods(key):
            return False
        alone = first.without([one for one, pod in reading.pods.items() if not comes_with_a_node(pod)])
        there = [reading.pods[one] for one in first.places]
        if any(suits_no_node(alone, pod) for pod in chosen) or self.is_beyond_the_empty(group, chosen):
            return True
        if not any(joins_others(pod, there) for pod in chosen) and fits_together(alone, chosen) is None:
            return True
        idle = total(first.idle(node.metadata.name) for node in reading.usable_nodes)
        is_idle = all(units <= idle[one] for one, units in wanted.items())
        is_bounded = all(passed_over[one] + units <= reading.budget[one] for one, units in wanted.items())
        if not (was_refused(group) and wanted and is_idle and is_bounded):
            return False
        for name in reading.path[group.spec.queue]:
            most = reading.shares[name].real_capability
            if any(first.used[name][one] + units > most.get(one, 0) for one, units in wanted.items()):
                return False
        passed_over.update(wanted)
        return True

    def is_beyond_the_empty(self, group: PodGroup, pods: Sequence[Pod]) -> bool:
        """Whether its queue may not have so much of the cluster without the pods of others."""
        needs = asked(total(pod.request for pod in pods))
        limits = [self._empty[name].real_capability for name in self.reading.path[group.spec.queue]]
        return any(units > most.get(one, 0) for most in limits for one, units in needs.items())

    @cached_property
    def _empty(self) -> Mapping[str, Share]:
        reading, pods = self.reading, self.reading.pods
        nodes = {node.metadata.name: node for node in reading.usable_nodes if reading.is_tolerated(node)}
        budget = total(node.status.allocatable for node in nodes.values())
        for key, node in reading.at_first.places.items():
            if node in nodes and comes_with_a_node(pods[key]):
                budget.subtract(pods[key].request)
        return share_out(reading.claims.values(), budget, reading.factors)

    def holds_room(self, key: str) -> bool:
        """Whether a group holds room by the plugin `sla`."""
        conditions = self.reading.groups[key].status.conditions
        return any(one.type == "HoldsRoom" and one.status == "True" for one in conditions)

    # --- who takes part

    def is_outside(self, key: str) -> bool:
        """Whether a group waits for admission."""
        return self.reading.phase(key) == "Pending"

    def takes_a_turn(self, key: str) -> bool:
        """Whether a group waits for admission, or was let in and holds nothing."""
        reading, spec = self.reading, self.reading.groups[key].spec
        if spec.queue not in reading.leaves:
            return False
        if self.is_outside(key):
            return self.has_pods(key) or not self.has_gates(key)
        if reading.phase(key) not in ADMITTED_PHASES or self.holds(key):
            return False
        if self.has_gates(key) and not reading.at_first.placed(key) and not reading.at_first.waiting(key):
            return False  # all its pods have gates: it counts nothing
        return reading.phase(key) == "Inqueue" or bool(reading.at_first.waiting(key))

    def holds(self, key: str) -> bool:
        """Whether pods of a group are on nodes, ready or not, or have a promise."""
        reading = self.reading
        return any(
            pod.key in reading.at_first.places
            or (pod.spec.node_name and not pod.is_finished and not pod.is_terminating)
            for pod in reading.pods_of[key]
        )

    def held_amount(self, key: str) -> Amounts:
        """Needs to start, or what the first pods hold that make up the gang."""
        reading = self.reading
        holding = [pod for pod in reading.pods_of[key] if pod.key in reading.at_first.holders]
        least = total(pod.request for pod in holding[: reading.groups[key].spec.min_member])
        return least | (reading.to_start(key) or Amounts())

    def has_pods(self, key: str) -> bool:
        """Whether enough pods exist that may be placed."""
        first = self.reading.at_first
        there = len(first.placed(key)) + len(first.waiting(key))
        return there >= self.reading.groups[key].spec.min_member

    def has_gates(self, key: str) -> bool:
        """Whether pods of a group have scheduling gates."""
        pods = [pod for pod in self.reading.pods_of[key] if not pod.is_finished and not pod.is_terminating]
        return any(pod.spec.scheduling_gates and not pod.spec.node_name for pod in pods)

    # --- the order of turns; enqueue changes no share

    def turns(self) -> Iterator[str]:
        """The groups in the order of turns."""
        left = [key for key in self.reading.groups if self.takes_a_turn(key)]
        while left:
            chosen = self.next_of(left)
            left.remove(chosen)
            yield chosen

    def next_of(self, left: list[str]) -> str:
        """Descend to the neediest queue, then its neediest namespace, then its best job."""
        reading, first, queue = self.reading, self.reading.at_first, ROOT
        while reading.children[queue]:
            below = [one for one in reading.children[queue] if any(self.is_in(key, one) for key in left)]
            queue = min(below, key=self.queue_order)
        groups = {key: reading.groups[key] for key in left if reading.groups[key].spec.queue == queue}
        ages = dict[str, float]()
        for group in groups.values():
            name, age = reading.namespace(group), created(group)
            ages[name] = min(age, ages.get(name, age))
        chosen = min(ages, key=lambda one: (first.namespace_share(queue, one), ages[one], natural(one)))
        jobs = [key for key, group in groups.items() if reading.namespace(group) == chosen]
        return min(jobs, key=self.job_order)

    def is_in(self, key: str, queue: str) -> bool:
        """Whether a group is in a queue or below it."""
        return queue in self.reading.path[self.reading.groups[key].spec.queue]

    def queue_order(self, name: str) -> tuple[object, ...]:
        """Priority, then the smallest share, then age."""
        queue = self.reading.queues[name]
        return (-queue.spec.priority, self.reading.at_first.share(name), created(queue), natural(name))

    def job_order(self, key: str) -> tuple[object, ...]:
        """Priority, not ready first, smallest share, age."""
        group, first = self.reading.groups[key], self.reading.at_first
        priority = -self.reading.priority(group)
        return (priority, first.is_ready(key), first.job_share(key), created(group), natural(key))

    # --- room

    def has_room(
        self,
        key: str,
        wanted: Mapping[str, int],
        counted: Mapping[str, Amounts],
        within: Mapping[str, Amounts],
    ) -> bool:
        """Rules 1 to 4: ceilings, deserved, the guarantee, or no statement."""
        reading, leaf = self.reading, self.reading.groups[key].spec.queue
        if reading.groups[key].spec.min_resources is None:
            return True
        share = self.shares(key)[leaf]
        if self.is_under_ceilings(key, wanted, counted):
            return True
        if all(within[leaf][one] + units <= share.deserved.get(one, 0) for one, units in wanted.items()):
            return True
        named = wanted.keys() & reading.names_in_guarantee(leaf)
        others = {one: units for one, units in wanted.items() if one not in named}
        is_guaranteed = bool(named) and all(
            within[leaf][one] + wanted[one] <= share.guarantee.get(one, 0) for one in named
        )
        return is_guaranteed and self.is_under_ceilings(key, others, counted)

    def is_under_ceilings(self, key: str, wanted: Mapping[str, int], counted: Mapping[str, Amounts]) -> bool:
        """Rule 1: real capability on the path, and the overcommitted total."""
        shares, budget = self.shares(key), self.budget(key)
        for name in self.reading.path[self.reading.groups[key].spec.queue]:
            most = shares[name].real_capability
            if any(counted[name][one] + units > most.get(one, 0) for one, units in wanted.items()):
                return False
        return all(
            counted[ROOT][one] + units <= int(budget[one] * OVERCOMMIT) for one, units in wanted.items()
        )

    def budget(self, key: str) -> Amounts:
        """The total, for a group without its pods with nodes whose taints no pod tolerates."""
        return self.reading.budget if self.has_pods(key) else self._larger[0]

    def shares(self, key: str) -> Mapping[str, Share]:
        """What queues deserve of that total."""
        return self.reading.shares if self.has_pods(key) else self._larger[1]

    @cached_property
    def _larger(self) -> tuple[Amounts, Mapping[str, Share]]:
        reading, budget = self.reading, Amounts(self.reading.budget)
        for node in reading.usable_nodes:
            if not reading.is_tolerated(node):
                taken = total(
                    pod.request
                    for pod in reading.pods.values()
                    if pod.spec.node_name == node.metadata.name and not pod.is_finished
                )
                budget.update({one: max(0, n - taken[one]) for one, n in node.status.allocatable.items()})
        return budget, share_out(reading.claims.values(), budget, reading.factors)


def was_refused(group: PodGroup) -> bool:
    """Whether a cycle has found no place for a group."""
    return any(one.type == "Unschedulable" and one.status == "True" for one in group.status.conditions)


def comes_with_a_node(pod: Pod) -> bool:
    """Whether a DaemonSet made a pod, or the kubelet."""
    return any(owner.kind in ("DaemonSet", "Node") for owner in pod.metadata.owner_references)


def suits_no_node(alone: Moment, pod: Pod) -> bool:
    """Whether no node would take a pod, whoever it has to be near."""
    return not any(
        has_room(alone.with_places({pod.key: node.metadata.name}), node.metadata.name, pod)
        and not any(misplaced_by_itself(pod, node))
        for node in alone.reading.usable_nodes
    )


def created(one: object) -> float:
    """When an object was created."""
    stamp = one.metadata.creation_timestamp  # type: ignore[attr-defined]
    return stamp.timestamp() if stamp else 0.0
