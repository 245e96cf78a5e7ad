"""Evictions: every group that waits, in allocate's order, tries to make room until none succeeds."""

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
    if not waiting:
        return
    search, turns = VictimSearch(state, attempt.action), TurnOrder(state, "fair", waiting)
    failed: dict[object, Refusal | None] = {}  # by equivalence key: what blocked it, where known
    unserved = list[GroupState]()
    while group := turns.next():
        one = attempt(search, group)
        equivalence_key = _equivalence_key(one)
        victims = one.succeeds() if equivalence_key not in failed else None
        if victims is None:
            failed.setdefault(equivalence_key, one.blocked)
            group.refusal = failed[equivalence_key] or group.refusal
            unserved.append(group)
            turns.done(group)
            continue
        failed.clear()
        group.pending = [pod for pod in group.pending if pod.key not in state.promised]
        search.refresh(group)
        if group.pending:
            turns.again(group)
        else:
            turns.done(group)
        for victim in {unit.group.row.key: unit.group for unit in victims}.values():
            turns.refresh_group(victim)
    if search.min_runtimes.lengths:
        _note_protection([attempt(search, group) for group in unserved], failed)


def _note_protection(attempts: list[Attempt], failed: dict[object, Refusal | None]) -> None:
    """Give the reason to those that would succeed later, as things are once all have tried."""
    until = ProtectedUntil()
    for one in attempts:
        equivalence_key = _equivalence_key(one)
        if equivalence_key not in failed and one.find() is None:  # others have succeeded since it failed
            failed[equivalence_key] = None
        if equivalence_key in failed:
            until.note(one, equivalence_key)


def _equivalence_key(attempt: Attempt) -> object:
    return attempt.equivalence_key() if attempt.is_like_others() else attempt.group
