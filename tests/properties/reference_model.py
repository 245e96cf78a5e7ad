"""The reference model of the specification, loaded into this process: a slow oracle by another hand.

It is asked with changes, where docs/specification says more: queues get whole units by largest
remainder (the model does not round), a declared request that names no pods asks for those that exist, the
phase with which it begins follows the pods, a promise that its node cannot keep is let go (the model would
keep it for ever), preempt gives nothing away that is reserved (law C3), and of the nodes that take a pod it
chooses the one that the engine chose (the model does not score). What is left to differ is decisions.
"""

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from datetime import datetime
from fractions import Fraction
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from maar.core.fairshare.queue_demand import QueueDemand
from maar.core.model.queue import ROOT
from maar.core.model.resources import units_in_one
from properties.cluster_manifests import Document
from properties.slow_fairshare import share_out

FOLDER: Final = Path(os.environ.get("MAAR_REFERENCE_MODEL") or Path(__file__).parents[3] / "shared" / "model")
IS_THERE: Final = (FOLDER / "cycle.py").is_file()
PARTS: Final = {"water": "water.py", "cluster": "cluster.py", "cycle": "cycle.py", "model": "model"}

Cycle = Mapping[str, Any]


def _load() -> dict[str, ModuleType]:
    """Import the model's files under private names; they know each other by short ones."""
    loaded, before = dict[str, ModuleType](), {name: sys.modules.get(name) for name in PARTS}
    wrote, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        for name, file in PARTS.items():
            loader = SourceFileLoader(f"maar_reference_{name}", str(FOLDER / file))
            spec = importlib.util.spec_from_loader(loader.name, loader)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[loader.name] = sys.modules[name] = loaded[name] = module
            loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = wrote
        for name, module_before in before.items():
            if module_before is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module_before
    return loaded


def _lacks_pods(cycle: Any, group: Any) -> bool:  # noqa: ANN401
    """Whether a group cannot be tried; pods that have succeeded count towards minMember."""
    there = [pod for pod in cycle.pods_of[group.name] if pod.phase == "Succeeded" or pod.live]
    return sum(not cycle.gone(pod) for pod in there) < int(group.min_member)


def _with_half_gangs(parts: Any) -> Any:  # noqa: ANN401
    """Cleanup, and then what the model lacks: groups that starve make room for each other."""
    cleanup = parts.Cycle.cleanup

    def whole(cycle: Any) -> None:  # noqa: ANN401
        cleanup(cycle)
        since = {key: group.unschedulable_since for key, group in cycle.cluster.groups.items()}
        left = {key for key, time in since.items() if time and cycle.now - time > parts.GRACE_PERIOD}
        left = {key for key in left if _is_half(cycle, cycle.cluster.groups[key])}
        while found := _next_half_gang(parts, cycle, left):
            attempt, victims, places = found
            for victim in victims:
                cycle.evict(victim.pods, attempt.group.name, "cleanup")
            for pod in attempt.pods:
                cycle.promise(pod, places[pod.name])
            left -= {attempt.group.name, *(victim.group.name for victim in victims)}

    return whole


def _with_just_let_in(parts: Any) -> None:  # noqa: ANN401
    """Surplus does not take what was just let in: what the model lacks of allocate, preempt and reclaim."""
    keep_promises, can_bind = parts.Cycle.keep_promises, parts.Cycle.can_bind
    fits = parts.Attempt.fits

    def kept(cycle: Any) -> None:  # noqa: ANN401
        keep_promises(cycle)
        cycle.beside = _just_let_in(cycle)

    def binds(cycle: Any, group: Any, allowed: Any, domain: Any, pods: Any) -> bool:  # noqa: ANN401
        if not can_bind(cycle, group, allowed, domain, pods):
            return False
        is_limited = allowed in (cycle.may_allocate, cycle.may_borrow)
        limits = cycle.shares.deserved if allowed == cycle.may_allocate else cycle.shares.real_capability
        return not is_limited or _leaves_room(cycle, group, parts.total_request(pods).asked(), limits)

    def fitting(attempt: Any, taken: Any) -> bool:  # noqa: ANN401
        if not fits(attempt, taken):
            return False
        cycle, shares = attempt.cycle, attempt.cycle.shares
        limits = shares.deserved if attempt.action == "reclaim" else shares.real_capability
        return _leaves_room(cycle, attempt.group, attempt.request, limits, cycle.losses(taken))

    parts.Cycle.keep_promises, parts.Cycle.can_bind, parts.Attempt.fits = kept, binds, fitting


