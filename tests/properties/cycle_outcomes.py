"""One cycle as the checkers see it: a snapshot, the plan made for it, and where the pods are then."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from maar.core.model.metadata import Object
from maar.core.model.pod import Pod
from maar.core.model.queue import ROOT
from maar.core.model.resources import PODS
from properties.cluster_reading import ADMITTED_PHASES, Moment, NodeChooser, Reading
from properties.definitions import Amounts, asked, lacking, total
from properties.placement_rules import misplaced, spread_breaches


class Eviction(NamedTuple):
    """One line of a plan's evictions."""

    pod: str
    beneficiary: str | None
    action: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """A snapshot and its plan, as the JSON of `maar plan` has it."""

    reading: Reading
    cycle: Mapping[str, Any]

    @classmethod
    def of(cls, objects: Iterable[Object], cycle: Mapping[str, Any]) -> "Outcome":
        """Read both."""
        return cls(Reading(objects), cycle)

    @property
    def binds(self) -> NodeChooser:
        """Which pod goes to which node."""
        found: NodeChooser = self.cycle["binds"]
        return found

    @property
    def nominations(self) -> NodeChooser:
        """Which pod is promised room on which node, now or since an earlier cycle."""
        found: NodeChooser = self.cycle["nominations"]
        return found

    @cached_property
    def evictions(self) -> list[Eviction]:
        """Who goes, for whom and by which action, in the order of the plan."""
        return [Eviction(one["pod"], one["for"], one["action"]) for one in self.cycle["evictions"]]

    @cached_property
    def bound(self) -> Moment:
        """After allocate and backfill: what was bound is placed, promises that were not kept are dropped.

        One of another node, or of one that could not keep it, is a new one, for which somebody has to go.
        """
        first = self.reading.at_first
        promised = {
            pod: node for pod, node in first.places.items() if not self.reading.pods[pod].spec.node_name
        }
        kept = {
            pod: node
            for pod, node in promised.items()
            if self.nominations.get(pod) == node and could_be(first, self.reading.pods[pod], node)
        }
        return first.without(promised).with_places(kept).with_places(self.binds)

    @cached_property
    def yet_to_take(self) -> dict[str, Amounts]:
        """By queue: what groups let in by this cycle, and without all pods, need within deserved.

        Where all pods of a group have scheduling gates it counts nothing.
        """
        reading, moment, found = self.reading, self.bound.without(self.binds), dict[str, Amounts]()
        for key, group in reading.groups.items():
            there = [*moment.placed(key), *moment.waiting(key)]
            leaf, pods = group.spec.queue, {pod.key for pod in there}
            is_new = (reading.phase(key), self.phase(key)) == ("Pending", "Inqueue")
            are_gated = not pods and any(not pod.is_finished for pod in reading.pods_of[key])
            if not is_new or are_gated or leaf not in reading.leaves or len(pods) >= group.spec.min_member:
                continue
            known = Amounts(found.get(leaf, {}))
            for resource, amount in asked(reading.to_start(key) or {}).items():
                left = reading.deserved(leaf, resource) - moment.used[leaf][resource] - known[resource]
                for queue in (*reading.path[leaf], ROOT):
                    found.setdefault(queue, Amounts())[resource] += max(0, min(amount, left))
        return found

    @cached_property
    def promises(self) -> NodeChooser:
        """The promises that this cycle made."""
        return {pod: node for pod, node in self.nominations.items() if self.bound.places.get(pod) != node}

    @cached_property
    def after(self) -> Moment:
        """In the end: victims are gone, and who was promised room is there."""
        return self.bound.without({one.pod for one in self.evictions}).with_places(self.promises)

    @cached_property
    def physically(self) -> Moment:
        """Who is on the nodes after the binds: terminating pods are still there, promised ones are not."""
        pods = self.reading.pods.items()
        there = {
            key: pod.spec.node_name
            for key, pod in pods
            if pod.spec.node_name in self.reading.nodes and not pod.is_finished
        }
        return Moment(self.reading, {**there, **self.binds})

    @cached_property
    def before_backfill(self) -> Moment:
        """After allocate alone: without what was bound and asks for nothing."""
        pods = self.reading.pods
        return self.bound.without({pod for pod in self.binds if asks_for_nothing(pods[pod])})

    def is_admitted(self, group: str) -> bool:
        """Whether the group was Inqueue or later, or the plan moves it there."""
        return bool({self.phase(group), self.reading.phase(group)} & ADMITTED_PHASES)

    def phase(self, group: str) -> str:
        """The phase that the plan gives a group."""
        reported: str = self.cycle["podGroups"].get(group, {}).get("phase", "Pending")
        return reported


def request(pods: Iterable[Pod]) -> dict[str, int]:
    """What pods ask for together."""
    return asked(total(pod.request for pod in pods))


