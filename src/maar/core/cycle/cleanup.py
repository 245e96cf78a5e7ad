"""Cleanup: jobs that have been starving too long give up what they hold.

In an overused queue they give up all of it, in any queue what another of them needs to start.
"""

from math import inf, nextafter
from operator import attrgetter, gt

from maar.core.cycle.evicting.half_gangs import HalfGangs
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.state import Eviction, State
from maar.core.tables.rows import PodRow


def cleanup(state: State) -> None:
    """Evict the pods of starving groups for which nothing is being freed: they can do no work.

    Where backfill places pods without their gang, those that request nothing stay: it would place
    them again at once.
    """
    ledger, is_gang = state.ledger, ("gang", "enableJobReady") in state.configuration.enabled

    def is_held(pod: PodRow) -> bool:
        return is_gang or not pod.shape.asks_for_nothing

    for row in ledger.rows:
        used = ledger.used_now(row.index) if ledger.held else ledger.used[row.index]
        if not row.is_leaf or not any(map(gt, used, ledger.deserved[row.index])):
            continue
        promised = {state.tables.pods[key].group_key for key in state.promised}
        holding = [group for group in row.groups.values() if any(group.used)]
        for group_row in sorted(holding, key=attrgetter("order")):
            group = state.group(group_row)
            if group_row.key in promised or not group.is_starving or not _is_grace_over(state, group):
                continue
            pods = sorted(filter(is_held, state.holders(group)), key=state.pod_order)
            if pods and not state.breaks_promise(pods) and state.budgets.allow(tuple(pods)):
                state.budgets.spend(tuple(pods))
                for pod in pods:
                    state.evict(pod)
                    state.record(Eviction(pod, None, "cleanup"))
    groups = _half_gangs(state)
    if len(groups) > 1:
        over = [group for group in groups if _is_grace_over(state, group)]
        HalfGangs(state, over).make_room()
        if len(over) < len(groups):
            _note_circle(state)


def _half_gangs(state: State) -> list[GroupState]:
    """The groups that starve and for which nothing is being freed."""
    promised = {state.tables.pods[key].group_key for key in state.promised}
    found = {group.row.key: group for group in state.groups.read_waiting() if group.placed}
    if state.tables.short:
        found |= {group.row.key: group for group in state.groups.short()}
    if len(found) < 2:  # noqa: PLR2004  no group waits for another
        return []
    return [
        group
        for key, group in found.items()
        if key not in promised and group.is_starving and state.holders(group)
    ]


def _note_circle(state: State) -> None:
    """Note who will make room for whom once the grace period of all of them is over."""
    found = HalfGangs(state, _half_gangs(state)).first()
    if found is not None:
        circle = (found[0], *found[1])
        until = max(_grace_ends(state, group) for group in circle)
        keys = tuple(group.row.key for group in circle)
        state.circles.update(dict.fromkeys(keys, (keys, until)))


def _grace_ends(state: State, group: GroupState) -> float:
    """When a group has starved for longer than the grace period, if it starves until then."""
    since = group.row.unschedulable_since
    state.counts_from_now |= since is None
    return (state.now if since is None else since) + state.configuration.grace_seconds


def _is_grace_over(state: State, group: GroupState) -> bool:
    """Whether a group has starved for longer than the grace period; if not, the plan says when it will."""
    since = group.row.unschedulable_since
    if since is None and (group.was_unschedulable or not group.pending):
        since, state.counts_from_now = state.now, True  # the plan gives it the condition
    if since is None:
        return False
    over = since + state.configuration.grace_seconds
    if state.now <= over:
        state.times_to_come.append(nextafter(over, inf))
    return state.now > over
