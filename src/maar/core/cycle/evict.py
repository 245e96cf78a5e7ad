"""Evictions: every group that waits, in allocate's order, tries to make room until none succeeds.

In most cycles none succeeds, and then the order does not matter. So while thousands wait, one of each kind
tries first (`tables/alike.py`), and only where one of them finds victims the groups have their turns, each
for itself.
"""

from collections.abc import Sequence

from maar.core.cycle.attempt import Attempt
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.protected_until import ProtectedUntil
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import TurnOrder
from maar.core.cycle.victim_search import VictimSearch
from maar.core.model.reasons import Refusal
from maar.core.tables.groups import ADMITTED_PHASES


def evict(state: State, attempt: type[Attempt]) -> None:
    """Let every group try; one that succeeds has another turn while more of its pods wait.

    A failure leaves everything as it was. Until an attempt succeeds, all with the same equivalence key would
    fail too and are skipped: in a full cluster many groups wait, and they are of few kinds.
    """
    waiting = [group for group in state.waiting if group.pending and group.phase in ADMITTED_PHASES]
    if not waiting or _all_fail(state, attempt, waiting):
        return
    waiting = state.groups.separate_all(waiting)
    search, turns = VictimSearch(state, attempt.action), TurnOrder(state, "fair", waiting)
    failed: dict[object, Refusal | None] = {}  # by equivalence key: what blocked it, where known
    alike: dict[object, list[GroupState]] = {}  # the groups that have failed, by equivalence key
    failed_before = list[GroupState]()  # an attempt that succeeded afterwards
    while group := turns.next():
        if state.groups.have_alike_equal_turns and attempt.cannot_succeed(search, group):
            turns.done(group)
            continue
        one = attempt(search, group)
        equivalence_key = _equivalence_key(one)
        is_tried = equivalence_key not in failed
        victims = state.held_room.without_hold(group, one.succeeds) if is_tried else None
        if victims is None:
            failed.setdefault(equivalence_key, one.blocked)
            group.refusal = failed[equivalence_key] or group.refusal
            alike.setdefault(equivalence_key, []).append(group)
            turns.done(group)
            continue
        failed.clear()
        search.without_victims.clear()
        failed_before += [one for groups in alike.values() for one in groups]
        alike.clear()
        group.pending = [pod for pod in group.pending if pod.key not in state.promised]
        search.refresh(group)
        if group.pending:
            turns.again(group)
        else:
            turns.done(group)
        for victim in {unit.group.row.key: unit.group for unit in victims}.values():
            turns.refresh_group(victim)
    if search.min_runtimes.lengths:
        for group in failed_before:
            one = attempt(search, group)
            equivalence_key = _equivalence_key(one)
            if equivalence_key in alike or one.find() is None:
                alike.setdefault(equivalence_key, []).append(group)
        _note_protection([(key, attempt(search, groups[0]), groups) for key, groups in alike.items()])


def _all_fail(state: State, attempt: type[Attempt], waiting: Sequence[GroupState]) -> bool:
    """Whether groups of which some stand for others that are alike all fail; nothing is changed if not.

    What groups are told that blocks them is told them here where all fail.
    """
    if all(group.alike is None for group in waiting):
        return False
    known, search = state.groups.known(), VictimSearch(state, attempt.action)
    failed: dict[object, Refusal | None] = {}
    alike: dict[object, list[GroupState]] = {}
    for group in waiting:
        if attempt.cannot_succeed(search, group):
            continue
        one = attempt(search, group)
        equivalence_key = _equivalence_key(one)
        if equivalence_key not in failed:
            if one.find() is not None:
                state.groups.forget_all_but(known)
                return False
            failed[equivalence_key] = one.blocked
            alike[equivalence_key] = []
        alike[equivalence_key].append(group)
    for equivalence_key, groups in alike.items():
        for group in groups:
            group.refusal = failed[equivalence_key] or group.refusal
    return True


def _note_protection(attempts: list[tuple[object, Attempt, list[GroupState]]]) -> None:
    """Give the reason to those that would succeed later, as things are once all have tried."""
    until = ProtectedUntil()
    for equivalence_key, one, groups in attempts:
        for group in groups:
            until.note(one, equivalence_key, group)


def _equivalence_key(attempt: Attempt) -> object:
    return attempt.equivalence_key() if attempt.is_like_others() else attempt.group
