"""Enqueue: moves pod groups to Inqueue, in fair order, while there is room for what they need to start.

Groups that were let in and hold nothing take their turn in the same order. They stay inside, but
count as admitted only where there is room for them: no group is kept out by one that waits for
victims or for a loan. Nor is it by one that nodes hold up and not amounts (`held_up.py`).
"""

from collections.abc import Mapping

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
    for row in _without_class(state, state.tables.not_enqueued):
        state.group(row).phase = "Inqueue"
    for group in filter(_is_outside, state.groups.of_classes_outside):
        group.phase = "Inqueue"


def enqueue(state: State) -> None:
    """Move groups from Pending to Inqueue while there is room."""
    _let_in_gated(state)
    inside, outside = not_started(state), not_enqueued(state)
    if not outside:
        return
    admission = _Admission(state, inside, outside)
    while group := admission.turns.next():
        admission.take_turn(group)
    for group in outside:
        if admission.turns.passed(group):
            group.phase = "Inqueue"
    admission.give_reasons()


class _Admission:
    """The turns of enqueue. Members of a class that are let in have one state together once all are over."""

    def __init__(self, state: State, inside: list[GroupState], outside: list[GroupState]) -> None:
        self.state, self.gate, self.preempt = state, EnqueueGate(state), GatePreempt(state, inside)
        self.held_up = HeldUp(state) if inside else None
        self.turns = TurnOrder(state, "fair", [*outside, *inside])
        self._refused_early = list[GroupState]()  # others were counted after them
        self._refused = list[GroupState]()

    def take_turn(self, group: GroupState) -> None:
        """Let the next member of a class in, or count it, or keep it out with all after it."""
        refusal = self.gate.refuses(group)
        if not _is_outside(group):
            if refusal is None:
                self._count_again(group)
            else:
                self.turns.done(group)  # and so do those alike
        elif refusal is None:
            self._let_in(group)
            self._count(group)
        elif self.preempt.would_make_room(group):
            self._let_in(group)
        elif _has_waited_for_nodes(self.state, self.turns.member(group), refusal):
            self.turns.next_member(
                group
            )  # it counts nothing: its pods are made, so that autoscalers see them
        else:
            self._refused.append(_keep_out(self.turns, group, refusal))

    def _let_in(self, group: GroupState) -> None:
        row = self.turns.member(group)
        self.state.let_in.append(row)
        self.preempt.let_in(group)
        if row.to_start or group.leaf in self.state.groups.fifo:
            self.turns.next_member(group)
        else:  # those that are alike are let in too
            self.turns.done(group)
            group.phase = "Inqueue"

    def _count_again(self, group: GroupState) -> None:
        """Count a group that was let in before, unless nodes hold it up."""
        row, held_up = self.turns.member(group), self.held_up
        is_first = not self.turns.passed(group)
        if not row.to_start or (is_first and held_up is not None and held_up.for_ever(group)):
            self.turns.done(group)  # and so do those alike
            return
        self.turns.next_member(group)
        if held_up is None or not held_up.for_now(group, row):
            self._count(group)

    def _count(self, group: GroupState) -> None:
        self.gate.count(group)
        self._refused_early += self._refused
        self._refused.clear()

    def give_reasons(self) -> None:
        """Give those that are kept out the reason as it is at the end."""
        for group in self._refused_early:
            group.refusal = self.gate.refuses(group) or group.refusal
        if self._refused or self._refused_early:
            self.preempt.note_protection([*self._refused_early, *self._refused])


def _let_in_gated(state: State) -> None:
    """Let in the groups whose pods all have scheduling gates: they count nothing until the gates are gone."""
    for row in state.tables.not_enqueued.values():
        if row.gated and row.leaf is not None and are_all_gated(row):
            state.group(row).phase = "Inqueue"


def _has_waited_for_nodes(state: State, row: GroupRow, refusal: Refusal) -> bool:
    """Whether a group asks for more than the cluster has, and has waited for as long as `sla` lets it."""
    settings, total = state.configuration.sla, state.ledger.total
    if settings is None or not refusal.more_nodes_help:
        return False
    longest = settings.waiting_time if row.sla_waiting_time is None else row.sla_waiting_time
    if longest is None or all(amount <= total[resource] for resource, amount in row.to_start or ()):
        return False
    over = row.created + longest
    if over > state.now:
        state.times_to_come.append(over)
    return over <= state.now


def _keep_out(turns: TurnOrder, group: GroupState, refusal: Refusal) -> GroupState:
    """Refuse the members of a class that are left, and in a queue that is first in, first out all behind."""
    groups = turns.state.groups
    turns.done(group)
    left = _left_outside(turns, group)
    left.refusal = refusal
    if group.leaf in groups.fifo:
        stopped = [_left_outside(turns, one) for one in turns.stop(group.leaf, _is_outside)]
        groups.stop(left, stopped)
    return left


def _left_outside(turns: TurnOrder, group: GroupState) -> GroupState:
    """The state of those members of a class that have not been let in; the others have one of their own."""
    passed = turns.passed(group)
    return (passed and turns.state.groups.divide(group, group.cursor + passed)) or group


def _is_outside(group: GroupState) -> bool:
    return group.phase == "Pending"


def not_enqueued(state: State) -> list[GroupState]:
    """The groups that wait for admission; one whose pods have scheduling gates is not among them."""
    rows = _without_class(state, state.tables.not_enqueued)
    others = [state.group(row) for row in rows if not lacks_gated_pods(row)]
    return others + [group for group in state.groups.of_classes_outside if _is_outside(group)]


def not_started(state: State) -> list[GroupState]:
    """The groups inside that hold nothing, of leaves where the order in which they are counted matters."""
    tables = state.tables
    if not tables.not_enqueued:
        return []
    of_classes = state.groups.of_classes
    alone = _without_class(state, tables.not_started)
    rows = [*alone, *_without_class(state, tables.not_enqueued), *(group.row for group in of_classes)]
    leaves = {row.leaf.index for row in rows if row.leaf is not None and row.to_start}
    rows = [row for row in alone if row.leaf is not None and row.leaf.index in leaves]
    others = [state.group(row) for row in rows if not are_all_gated(row)]
    return others + [group for group in of_classes if group.leaf in leaves and not _is_outside(group)]


def _without_class(state: State, rows: Mapping[str, GroupRow]) -> list[GroupRow]:
    """The groups of leaves that are like no other."""
    return [row for row in state.groups.classes.like_no_other(rows) if row.leaf is not None]