def _with_limits_at_the_gate(parts: Any) -> None:  # noqa: ANN401
    """Who asks for more than its queue may have of the empty cluster never starts: the model asks nodes."""
    is_held_by_nodes = parts.Cycle.is_held_by_nodes

    def held(cycle: Any, group: Any) -> bool:  # noqa: ANN401
        if not cycle.waits_inside(group) or cycle.lacks_pods(group):
            return False
        needs = parts.total_request(cycle.pending(group)[: max(group.min_member, 1)])
        empty = copy(cycle.cluster)
        empty.pods = {key: pod for key, pod in empty.pods.items() if not (pod.node or pod.nominated)}
        alone = type(cycle)(empty, cycle.configuration, cycle.now)
        is_within = alone.within(group.queue, needs, alone.shares.real_capability)
        return not is_within or is_held_by_nodes(cycle, group)

    parts.Cycle.is_held_by_nodes = held


def _just_let_in(cycle: Any) -> dict[str, dict[str, Fraction]]:  # noqa: ANN401
    """What groups that came in in this cycle have yet to take, by queue; as far as it is within deserved."""
    more: dict[str, dict[str, Fraction]] = {}
    for group in cycle.cluster.groups.values():
        is_new = group.phase == "Pending" and cycle.phase[group.name] == "Inqueue"
        if not is_new or not _lacks_pods(cycle, group):
            continue
        leaf, known = group.queue, dict(more.get(group.queue, {}))
        for resource, amount in (group.min_resources or {}).items():
            left = cycle.shares.deserved[leaf][resource] - cycle.used[leaf][resource]
            part = max(Fraction(0), min(amount, left - known.get(resource, 0)))
            for queue in (*cycle.path[leaf], ROOT):
                there = more.setdefault(queue, {})
                there[resource] = there.get(resource, Fraction(0)) + part
    return more


def _leaves_room(cycle: Any, group: Any, request: Any, limits: Any, losses: Any = None) -> bool:  # noqa: ANN401
    """Whether surplus is within limits beside what was just let in."""
    if not cycle.ready(group):
        return True
    for queue in (*cycle.path[group.queue], ROOT):
        below = [queue] if queue != ROOT else cycle.children[ROOT]
        most = limits[queue] if queue != ROOT else cycle.budget
        for resource, amount in request.items():
            used = sum(cycle.used[one][resource] for one in below)
            used -= sum(losses.queues[one][resource] for one in below) if losses else 0
            more = cycle.beside.get(queue, {}).get(resource, 0)
            if more and used + more + amount > most[resource]:
                return False
    return True


def _is_half(cycle: Any, group: Any) -> bool:  # noqa: ANN401
    """Whether it starves and nothing is being freed for it."""
    is_promised = any(pod.name in cycle.promised for pod in cycle.pods_of[group.name])
    return group.queue in cycle.leaves and not cycle.ready(group) and not is_promised and cycle.running(group)


def _next_half_gang(parts: Any, cycle: Any, left: set[str]) -> Any:  # noqa: ANN401
    """The first that becomes ready with others gone: its attempt, its victims and their room; or nothing."""
    deserved, real = cycle.shares.deserved, cycle.shares.real_capability
    for order, limits in ((cycle.queue_order, (deserved, real)), (cycle.lending_order, (real,))):
        in_order, rest = list[Any](), set(left)
        while group := cycle.next_group(order, lambda one, rest=rest: one.name in rest):
            in_order.append(group)
            rest.discard(group.name)
        last = [parts.Attempt(cycle, one) for one in reversed(in_order)]
        if deserved not in limits:  # nobody who is entitled pays for a loan
            last = [one for one in last if not cycle.within(one.leaf, one.request, deserved)]
        for group in in_order:
            if found := _made_ready(parts, cycle, group, [one.group for one in last], limits):
                return found
    return None


