"""Trimming by its definition: all pods are placed again for every unit that might be dropped."""

from collections.abc import Sequence

from maar.core.cycle.evicting.promises import Places, Promises
from maar.core.cycle.evicting.trimming import Trimming
from maar.core.cycle.evicting.units import Unit, is_gang


def trimmed_slowly(trimming: Trimming) -> tuple[list[Unit], Places]:
    """Drop units one by one, from the most important down; gives the rest, and the nodes that are found."""
    promises = Promises(trimming.state, trimming.promises.pods)
    promises.found = list(trimming.promises.found)
    kept = list(trimming.taken)
    for unit in reversed(trimming.taken):
        rest = [other for other in kept if other is not unit]
        if _works(trimming, promises, rest):
            kept = rest
    return kept, promises.found


def _works(trimming: Trimming, promises: Promises, units: Sequence[Unit]) -> bool:
    state = trimming.state
    with state.trial():
        for unit in trimming.taken:  # which are gone
            for pod in unit.pods if unit not in units else ():
                state.put_back(pod)
        if not trimming.allows() or not promises.are_possible():
            return False
        left = [[*state.holders(unit.group), *state.newly_bound(unit.group)] for unit in units]
        return all(not pods or is_gang(unit.group, pods) for unit, pods in zip(units, left, strict=True))
