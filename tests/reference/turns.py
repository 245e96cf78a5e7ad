"""Allocate and backfill, turn by turn: docs/specification/cycle.md, Allocate."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from reference.amounts import Amounts, Tables
from reference.objects import Domain, Pod, PodGroup, total_request
from reference.subgroups import complete_subgroups, is_gang, lacking_in
from reference.turn_order import Order
from reference.units import Losses
from reference.victims import Victims
from reference.water_filling import ROOT

Fits = Callable[[list[Pod]], bool]
Limit = Callable[[PodGroup, Amounts], bool]  # may the queue of this group grow by that much


class Turns(Victims):
    """A state whose groups take turns."""

    def allocate(self) -> None:
        """Turns within deserved first; when no such turn is left, what is still idle is lent."""
        self.keep_promises()
        self.beside = self.room_for_those_just_let_in()
        self.take_turns(self.queue_order, self.may_allocate)
        self.take_turns(self.lending_order, self.may_borrow)
        for group in self.cluster.groups.values():
            waits = group.queue in self.leaves and self.admitted(group) and self.pending(group)
            if waits and not self.ready(group):
                self.unschedulable.add(group.name)

    def may_allocate(self, group: PodGroup, request: Amounts) -> bool:
        """Its queue and each one above stay within deserved, and surplus beside groups just let in."""
        deserved = self.shares.deserved
        is_limited = self.configuration.is_enabled("proportion", "enabledAllocatable")
        if is_limited and not self.within(group.queue, request, deserved):
            return False
        return self.keeps_reservations(group.queue, request) and self.leaves_room(group, request, deserved)

    def may_borrow(self, group: PodGroup, request: Amounts) -> bool:
        """Its queue and each one above stay within real capability, and surplus beside groups just let in."""
        real = self.shares.real_capability
        return self.keeps_reservations(group.queue, request) and self.leaves_room(group, request, real)

    def keeps_reservations(self, leaf: str, request: Amounts, losses: Losses | None = None) -> bool:
        """Whether every queue stays within real capability, and nothing reserved is given away."""
        is_within = self.within(leaf, request, self.shares.real_capability, losses)
        return is_within and not self.reserved_for_others(leaf, request, losses)

    def room_for_those_just_let_in(self) -> Tables:
        """What groups let in in this cycle have yet to take, by queue; as far as it is within deserved."""
        more: Tables = {}
        for group in self.cluster.groups.values():
            is_new = group.phase == "Pending" and self.phase[group.name] == "Inqueue"
            if not is_new or not self.lacks_pods(group):
                continue
            leaf, part = group.queue, Amounts()
            for resource, amount in (group.min_resources or Amounts()).items():
                left = self.shares.deserved[leaf][resource] - self.used[leaf][resource]
                known = more.get(leaf, Amounts())[resource]
                part[resource] = max(Fraction(0), min(amount, left - known))
            for queue in (*self.path[leaf], ROOT):
                more[queue] = more.get(queue, Amounts()).plus(part)
        return more

    def leaves_room(
        self, group: PodGroup, request: Amounts, limits: Tables, losses: Losses | None = None
    ) -> bool:
        """Whether surplus stays within limits beside what was just let in; decision record 68."""
        if not self.ready(group):
            return True
        for queue, more in self.beside.items():
            if queue not in (*self.path[group.queue], ROOT):
                continue
            below = [queue] if queue != ROOT else self.children[ROOT]
            most = limits[queue] if queue != ROOT else self.budget
            used = Amounts()
            for one in below:
                used = used.plus(self.used[one]).minus(losses.queues[one] if losses else {})
            for resource, amount in request.asked().items():
                if more[resource] and used[resource] + more[resource] + amount > most[resource]:
                    return False
        return True

    def keep_promises(self) -> None:
        """Bind the promised pods of a group together once their room is free."""
        for group in self.cluster.groups.values():
            pods = [pod for pod in self.pods_of[group.name] if pod.name in self.promised]
            nodes = {pod.name: self.take_back_promise(pod) for pod in pods}
            places = self.place(pods, at_once=True)
            if places is not None:
                self.bind(pods, places)
                continue
            for pod in pods:
                self.promise(pod, nodes[pod.name])

    def take_turns(
        self, order: Order, allowed: Limit, *, best_effort: bool = False, gang: bool = True
    ) -> None:
        """Turn by turn; a group without a turn steps back, in a fifo queue all of them."""
        stuck: set[str] = set()

        def waits(group: PodGroup) -> bool:
            return group.name not in stuck and bool(self.waiting(group, best_effort=best_effort))

        while group := self.next_group(order, waits):
            waiting = self.waiting(group, best_effort=best_effort)
            for domain in self.domains_for(group, self.choose(group, waiting, lambda _: True, gang=gang)):
                pods = self.choose(group, waiting, partial(self.can_bind, group, allowed, domain), gang=gang)
                if pods:
                    self.bind(pods, self.place_in(domain, group, pods, at_once=True) or {})
                    break
            else:
                stuck.update({group.name} if best_effort else self.stopped_by(group))

    def waiting(self, group: PodGroup, *, best_effort: bool) -> list[Pod]:
        """The pods of an admitted group that wait for allocate, or for backfill."""
        pods = self.pending(group) if self.admitted(group) else []
        return [pod for pod in pods if pod.best_effort == best_effort]

    def can_bind(self, group: PodGroup, allowed: Limit, domain: Domain, pods: list[Pod]) -> bool:
        """Whether the queue may, and nodes of the domain can, take these pods now."""
        if not allowed(group, total_request(pods)):
            return False
        return self.place_in(domain, group, pods, at_once=True) is not None

    def backfill(self) -> None:
        """Bind pods that request nothing, in the same order; gangs hold."""
        gang = self.configuration.is_enabled("gang", "enableJobReady")
        self.take_turns(self.queue_order, lambda *_: True, best_effort=True, gang=gang)

    def choose(self, group: PodGroup, pods: list[Pod], fits: Fits, *, gang: bool = True) -> list[Pod]:
        """The pods that make the group ready, or one more pod of a ready group, or nothing."""
        if group.policies:
            return self.choose_steps(group, pods, fits, gang=gang)
        lacking, tasks = self.missing(group) if gang else (0, {})
        chosen: list[Pod] = []
        for pod in pods:
            if tasks.get(pod.task, 0) > 0 and fits([*chosen, pod]):
                chosen.append(pod)
                tasks[pod.task] -= 1
        for pod in pods:
            if len(chosen) < max(lacking, 1) and pod not in chosen and fits([*chosen, pod]):
                chosen.append(pod)
        return chosen if len(chosen) >= lacking and not any(tasks.values()) else []

    def choose_steps(self, group: PodGroup, pods: list[Pod], fits: Fits, *, gang: bool) -> list[Pod]:
        """Subgroups up to `minSubGroups`, then steps up to `minMember`; of a ready group one step."""
        chosen: list[Pod] = []
        placed = self.placed(group)
        if not gang or is_gang(group, placed):
            firsts = self.steps(group, pods, placed)
            steps = (self.take_step(group, first, pods, placed, fits, []) for first in firsts)
            return next((step for step in steps if step), [])
        for position, policy in enumerate(group.policies):
            of_policy = [pod for pod in pods if pod.subgroup and pod.subgroup[0] == position]
            for first in self.steps(group, of_policy, placed):
                complete = complete_subgroups(group, placed + chosen, position)
                if len(complete) < policy.least and first.subgroup not in complete:
                    chosen += self.take_step(group, first, pods, placed, fits, chosen)
        if any(
            len(complete_subgroups(group, placed + chosen, position)) < policy.least
            for position, policy in enumerate(group.policies)
        ):
            return []
        refused: set[str] = set()
        while not is_gang(group, placed + chosen):
            left = [pod for pod in pods if pod not in chosen and pod.name not in refused]
            firsts = self.steps(group, left, placed + chosen)
            if not firsts:
                return []
            first = firsts[0]
            step = self.take_step(group, first, left, placed, fits, chosen)
            chosen += step
            if not step:
                complete = complete_subgroups(group, placed + chosen)
                is_whole = first.subgroup is not None and first.subgroup not in complete
                refused.add(first.name)
                refused.update(pod.name for pod in left if is_whole and pod.subgroup == first.subgroup)
        return chosen

    def steps(self, group: PodGroup, pods: list[Pod], placed: list[Pod]) -> list[Pod]:
        """The first pod of each step, in order: higher priority, then fewer pods, then lower number."""
        complete, firsts, seen = complete_subgroups(group, placed), [], set()
        for position, pod in enumerate(pods):
            if pod.subgroup is None or pod.subgroup in complete:
                firsts.append((-pod.priority, 1, position, pod))
            elif pod.subgroup not in seen:
                seen.add(pod.subgroup)
                firsts.append((-pod.priority, lacking_in(group, pod, placed), position, pod))
        return [pod for *_, pod in sorted(firsts, key=lambda entry: entry[:3])]

    def take_step(
        self,
        group: PodGroup,
        first: Pod,
        pods: list[Pod],
        placed: list[Pod],
        fits: Fits,
        chosen: list[Pod],
    ) -> list[Pod]:
        """A pod of no policy or of a complete subgroup, or all that completes its subgroup, or nothing."""
        if first.subgroup is None or first.subgroup in complete_subgroups(group, placed + chosen):
            return [first] if fits([*chosen, first]) else []
        step: list[Pod] = []
        lacking = lacking_in(group, first, placed + chosen)
        for pod in pods:
            if (
                len(step) < lacking
                and pod.subgroup == first.subgroup
                and pod not in chosen
                and fits([*chosen, *step, pod])
            ):
                step.append(pod)
        return step if len(step) == lacking else []