def _made_ready(parts: Any, cycle: Any, group: Any, last: Sequence[Any], limits: Any) -> Any:  # noqa: ANN401
    """What makes one half gang ready, from the last on; nothing where no others of them do."""
    attempt, taken, places = parts.Attempt(cycle, group), list[Any](), None
    if not attempt.pods or _room(cycle, attempt, (), limits) is not None:
        return None
    for other in last:
        pods = tuple(cycle.running(other))
        is_protected = any(cycle.protected(pod, one) for pod in pods for one in ("reclaim", "preempt"))
        if other is not group and not is_protected and places is None:
            taken.append(parts.Unit(other, pods, surplus=False, starving=True))
            places = _room(cycle, attempt, taken, limits)
    for unit in list(reversed(taken)) if places is not None else ():
        fewer = [one for one in taken if one is not unit]
        if (found := _room(cycle, attempt, fewer, limits)) is not None:
            taken, places = fewer, found
    return (attempt, taken, places) if places is not None else None


def _room(cycle: Any, attempt: Any, units: Sequence[Any], limits: Any) -> Any:  # noqa: ANN401
    """Where its pods go with these units gone, within the limits at every level; None if they do not."""
    losses, leaf, request = cycle.losses(units), attempt.leaf, attempt.request
    if not all(cycle.within(leaf, request, most, losses) for most in limits):
        return None
    if cycle.reserved_for_others(leaf, request, losses):
        return None
    return cycle.place(attempt.pods, at_once=False, victims=[pod for unit in units for pod in unit.pods])


class ReferenceModel:
    """The model, ready to be asked."""

    def __init__(self) -> None:
        self.parts = _load()
        self.parts["cycle"].Preempt.allows = _preempt_allows
        self.parts["cycle"].Cycle.lacks_pods = _lacks_pods
        _with_just_let_in(self.parts["cycle"])
        _with_limits_at_the_gate(self.parts["cycle"])
        self.parts["cycle"].Cycle.cleanup = _with_half_gangs(self.parts["cycle"])
        self.configuration = self.parts["cluster"].Configuration.read("")

    def shares(self, documents: Sequence[Document], now: datetime) -> dict[str, dict[str, dict[str, str]]]:
        """What every queue deserves and may use, from fractions, cut to whole units."""
        cycle, shown = self._cycle(_in_fractions(self.parts), documents, now), self.parts["model"].shown
        figures = {"deserved": cycle.shares.deserved, "realCapability": cycle.shares.real_capability}
        return {
            name: {figure: shown(amounts[name]) for figure, amounts in figures.items()}
            for name in cycle.queues
        }

    def advised_plan(self, documents: Sequence[Document], now: datetime, advice: Mapping[str, str]) -> Cycle:
        """What it decides with whole units, going along with another's choice of nodes."""

        class Advised(_in_whole_units(self.parts)):  # type: ignore[misc]
            def put(self, pods: Any, nodes: Any, before: Any, at_once: bool, victims: Any) -> Any:  # noqa: ANN401, FBT001
                return _put(self, pods, nodes, before, at_once, victims, advice)

        cycle = self._cycle(Advised, documents, now)
        cycle.run()
        shown: Cycle = self.parts["model"].shown_cycle(cycle)
        return shown

    def _cycle(self, kind: Any, documents: Sequence[Document], now: datetime) -> Any:  # noqa: ANN401
        cluster = self.parts["cluster"].read_cluster(deepcopy(list(documents)))
        for name, group in cluster.groups.items():
            group.phase = _phase(group, [pod for pod in cluster.pods.values() if pod.group == name])
        cycle = kind(cluster, self.configuration, now)
        broken = [pod for pod in map(cluster.pods.get, cycle.promised) if not _can_be_kept(cycle, pod)]
        for pod in broken:
            pod.nominated = ""
        return kind(cluster, self.configuration, now) if broken else cycle


def _phase(group: Any, pods: Sequence[Any]) -> str:  # noqa: ANN401
    """The phase follows the pods."""
    live = [pod for pod in pods if pod.live]
    if (pods or group.phase == "Completed") and not live:
        return "Completed"
    is_placed = any(pod.node or (pod.nominated and not pod.terminating) for pod in live)
    return str(group.phase) if is_placed or group.phase == "Inqueue" else "Pending"


