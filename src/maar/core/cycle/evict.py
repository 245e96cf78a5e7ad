"""Evictions: every group that waits, in allocate's order, tries to make room until none succeeds."""

from maar.core.cycle.attempt import Attempt
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
    while group := turns.next():
        hold = state.held_room.of(group) if state.held_room.holds else None
        if hold is not None:
            state.held_room.release(hold)  # it needs no other room if it gets this way what it waits for
        one = attempt(search, group)
        equivalence_key = one.equivalence_key() if one.is_like_others() and hold is None else group
        victims = one.succeeds() if equivalence_key not in failed else None
        if victims is None:
            if hold is not None:
                state.held_room.hold_again(hold)
            failed.setdefault(equivalence_key, one.blocked)
            group.refusal = failed[equivalence_key] or group.refusal
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
