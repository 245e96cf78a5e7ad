"""The reference model (`tests/reference`) asked as the engine decides: a slow oracle by another hand.

It is asked with changes, where the engine does more: queues get whole units by largest remainder
(the model does not round), a declared request that names no pods asks for those that exist, the
phase with which it begins follows the pods, a promise that its node cannot keep is let go (the
model would keep it for ever), and of the nodes that take a pod it chooses the one that the engine
chose (the model does not score). What is left to differ is decisions.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, TypeVar

import reference
from maar.core.fairshare.queue_demand import QueueDemand
from maar.core.model.resources import units_in_one
from properties.cluster_manifests import Document
from properties.slow_fairshare import share_out
from reference import Amounts, Cluster, Configuration, Node, Places, Pod, PodGroup, Shares

CONFIGURATION: Final = Configuration.read("")
Kind = TypeVar("Kind", bound=reference.Cycle)


def exact_shares(documents: Sequence[Document], now: datetime) -> dict[str, dict[str, dict[str, str]]]:
    """What every queue deserves and may use, from fractions, cut to whole units."""
    cycle = _cycle_of(InFractions, documents, now)
    figures = {"deserved": cycle.shares.deserved, "realCapability": cycle.shares.real_capability}
    return {
        name: {figure: reference.shown(amounts[name]) for figure, amounts in figures.items()}
        for name in cycle.queues
    }


def advised_plan(documents: Sequence[Document], now: datetime, advice: Mapping[str, str]) -> dict[str, Any]:
    """What it decides with whole units, going along with another's choice of nodes."""
    return reference.shown_cycle(advised_cycle(documents, now, advice))


def advised_cycle(documents: Sequence[Document], now: datetime, advice: Mapping[str, str]) -> "InWholeUnits":
    """The cycle of that plan, after it has decided."""
    cycle = _cycle_of(InWholeUnits, documents, now)
    cycle.advice = advice
    cycle.run()
    return cycle


class InFractions(reference.Cycle):
    """The model's cycle, where a declared request that names no pods asks for those that exist."""

    def fair_shares(self) -> Shares:
        """What queues deserve with those requests."""
        super().fair_shares()
        for name, claim in self.claims.items():
            if self.queues[name].declared_request is not None:
                claim.request.setdefault("pods", self.leaf_request(name)["pods"])
        return reference.fair_shares(self.claims, self.budget)


class InWholeUnits(InFractions):
    """The same with the whole units that the slow implementation of the kernel gives, and with advice."""

    def __init__(self, cluster: Cluster, configuration: Configuration, now: datetime) -> None:
        super().__init__(cluster, configuration, now)
        self.advice: Mapping[str, str] = {}  # by pod: the node that the engine chose

    def fair_shares(self) -> Shares:
        """What queues deserve, rounded."""
        shares = super().fair_shares()
        claims = [_claim(name, claim, self.queues[name].created) for name, claim in self.claims.items()]
        for name, share in share_out(claims, _units(self.budget)).items():
            shares.deserved[name].update(_amounts(share.deserved))
            shares.real_capability[name].update(_amounts(share.real_capability))
            shares.guarantee[name].update(_amounts(share.guarantee))
        return shares

    def put(
        self,
        pods: Sequence[Pod],
        nodes: frozenset[str],
        before: Places,
        *,
        at_once: bool,
        victims: Sequence[Pod],
    ) -> Places | None:
        """A node for each pod, the one that the engine chose if it fits."""
        places = dict(before)
        leaving = {victim.name for victim in victims}
        for pod in pods:
            fitting = []
            for node in [one for one in self.usable_nodes() if one.name in nodes]:
                later = self.held_later[node.name]
                for victim in victims:
                    later = later.minus(victim.request) if victim.node == node.name else later
                fits = _has_room(self, pod, node, later, places)
                fits = fits and (not at_once or _has_room(self, pod, node, self.held_now[node.name], places))
                if fits and self.suits(pod, node, places, leaving):
                    fitting.append(node.name)
            if not fitting:
                return None
            chosen = self.advice.get(pod.name, pod.nominated)
            places[pod.name] = chosen if chosen in fitting else fitting[0]
        return places


def _cycle_of(kind: type[Kind], documents: Sequence[Document], now: datetime) -> Kind:
    """A cycle of a snapshot, with the phases and promises of the engine."""
    cluster = reference.read_cluster(deepcopy(list(documents)))
    for name, group in cluster.groups.items():
        group.phase = _phase(group, [pod for pod in cluster.pods.values() if pod.group == name])
    cycle = kind(cluster, CONFIGURATION, now)
    broken = [cluster.pods[name] for name in cycle.promised if not _can_be_kept(cycle, cluster.pods[name])]
    for pod in broken:
        pod.nominated = ""
    return kind(cluster, CONFIGURATION, now) if broken else cycle


def _phase(group: PodGroup, pods: Sequence[Pod]) -> str:
    """The phase follows the pods."""
    live = [pod for pod in pods if pod.live]
    if (pods or group.phase == "Completed") and not live:
        return "Completed"
    is_placed = any(pod.node or (pod.nominated and not pod.terminating) for pod in live)
    return group.phase if is_placed or group.phase == "Inqueue" else "Pending"


def _has_room(cycle: reference.Cycle, pod: Pod, node: Node, held: Amounts, places: Mapping[str, str]) -> bool:
    """Whether a node has what a pod asks for, besides what is held and what goes there in the same turn."""
    for name, where in places.items():
        held = held.plus(cycle.cluster.pods[name].request) if where == node.name else held
    return all(
        held[resource] + amount <= node.allocatable[resource] for resource, amount in pod.request.items()
    )


def _can_be_kept(cycle: reference.Cycle, pod: Pod) -> bool:
    """Whether a pod can go where it is promised room, once those are gone who leave."""
    node, name = cycle.cluster.nodes[pod.nominated], pod.nominated
    is_free = _has_room(cycle, pod, node, cycle.held_later[name].minus(pod.request), {})
    return is_free and node in cycle.usable_nodes() and cycle.suits(pod, node, {}, set())


def _units(amounts: Mapping[str, Fraction]) -> dict[str, int]:
    return {resource: int(amount * units_in_one(resource)) for resource, amount in amounts.items()}


def _amounts(units: Mapping[str, int]) -> dict[str, Fraction]:
    return {resource: Fraction(count, units_in_one(resource)) for resource, count in units.items()}


def _claim(name: str, claim: reference.Claim, created: datetime) -> QueueDemand:
    return QueueDemand(
        name=name,
        parent=claim.parent,
        weight=claim.weight,
        guarantee=_units(claim.guarantee),
        percentage={resource: int(part * 1000) for resource, part in claim.percentage.items()},
        soft_guarantee=_units(claim.soft),
        capability=_units(claim.capability),
        request=_units(claim.request),
        created=created.timestamp(),
    )