def _in_fractions(parts: Mapping[str, ModuleType]) -> Any:  # noqa: ANN401
    """The model's cycle, where a declared request that names no pods asks for those that exist."""

    class InFractions(parts["cycle"].Cycle):  # type: ignore[misc]
        def fair_shares(self) -> Any:  # noqa: ANN401
            super().fair_shares()
            for name, claim in self.claims.items():
                if self.queues[name].declared_request is not None:
                    claim.request.setdefault("pods", self.leaf_request(name)["pods"])
            return parts["water"].fair_shares(self.claims, self.budget)

    return InFractions


def _in_whole_units(parts: Mapping[str, ModuleType]) -> Any:  # noqa: ANN401
    """The same with the whole units that the slow implementation of the kernel gives."""

    class WholeUnits(_in_fractions(parts)):  # type: ignore[misc]
        def fair_shares(self) -> Any:  # noqa: ANN401
            shares = super().fair_shares()
            claims = [_claim(name, claim, self.queues[name].created) for name, claim in self.claims.items()]
            for name, share in share_out(claims, _units(self.budget)).items():
                shares.deserved[name].update(_amounts(share.deserved))
                shares.real_capability[name].update(_amounts(share.real_capability))
                shares.guarantee[name].update(_amounts(share.guarantee))
            return shares

    return WholeUnits


def _put(
    cycle: Any,  # noqa: ANN401
    pods: Any,  # noqa: ANN401
    nodes: Any,  # noqa: ANN401
    before: Mapping[str, str],
    at_once: bool,  # noqa: FBT001
    victims: Any,  # noqa: ANN401
    advice: Mapping[str, str],
) -> Any:  # noqa: ANN401
    """The model's `put`, but for the choice among the nodes that fit."""
    places = dict(before)
    leaving = {victim.name for victim in victims}
    for pod in pods:
        fitting = []
        for node in [one for one in cycle.usable_nodes() if one.name in nodes]:
            later = cycle.held_later[node.name]
            for victim in victims:
                later = later.minus(victim.request) if victim.node == node.name else later
            fits = _has_room(cycle, pod, node, later, places)
            fits = fits and (not at_once or _has_room(cycle, pod, node, cycle.held_now[node.name], places))
            if fits and cycle.suits(pod, node, places, leaving):
                fitting.append(node.name)
        if not fitting:
            return None
        chosen = advice.get(pod.name, pod.nominated)
        places[pod.name] = chosen if chosen in fitting else fitting[0]
    return places


def _has_room(cycle: Any, pod: Any, node: Any, held: Any, places: Mapping[str, str]) -> bool:  # noqa: ANN401
    """Whether a node has what a pod asks for, besides what is held and what goes there in the same turn."""
    for name, where in places.items():
        held = held.plus(cycle.cluster.pods[name].request) if where == node.name else held
    return all(
        held[resource] + amount <= node.allocatable[resource] for resource, amount in pod.request.items()
    )


def _can_be_kept(cycle: Any, pod: Any) -> bool:  # noqa: ANN401
    """Whether a pod can go where it is promised room, once those are gone who leave."""
    node, name = cycle.cluster.nodes[pod.nominated], pod.nominated
    is_free = _has_room(cycle, pod, node, cycle.held_later[name].minus(pod.request), {})
    return bool(is_free and node in cycle.usable_nodes() and cycle.suits(pod, node, {}, set()))


def _preempt_allows(attempt: Any, losses: Any) -> bool:  # noqa: ANN401
    """C3: the queue ends within real capability, and nothing reserved is given away."""
    cycle, leaf, request = attempt.cycle, attempt.leaf, attempt.request
    is_within = cycle.within(leaf, request, cycle.shares.real_capability, losses)
    return bool(is_within and not cycle.reserved_for_others(leaf, request, losses))


def _units(amounts: Mapping[str, Fraction]) -> dict[str, int]:
    return {resource: int(amount * units_in_one(resource)) for resource, amount in amounts.items()}


def _amounts(units: Mapping[str, int]) -> dict[str, Fraction]:
    return {resource: Fraction(count, units_in_one(resource)) for resource, count in units.items()}


def _claim(name: str, claim: Any, created: datetime) -> QueueDemand:  # noqa: ANN401
    return QueueDemand(
        name=name,
        parent=claim.parent,
        weight=claim.weight,
        guarantee=_units(claim.guarantee),
        percentage={resource: int(part * 1000) for resource, part in claim.percentage.items()},
        capability=_units(claim.capability),
        request=_units(claim.request),
        created=created.timestamp(),
    )
