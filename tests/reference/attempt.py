"""One eviction for one beneficiary: docs/specification/eviction.md, How an attempt works."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

from reference.amounts import Tables
from reference.objects import Domain, Pod, PodGroup, total_request
from reference.state import Places
from reference.turns import Turns
from reference.units import Losses, Unit


class Attempt:
    """One eviction for one beneficiary, simulated as a whole: law 1 of eviction."""

    action = ""

    def __init__(self, cycle: Turns, group: PodGroup) -> None:
        self.cycle, self.group, self.leaf, self.moment = cycle, group, group.queue, cycle.now
        self.pods = self.beneficiaries()
        self.request = total_request(self.pods).asked()

    def beneficiaries(self) -> list[Pod]:
        """The pods of the next turn; `preemptionPolicy: Never` pods are never beneficiaries."""
        pods = [pod for pod in self.cycle.pending(self.group) if not pod.never_preempts]
        return self.cycle.choose(self.group, pods, lambda _: True)

    def candidates(self, taken: list[Unit]) -> list[Unit]:
        """The units that could be next, in the order in which they pay."""
        raise NotImplementedError

    def may_take(self, unit: Unit, taken: list[Unit]) -> bool:
        """Whether the unit may be taken after those that are taken."""
        raise NotImplementedError

    def allows(self, losses: Losses) -> bool:
        """Whether the beneficiary's queue may grow by its request, with these losses."""
        raise NotImplementedError

    def worthwhile(self) -> bool:
        """Whether there is anything to try."""
        return self.has_anybody()

    def has_anybody(self) -> bool:
        """Whether there are pods that may be beneficiaries."""
        return bool(self.pods)

    def too_young(self, pod: Pod) -> bool:
        """Whether its minimum run time protects it, but not from a group that has itself waited so long."""
        least = self.cycle.min_runtime(self.cycle.cluster.groups[pod.group].queue, self.action)
        waits_since = None if self.cycle.ready(self.group) else self.group.unschedulable_since
        if not least or (waits_since is not None and self.moment - waits_since >= least):
            return False
        return self.moment - self.cycle.runs_since(pod) < least

    def units(self, group: PodGroup, taken: list[Unit]) -> list[Unit]:
        """The units that a group could give to this beneficiary."""
        return self.cycle.units(group, self.action, taken, self.too_young)

    def places(self, taken: list[Unit]) -> Places | None:
        """Where the beneficiary's pods go once the units are gone."""
        return self.cycle.place(
            self.pods, at_once=False, victims=[pod for unit in taken for pod in unit.pods]
        )

    def fits(self, taken: list[Unit]) -> bool:
        """Whether without the units the group becomes ready, or one more pod of it runs."""
        losses = self.cycle.losses(taken)
        if not (self.allows(losses) and self.leaves_room(losses)):
            return False
        return self.places(taken) is not None

    def leaves_room(self, losses: Losses) -> bool:
        """Whether surplus leaves room for groups that were just let in."""
        return self.cycle.leaves_room(self.group, self.request, self.limits, losses)

    @property
    def limits(self) -> Tables:
        """What queues have to stay within beside groups that were just let in."""
        return self.cycle.shares.real_capability

    def gather(self, area: Callable[[Unit], bool] | None) -> list[Unit] | None:
        """Take units in order, of an area or anywhere, until the beneficiary fits."""
        taken: list[Unit] = []
        while not self.fits(taken):
            units = (unit for unit in self.candidates(taken) if area is None or area(unit))
            unit = next((unit for unit in units if self.may_take(unit, taken)), None)
            if unit is None:
                return None
            taken.append(unit)
        return taken

    def collect(self, area: Callable[[Unit], bool] | None) -> list[Unit] | None:
        """Take units until the beneficiary fits; then trim and check again."""
        taken = self.gather(area)
        if taken is None:
            return None
        taken = self.trim(taken)
        lawful = all(self.may_take(unit, taken[:position]) for position, unit in enumerate(taken))
        return taken if lawful and self.cycle.keeps_gangs_whole(taken) else None

    def aim(self, domain: Domain | None) -> None:
        """Look at one domain, or at all that are allowed."""

    def domains(self) -> list[Domain]:
        """Where victims are sought: the widest allowed first, then most room, then name."""
        found = self.cycle.domains_for(self.group, self.pods)
        return sorted(
            found,
            key=lambda domain: (
                -domain.tier,
                -self.cycle.room(domain.nodes, self.request, {}, ()),
                domain.name,
            ),
        )

    def search(self) -> list[Unit]:
        """A lawful set: by domain, there anywhere, else on one node alone; then anywhere; or nothing."""
        if not self.worthwhile():
            return []
        domains = self.domains() if self.group.topology is not None else []
        for domain in domains:
            self.aim(domain)
            taken = self.collect(partial(touches, domain.nodes))
            for node in sorted(domain.nodes) if taken is None else []:
                taken = taken or self.collect(partial(stays_on, node))
            if taken:
                return taken
        self.aim(None)
        taken = self.collect(None) if domains or self.group.topology is None else []
        for node in self.cycle.cluster.nodes if taken is None and not domains else []:
            taken = taken or self.collect(partial(stays_on, node))
        return taken or []

    def until(self) -> datetime | None:
        """The time from which there is a lawful set, if nothing changes but the time.

        The search is greedy: where it finds a set at some time and later none, the group is unsteady.
        """
        now, finds = self.moment, list[bool]()
        moments = sorted({moment for moment in self.ends_of_minimum_run_times() if moment > now})
        for moment in moments:
            self.moment = moment
            finds.append(bool(self.search()))
        self.moment = now
        if finds != sorted(finds):
            self.cycle.unsteady.add(self.group.name)
        return next((moment for moment, found in zip(moments, finds, strict=True) if found), None)

    def ends_of_minimum_run_times(self) -> Iterator[datetime]:
        """When pods that run lose the protection, and when the group has waited long enough."""
        for group in self.cycle.cluster.groups.values():
            leaf = group.queue
            least = self.cycle.min_runtime(leaf, self.action) if leaf in self.cycle.leaves else None
            if not least:
                continue
            for pod in self.cycle.running(group):
                yield self.cycle.runs_since(pod) + least
                yield (self.group.unschedulable_since or self.moment) + least

    def trim(self, taken: list[Unit]) -> list[Unit]:
        """Drop what is not needed, from the most important unit down, until dropping any breaks the fit."""
        for unit in list(reversed(taken)):
            rest = [other for other in taken if other is not unit]
            if self.fits(rest) and self.cycle.keeps_gangs_whole(rest):
                taken = rest
        return taken

    def succeeds(self) -> bool:
        """Evict and promise if a lawful set exists."""
        taken = self.search()
        if not taken:
            return False
        places = self.places(taken) or {}
        for unit in taken:
            self.cycle.evict(unit.pods, self.group.name, self.action)
        for pod in self.pods:
            self.cycle.promise(pod, places[pod.name])
        return True


def touches(nodes: frozenset[str], unit: Unit) -> bool:
    """Whether a unit has a pod on these nodes."""
    return any(pod.node in nodes for pod in unit.pods)


def stays_on(node: str, unit: Unit) -> bool:
    """Whether all pods of a unit are on one node."""
    return all(pod.node == node for pod in unit.pods)
