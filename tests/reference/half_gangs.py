"""Half gangs make room for each other: docs/specification/eviction.md, Half gangs; decision record 66."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from reference.amounts import Tables
from reference.attempt import Attempt
from reference.objects import PodGroup
from reference.state import Places
from reference.turns import Turns
from reference.units import Unit


class RoomMade(NamedTuple):
    """For whom room is made, by which victims, and where its pods go."""

    attempt: Attempt
    victims: Sequence[Unit]
    places: Places


def make_room_for_half_gangs(cycle: Turns, names: Collection[str]) -> None:
    """Evict some of these groups, as far as they starve, so that others of them become ready."""
    left = {name for name in names if is_half(cycle, cycle.cluster.groups[name])}
    while found := next_room(cycle, left):
        group = found.attempt.group.name
        for victim in found.victims:
            cycle.evict(victim.pods, group, "cleanup")
        for pod in found.attempt.pods:
            cycle.promise(pod, found.places[pod.name])
        left -= {group, *(victim.group.name for victim in found.victims)}


def is_half(cycle: Turns, group: PodGroup) -> bool:
    """Whether it starves and nothing is being freed for it."""
    is_promised = any(pod.name in cycle.promised for pod in cycle.pods_of[group.name])
    is_starving = not cycle.ready(group) and bool(cycle.running(group))
    return group.queue in cycle.leaves and is_starving and not is_promised


def is_among(names: set[str], group: PodGroup) -> bool:
    """Whether it is one of these groups."""
    return group.name in names


def next_room(cycle: Turns, left: set[str]) -> RoomMade | None:
    """What makes the first ready that can be, within deserved, and where none can be, on loan."""
    deserved, real = cycle.shares.deserved, cycle.shares.real_capability
    for order, limits in ((cycle.queue_order, [deserved, real]), (cycle.lending_order, [real])):
        in_order, rest = list[PodGroup](), set(left)
        while group := cycle.next_group(order, partial(is_among, rest)):
            in_order.append(group)
            rest.discard(group.name)
        last = [Attempt(cycle, one) for one in reversed(in_order)]
        if deserved not in limits:  # a group within what its queue deserves does not pay for a loan
            last = [one for one in last if not cycle.within(one.leaf, one.request, deserved)]
        for group in in_order:
            if found := room_for(cycle, group, [one.group for one in last], limits):
                return found
    return None


def room_for(
    cycle: Turns, group: PodGroup, last: Sequence[PodGroup], limits: Sequence[Tables]
) -> RoomMade | None:
    """What makes one half gang ready, from the last on; nothing where no others of them do."""
    attempt, taken = Attempt(cycle, group), list[Unit]()
    if not attempt.pods or places_without(cycle, attempt, (), limits) is not None:
        return None
    places: Places | None = None
    for other in last:
        pods = tuple(cycle.running(other))
        is_protected = any(cycle.protected(pod, action) for pod in pods for action in ("reclaim", "preempt"))
        if other is not group and not is_protected and places is None:
            taken.append(Unit(other, pods, surplus=False, starving=True))
            places = places_without(cycle, attempt, taken, limits)
    if places is None:
        return None
    for unit in list(reversed(taken)):
        fewer = [one for one in taken if one is not unit]
        if (found := places_without(cycle, attempt, fewer, limits)) is not None:
            taken, places = fewer, found
    return RoomMade(attempt, taken, places)


def places_without(
    cycle: Turns, attempt: Attempt, units: Sequence[Unit], limits: Sequence[Tables]
) -> Places | None:
    """Where its pods go with these units gone, within the limits at every level; None if they do not."""
    losses, leaf, request = cycle.losses(units), attempt.leaf, attempt.request
    if not all(cycle.within(leaf, request, most, losses) for most in limits):
        return None
    if cycle.reserved_for_others(leaf, request, losses):
        return None
    return cycle.place(attempt.pods, at_once=False, victims=[pod for unit in units for pod in unit.pods])
