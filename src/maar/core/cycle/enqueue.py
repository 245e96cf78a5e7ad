"""Enqueue: moves pod groups to Inqueue, in fair order, while there is room for what they need to start.

Groups that were let in and hold nothing take their turn in the same order. They stay inside, but count as
admitted only where there is room for them: no group is kept out by one that waits for victims or for a loan.
Nor is it by one that nodes hold up and not amounts (`held_up.py`).
"""

from collections.abc import Iterable

from maar.core.cycle.gate.enqueue_gate import EnqueueGate
from maar.core.cycle.gate.gate_preempt import GatePreempt
from maar.core.cycle.gate.held_up import HeldUp
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import TurnOrder
from maar.core.model.reasons import Refusal
from maar.core.tables.groups import are_all_gated, lacks_gated_pods
from maar.core.tables.rows import GroupRow


def admit_all(state: State) -> None:
    """Where enqueue is not configured, every group counts as admitted; operators wait for the phase."""
    for row in state.tables.not_enqueued.values():
        if row.leaf is not None and state.groups.classes.of(row.key) is None:
            state.group(row).phase = "Inqueue"
    for group in filter(_is_outside, state.groups.of_classes_outside):
        group.phase = "Inqueue"


def enqueue(state: State) -> None:
    """Move groups from Pending to Inqueue while there is room."""
    _let_in_gated(state)
    inside, outside = not_started(state), not_enqueued(state)
    if not outside:
        return
    gate, preempt, held_up = EnqueueGate(state), GatePreempt(state, inside), HeldUp(state) if inside else None
    turns = TurnOrder(state, "fair", [*outside, *inside])
    refused_early = list[GroupState]()  # others were counted after them
    refused = list[GroupState]()
    while group := turns.next():
        was_outside, refusal = _is_outside(group), gate.refuses(group)
        if refusal is not None and was_outside and not preempt.would_make_room(group):
            refused += _refused(turns, group, refusal)
            continue
        counts = bool(group.row.to_start) and (refusal is None or was_outside)
        if counts and held_up is not None and not was_outside and held_up.for_ever(group):
            turns.done(group)  # and so do those alike
            continue
        may_differ = counts or (was_outside and state.groups.is_fifo(group.leaf))  # for those that are alike
        turns.replace(group, state.groups.advance(group) if may_differ else None)
        if refusal is None and (was_outside or held_up is None or not held_up.for_now(group)):
            gate.count(group)
            refused_early += refused
            refused.clear()
        if was_outside:
            group.phase = "Inqueue"
            state.let_in.append(group.row)
            preempt.let_in(group)
    for group in refused_early:  # so that the numbers of the reason are those at the end
        group.refusal = gate.refuses(group) or group.refusal
    if refused or refused_early:
        preempt.note_protection([*refused_early, *refused])


def _let_in_gated(state: State) -> None:
    """Let in the groups whose pods all have scheduling gates: they count nothing until the gates are gone."""
    for row in state.tables.not_enqueued.values():
        if row.gated and row.leaf is not None and are_all_gated(row):
            state.group(row).phase = "Inqueue"


def _refused(turns: TurnOrder, group: GroupState, refusal: Refusal) -> list[GroupState]:
    """Keep a group out, unless it has waited long for a larger cluster; gives those that are refused."""
    state = turns.state
    if not _has_waited_for_nodes(state, group, refusal):
        _keep_out(turns, group, refusal)
        return [group]
    turns.replace(group, state.groups.advance(group))
    group.phase = "Inqueue"  # it counts nothing: its pods are made, so that autoscalers see them
    return []


def _has_waited_for_nodes(state: State, group: GroupState, refusal: Refusal) -> bool:
    """Whether a group asks for more than the cluster has, and has waited for as long as `sla` lets it."""
    row, settings, total = group.row, state.configuration.sla, state.ledger.total
    if settings is None or not refusal.more_nodes_help:
        return False
    longest = settings.waiting_time if row.sla_waiting_time is None else row.sla_waiting_time
    if longest is None or all(amount <= total[resource] for resource, amount in row.to_start or ()):
        return False
    over = row.created + longest
    if over > state.now:
        state.times_to_come.append(over)
    return over <= state.now


def _keep_out(turns: TurnOrder, group: GroupState, refusal: Refusal) -> None:
    """Refuse a group, and in a queue that is first in, first out all behind it."""
    turns.done(group)
    group.refusal = refusal
    if turns.state.groups.is_fifo(group.leaf):
        turns.state.groups.stop(group, turns.stop(group.leaf, _is_outside))


def _is_outside(group: GroupState) -> bool:
    return group.phase == "Pending"


def not_enqueued(state: State) -> list[GroupState]:
    """The groups that wait for admission; one whose pods have scheduling gates is not among them."""
    rows = _without_class(state, state.tables.not_enqueued.values())
    others = [state.group(row) for row in rows if not lacks_gated_pods(row)]
    return others + [group for group in state.groups.of_classes_outside if _is_outside(group)]


def not_started(state: State) -> list[GroupState]:
    """The groups inside that hold nothing, of leaves where the order in which they are counted matters."""
    tables = state.tables
    if not tables.not_enqueued:
        return []
    of_classes = state.groups.of_classes
    rows = _without_class(state, (*tables.not_enqueued.values(), *tables.not_started.values()))
    rows += [group.row for group in of_classes]
    leaves = {row.leaf.index for row in rows if row.leaf is not None and row.to_start}
    others = [
        state.group(row)
        for row in _without_class(state, tables.not_started.values())
        if row.leaf is not None and row.leaf.index in leaves and not are_all_gated(row)
    ]
    return others + [group for group in of_classes if group.leaf in leaves and not _is_outside(group)]


def _without_class(state: State, rows: Iterable[GroupRow]) -> list[GroupRow]:
    """The groups of leaves that are like no other."""
    classes = state.groups.classes
    return [row for row in rows if row.leaf is not None and classes.of(row.key) is None]
