"""One eviction for one beneficiary, judged by laws 1 to 5 of docs/specification/eviction.md."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, permutations

from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.queue import ROOT
from properties.cluster_reading import Moment, NodeChooser, Reading
from properties.cycle_outcomes import (
    are_alike,
    beside,
    fits_together,
    given_away,
    has_room,
    placed_somewhere,
    request,
    within,
)  # fmt: skip
from properties.definitions import Amounts, asked, falls_short, number
from properties.loans import loaned, would_run_on_loan
from properties.placement_rules import misplaced, suits

MOST_ORDERS = 120  # in which units may have been taken


@dataclass(frozen=True)
class Attempt:
    """What was evicted for one turn of a pod group, and where that turn's pods are to go."""

    moment: Moment  # before it
    action: str
    group: str  # the beneficiary
    pods: Sequence[Pod]
    places: NodeChooser
    victims: Sequence[str]  # in the order of the plan
    yet_to_take: Mapping[str, Amounts] = field(default_factory=dict)  # by queue: see `Outcome`

    @property
    def reading(self) -> Reading:
        """The snapshot."""
        return self.moment.reading

    @cached_property
    def leaf(self) -> str:
        """The beneficiary's queue."""
        return self.reading.groups[self.group].spec.queue

    @cached_property
    def request(self) -> dict[str, int]:
        """What the turn asks for."""
        return request(self.pods)

    @cached_property
    def after(self) -> Moment:
        """With the victims gone and the beneficiary in its place."""
        return self.left(self.victims).with_places(self.places)

    def left(self, victims: Sequence[str]) -> Moment:
        """With these victims gone and nobody in their place yet."""
        return self.moment.without(victims)

    def breaches(self) -> Iterator[tuple[str, str]]:
        """Every law that this eviction breaks, and how."""
        laws = {
            "E1": self.does_not_start,
            "E2": self.cripples,
            "E3": self.harms_the_worse_off,
            "E4": self.exceeds,
            "E5": self.ignores_vetoes,
        }
        for law, check in laws.items():
            for why in check():
                yield law, f"{self.action} of {', '.join(self.victims)} for {self.group}: {why}"
        for why in self.is_not_minimal():
            yield "E2", f"{self.action} of {', '.join(self.victims)} for {self.group}: {why}"

    # --- law 1

    def does_not_start(self) -> Iterator[str]:
        """Law 1: the group becomes ready, or its one more pod runs."""
        was_ready = self.moment.is_ready(self.group)
        if not self.pods:
            yield "nobody is promised the room"
        elif was_ready and len(self.pods) > 1:
            yield f"{len(self.pods)} more pods of a ready group in one turn"
        elif not self.after.is_ready(self.group):
            yield f"the group still lacks {self.after.missing(self.group)}"
        for pod in self.pods:
            node = self.reading.nodes[self.places[pod.key]]
            if not has_room(self.after, node.metadata.name, pod):
                yield f"{pod.key} does not fit on {node.metadata.name} even then"
            yield from (f"{pod.key}: {why}" for why in misplaced(self.after, pod, node))
            if pod.spec.preemption_policy == "Never":
                yield f"{pod.key} never preempts"

    # --- law 2

    @cached_property
    def units(self) -> list[list[str]]:
        """The victims in units, in the order in which the plan names them."""
        units = list[list[str]]()
        by_group = dict[str, list[Pod]]()
        for key in self.victims:
            by_group.setdefault(self.reading.group_of[key], []).append(self.reading.pods[key])
        for group, pods in by_group.items():
            units += self.units_of(group, pods)
        return sorted(units, key=lambda unit: min(map(self.victims.index, unit)))

    def units_of(self, group: str, victims: list[Pod]) -> list[list[str]]:
        """Surplus pods one by one, least important first, and what is left of a gang as a whole."""
        spec, running = self.reading.groups[group], self.moment.running(group)
        least = self.moment.standing_minimum(group)
        if self.moment.is_starving(group):
            return [[pod.key for pod in victims]]
        if len(victims) < len(running):
            return [[pod.key] for pod in victims]
        units, left = list[list[str]](), list(running)
        for pod in sorted(running, key=lambda pod: (self.reading.pod_priority(pod), -number(pod))):
            rest = [one for one in left if one is not pod]
            if not falls_short(spec, least, rest):
                units.append([pod.key])
                left = rest
        return [*units, [pod.key for pod in left]] if left else units

    def cripples(self) -> Iterator[str]:
        """Law 2: a surplus pod or a whole gang; a starving group's pods are one unit."""
        for group in {self.reading.group_of[key] for key in self.victims}:
            if not self.is_whole(group, self.victims):
                left = [
                    pod.key
                    for pod in self.reading.pods_of[group]
                    if pod.key in self.left(self.victims).places
                ]
                yield f"of {group} {left} is left, which is no gang"

    def is_whole(self, group: str, gone: Sequence[str]) -> bool:
        """Whether what the group has left without these pods, on nodes or promised, is a gang, or nothing.

        Pods that have succeeded do no more work: those that are left must be enough by themselves.
        """
        moment = self.left(gone)
        left = [pod for pod in self.reading.pods_of[group] if pod.key in moment.places]
        least = self.moment.standing_minimum(group)
        return not left or not falls_short(self.reading.groups[group], least, left)

    def is_not_minimal(self) -> Iterator[str]:
        """Law 2: dropping any unit breaks the fit."""
        for unit in self.units:
            rest = [key for key in self.victims if key not in unit]
            if all(self.is_whole(self.reading.group_of[key], rest) for key in rest) and self.would_fit(rest):
                yield f"it fits without {', '.join(unit)}"

    def would_fit(self, victims: Sequence[str]) -> bool:
        """Whether the turn could be promised with only these victims."""
        moment = self.left(victims)
        if any(self.refusals(victims)):
            return False
        if are_alike(self.pods):
            return fits_together(moment, self.pods) is not None
        settled = moment.with_places(self.places)
        nodes = self.reading.nodes
        return all(
            has_room(settled, self.places[pod.key], pod)
            and not any(misplaced(settled, pod, nodes[self.places[pod.key]]))
            for pod in self.pods
        )

    def refusals(self, victims: Sequence[str]) -> Iterator[str]:
        """Why the queue may not have the turn's pods once these victims are gone."""
        moment = self.left(victims)
        settled = placed_somewhere(moment, self.pods)
        limit = "deserved" if self.action == "reclaim" else "real_capability"
        yield from within(moment, self.leaf, self.request, limit)
        if self.moment.is_ready(self.group):
            yield from beside(moment, self.leaf, self.request, limit, self.yet_to_take)
        reserved = given_away(self.moment, settled, self.leaf, self.request.keys())
        yield from (f"{resource} is reserved for others" for resource in sorted(reserved))

    # --- law 3

    def harms_the_worse_off(self) -> Iterator[str]:
        """Law 3 (reclaim): on what it cannot get; a breach is one by either reading of what that is."""
        if self.action != "reclaim":
            return
        found = [list(self.breaches_on(short)) for short in (self.cannot_get(), self.cannot_get_roughly())]
        if all(found):
            yield from found[0]

    def cannot_get(self) -> set[str]:
        """The resources for which, looked at alone, there is no room; all where it is their mixture."""
        short = given_away(
            self.moment, placed_somewhere(self.moment, self.pods), self.leaf, self.request.keys()
        )
        for resource in self.request:
            idle = {node.metadata.name: self.moment.idle(node.metadata.name)[resource] for node in self.nodes}
            for pod in sorted(self.pods, key=lambda pod: -pod.request.get(resource, 0)):
                wanted = pod.request.get(resource, 0)
                fitting = [
                    n.metadata.name for n in self.nodes if suits(pod, n) and idle[n.metadata.name] >= wanted
                ]
                if wanted and not fitting:
                    short.add(resource)
                elif wanted:
                    idle[min(fitting, key=lambda name: idle[name])] -= wanted
        return short or set(self.request)

    def cannot_get_roughly(self) -> set[str]:
        """The resources of which all nodes together, or the emptiest alone, have too little."""
        short = given_away(
            self.moment, placed_somewhere(self.moment, self.pods), self.leaf, self.request.keys()
        )
        for resource, wanted in self.request.items():
            idle = [max(0, self.moment.idle(node.metadata.name)[resource]) for node in self.nodes]
            largest = max((pod.request.get(resource, 0) for pod in self.pods), default=0)
            if wanted > sum(idle) or largest > max(idle, default=0):
                short.add(resource)
        return short or set(self.request)

    @property
    def nodes(self) -> list[Node]:
        """Where pods can go."""
        return self.reading.usable_nodes

    def breaches_on(self, short: set[str]) -> Iterator[str]:
        """Law 3, where these are the resources that the beneficiary needs and cannot get.

        Of a unit on loan only overuse is asked; for every other one, those on loan count as gone.
        """
        loans = loaned(self.moment, short)
        own = [key for key in self.victims if key not in loans]
        left = self.left([*self.victims, *loans])
        for key in own:
            for name in self.branch(key):
                yield from self.below_guarantee(left, name, key)
        orders = islice(permutations(self.units), MOST_ORDERS) if len(self.units) < 6 else [tuple(self.units)]
        if not any(self.is_lawful_order(order, short, loans) for order in orders):
            yield f"in no order of its units is every victim's branch overused on {sorted(short)} before each"
        if self.is_reserved(short):
            return
        for key in own:
            if not self.branch(key):  # its own queue, or none: no victim of reclaim at all (law 5)
                continue
            top, mine = self.branch(key)[-1], self.own_branch(key)
            after, before = left.share(top, short), self.moment.share(mine, short)
            if after <= before:
                yield (
                    f"{top} ends at a share of {float(after):.3f}, {mine} had {float(before):.3f} before, "
                    f"on {sorted(short)}"
                )

    def below_guarantee(self, left: Moment, name: str, victim: str) -> Iterator[str]:
        """The victim's queue stays at or above its guarantee."""
        for resource in asked(self.reading.pods[victim].request):
            least = self.reading.guarantee(name, resource)
            if least > 0 and left.used[name][resource] < least:
                yield f"{name} is left with {left.used[name][resource]} of {least} guaranteed {resource}"

    def is_lawful_order(self, order: Sequence[list[str]], short: set[str], loans: set[str]) -> bool:
        """Before each unit is taken, the victim's branch is overused from the leaf up."""
        gone = list[str]()
        for unit in order:
            moment = self.left(gone) if unit[0] in loans else self.left([*gone, *loans])
            if not all(moment.is_overused(name, short) for name in self.branch(unit[0])):
                return False
            gone += unit
        return True

    def branch(self, victim: str) -> list[str]:
        """The victim's leaf and the queues above it, up to the level where the branches meet."""
        leaf = self.reading.leaf_of(victim)
        own = self.reading.path[self.leaf]
        return [name for name in self.reading.path[leaf] if name not in own] if leaf else []

    def own_branch(self, victim: str) -> str:
        """The beneficiary's queue at the level where the branches meet."""
        theirs = self.reading.path[self.reading.leaf_of(victim) or ROOT]
        return [name for name in self.reading.path[self.leaf] if name not in theirs][-1]

    def is_reserved(self, short: set[str]) -> bool:
        """Law 3: it stays within a guarantee that names every resource it cannot get."""
        for name in self.reading.path[self.leaf]:
            named = self.request.keys() & self.reading.names_in_guarantee(name)
            used = Amounts(self.moment.used[name])
            used.update(self.request)
            if short <= named and all(used[one] <= self.reading.own_guarantee(name, one) for one in named):
                return True
        return False

    # --- laws 4 and 5, and the rules of preempt

    def exceeds(self) -> Iterator[str]:
        """Law 4 (reclaim): within deserved at every level, net of what victims under an ancestor lose.

        Preempt: never for a group that would run on loan.
        """
        yield from self.refusals(self.victims)
        if self.action == "preempt" and (beyond := would_run_on_loan(self.moment, self.group, self.pods)):
            yield f"it would run on loan, on {sorted(beyond)}"

    def ignores_vetoes(self) -> Iterator[str]:
        """Law 5: protected pods, queues that are not reclaimable, and victims that nobody proposes."""
        for key in self.victims:
            pod, leaf = self.reading.pods[key], self.reading.leaf_of(key)
            if self.reading.is_protected(pod):
                yield f"{key} is protected"
            if leaf is None or pod.is_terminating or key not in self.moment.places or not pod.spec.node_name:
                yield f"{key} is nobody's victim"
            elif self.action == "reclaim" and (
                leaf == self.leaf or not self.reading.queues[leaf].spec.reclaimable
            ):
                yield f"{key} is in {leaf}, from which nothing is reclaimed"
            elif self.action == "preempt":
                yield from self.not_proposed(key)

    def not_proposed(self, victim: str) -> Iterator[str]:
        """Preempt: lower priorities; or who stays strictly above where the beneficiary was before."""
        reading, left = self.reading, self.left(self.victims)
        key = reading.group_of[victim]
        own, other = reading.groups[self.group], reading.groups[key]
        priority, beneficiary = reading.priority(other), reading.priority(own)
        if other.spec.queue != self.leaf or key == self.group:
            yield f"{victim} is in another queue, or its own group"
        elif priority > beneficiary or (priority == beneficiary and self.moment.is_ready(self.group)):
            yield f"{key} has priority {priority}, the beneficiary {beneficiary}"
        elif reading.namespace(own) != reading.namespace(other):
            before = self.moment.namespace_share(self.leaf, reading.namespace(own))
            after = left.namespace_share(self.leaf, reading.namespace(other))
            if after <= before:
                yield f"namespace {reading.namespace(other)} ends at {after}, not above {before}"
        elif priority == beneficiary and left.job_share(key) <= self.moment.job_share(self.group):
            yield f"{key} ends at {left.job_share(key)}, not above {self.moment.job_share(self.group)}"