def asks_for_nothing(pod: Pod) -> bool:
    """Whether nothing but room for one more pod is asked for."""
    return asked(pod.request).keys() <= {PODS}


def turn(moment: Moment, group: str, pods: Sequence[Pod]) -> list[Pod]:
    """Allocate: of these pods, in order, those that make the group ready, or one; else nothing."""
    count, tasks = moment.missing(group)
    spec, chosen = moment.reading.groups[group], list[Pod]()
    placed = moment.placed(group)
    for pod in pods if tasks else ():
        before, after = lacking(spec, [*placed, *chosen])[1], lacking(spec, [*placed, *chosen, pod])[1]
        if after != before:
            chosen.append(pod)
    for pod in pods:
        if len(chosen) < max(count, 1) and pod not in chosen:
            chosen.append(pod)
    is_enough = not any(lacking(spec, [*placed, *chosen])[1]) and len(chosen) >= count
    return sorted(chosen, key=pods.index) if is_enough else []


def fits_together(moment: Moment, pods: Sequence[Pod], *others: Moment) -> NodeChooser | None:
    """A place for each pod, one after the other, in the first node that takes it; None where one has none.

    The node takes it at the moment and at all others alike.
    """
    places = dict[str, str]()
    for pod in pods:
        for node in moment.reading.usable_nodes:
            name = node.metadata.name
            views = [view.with_places({**places, pod.key: name}) for view in (moment, *others)]
            if all(has_room(view, name, pod) and not any(misplaced(view, pod, node)) for view in views):
                if any(spread_breaches(views[0], pod, node)):
                    continue
                places[pod.key] = name
                break
        else:
            return None
    return places


def has_room(moment: Moment, node: str, pod: Pod) -> bool:
    """Whether a node has what the pod asks for, the pod being placed there."""
    idle = moment.idle(node)
    return all(idle[resource] >= 0 for resource in asked(pod.request))


def could_be(moment: Moment, pod: Pod, node: str) -> bool:
    """Whether a pod can be where it is placed."""
    return has_room(moment, node, pod) and not any(misplaced(moment, pod, moment.reading.nodes[node]))


def are_alike(pods: Sequence[Pod]) -> bool:
    """Whether it makes no difference which of the pods goes where: then taking the first node is exact."""
    return all(
        (pod.request, pod.spec.node_selector, pod.spec.affinity, pod.spec.tolerations)
        == (pods[0].request, pods[0].spec.node_selector, pods[0].spec.affinity, pods[0].spec.tolerations)
        for pod in pods
    )


def within(moment: Moment, leaf: str, wanted: Mapping[str, int], limit: str) -> Iterator[str]:
    """Say which queue of the path would exceed its limit ("deserved" or "real_capability"), and on what."""
    reading = moment.reading
    for name in reading.path[leaf]:
        for resource in asked(wanted):
            most = getattr(reading, limit)(name, resource)
            used = moment.used[name][resource] + wanted[resource]
            if used > most:
                yield f"{name} would use {used} of {most} {resource} ({limit})"


def beside(
    moment: Moment, leaf: str, wanted: Mapping[str, int], limit: str, more: Mapping[str, Amounts]
) -> Iterator[str]:
    """Say which queue of the path, or the cluster, would exceed its limit beside what others are to take."""
    reading = moment.reading
    for name in (*reading.path[leaf], ROOT):
        below = [name] if name != ROOT else reading.children[ROOT]
        for resource in asked(wanted):
            held = more.get(name, Amounts())[resource]
            used = sum(moment.used[one][resource] for one in below)
            most = getattr(reading, limit if name != ROOT else "real_capability")(name, resource)
            if held and used + held + wanted[resource] > most:
                yield f"{name} would use {used + held} of {most} {resource} beside what was just let in"


def given_away(before: Moment, after: Moment, leaf: str, resources: Collection[str]) -> set[str]:
    """Allocate: the resources of which something reserved is given away between the two moments."""
    reading, broken = before.reading, set[str]()
    for name in reading.path[leaf]:
        parent = reading.queues[name].parent
        for resource in resources:
            together = sum(after.held(child, resource) for child in reading.children[parent])
            is_raised = after.held(name, resource) > before.held(name, resource)
            if is_raised and together > reading.real_capability(parent, resource):
                broken.add(resource)
    return broken


def placed_somewhere(moment: Moment, pods: Iterable[Pod]) -> Moment:
    """Count pods as placed where nothing but their queue is looked at."""
    node = next((name for name, one in moment.reading.nodes.items() if one.is_ready), None)
    return moment.with_places({pod.key: node for pod in pods}) if node else moment


def amounts_of(reading: Reading, pods: Iterable[str]) -> Amounts:
    """What pods hold together."""
    return total(reading.pods[pod].request for pod in pods)
