"""Evictions: every group that waits, in allocate's order, tries to make room until none succeeds.

Thousands may wait, and they are of few classes (`classes.py`). A class whose first member fails has
no more turns until another group succeeds: all its members would have failed in theirs
(`eviction_turns.py`). Until then all with the same equivalence key fail too, and are not tried.
"""

from maar.core.cycle.evicting.attempt import Attempt
from maar.core.cycle.evicting.eviction_turns import EvictionTurns
from maar.core.cycle.evicting.protected_until import ProtectedUntil
from maar.core.cycle.evicting.victim_search import VictimSearch
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.state import State
from maar.core.model.reasons import Refusal


def evict(state: State, attempt: type[Attempt]) -> None:
    """Let every group try; one that succeeds has another turn while more of its pods wait."""
    if not state.groups.any_wait():
        return
    search = VictimSearch(state, attempt.action)
    turns = EvictionTurns(search, attempt)
    failed: dict[object, Refusal | None] = {}  # by equivalence key: what blocked it, where known
    alike: dict[object, list[GroupState]] = {}  # the groups that have failed, by equivalence key
    failed_before = list[GroupState]()  # an attempt that succeeded afterwards
    while group := turns.next():
        if attempt.cannot_succeed(search, group):
            turns.failed(group)
            continue
        one = attempt(search, group)
        equivalence_key = _equivalence_key(one)
        is_tried = equivalence_key not in failed
        victims = state.held_room.without_hold(group, one.try_evict) if is_tried else None
        if victims is None:
            turns.failed(group, failed.setdefault(equivalence_key, one.blocked))
            alike.setdefault(equivalence_key, []).append(group)
            continue
        failed.clear()
        search.failures.clear()
        failed_before += [one for groups in alike.values() for one in groups]
        alike.clear()
        group.pending = [pod for pod in group.pending if pod.key not in state.promised]
        search.refresh(group)
        turns.succeeded(group, victims)
    if search.min_runtimes.lengths:
        for group in failed_before:
            one = attempt(search, group)
            equivalence_key = _equivalence_key(one)
            if equivalence_key in alike or one.find() is None:
                alike.setdefault(equivalence_key, []).append(group)
        _note_protection([(key, attempt(search, groups[0]), groups) for key, groups in alike.items()])


def _note_protection(attempts: list[tuple[object, Attempt, list[GroupState]]]) -> None:
    """Give the reason to those that would succeed later, as things are once all have tried."""
    until = ProtectedUntil()
    for equivalence_key, one, groups in attempts:
        for group in groups:
            if until.may_note(one, equivalence_key):
                for each in one.state.groups.by_age_of_refusal(group):
                    until.note(one, equivalence_key, each)


def _equivalence_key(attempt: Attempt) -> object:
    return attempt.equivalence_key() if attempt.is_like_others() else attempt.group
