"""Allocate and backfill: turn by turn, pods go to nodes while their queue may take them.

First every queue within what it deserves; what is still idle then is lent. A turn places the pods
that make a group ready, or one more pod of a ready group, or nothing. What is reserved is never
given away.
"""

from collections.abc import Sequence
from math import inf, nextafter

from maar.core.cycle.evicting.batch_jobs import keep_nodes_for_pods_to_come
from maar.core.cycle.gate.just_let_in import SECONDS, JustLetIn
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.holding.sla import FirstInOrder, HeldRoomPlacement, hold_room
from maar.core.cycle.limits import Limits, PossibleTurns, Wanted
from maar.core.cycle.placing.group_placement import GroupPlacement, wait_for_claims
from maar.core.cycle.placing.room import NOWHERE
from maar.core.cycle.placing.turn_pods import for_allocate, for_backfill
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import Phase, TurnOrder
from maar.core.model.names import natural
from maar.core.tables.axis import times
from maar.core.tables.groups import ADMITTED_PHASES, are_all_gated
from maar.core.tables.rows import GroupRow, PodRow


def allocate(state: State) -> None:
    """Keep promises, share out what queues deserve, then lend what is idle."""
    begin(state)
    take_turns(state, "fair", for_allocate)
    take_turns(state, "lent", for_allocate)
    state.groups.note_unschedulable()


def begin(state: State) -> None:
    """What comes before the first turn: promises are kept, and room is held for those who waited long."""
    keep_promises(state)
    rows = _just_let_in(state)
    state.just_let_in = JustLetIn(state.ledger, rows) if rows else None
    if state.configuration.sla is not None:
        hold_room(state)


def _just_let_in(state: State) -> list[GroupRow]:
    """The groups that hold nothing, were let in a moment ago and lack pods of their minimum."""
    found, first = list[GroupRow](), state.now - SECONDS
    for row in state.tables.not_started.values():
        if row.admitted_since is not None and row.admitted_since >= first and _lacks_pods(row):
            found.append(row)
            state.times_to_come.append(nextafter(row.admitted_since + SECONDS, inf))
    return found + [row for row in state.let_in if _lacks_pods(row)]


def _lacks_pods(row: GroupRow) -> bool:
    lacks = row.placed + len(row.pending) + row.gated < row.min_member
    return lacks and bool(row.to_start) and not are_all_gated(row)  # it counts nothing while they have them


def backfill(state: State) -> None:
    """Place pods that ask for nothing, in allocate's order; gangs hold."""
    is_gang = ("gang", "enableJobReady") in state.configuration.enabled
    take_turns(state, "fair", for_backfill, is_limited=False, is_gang=is_gang)


def keep_promises(state: State) -> None:
    """Bind the pods that were promised a node, a group's together, once their room is free.

    A promise that the node cannot keep even when all leaving pods are gone is dropped: it would block the
    room for ever.
    """
    by_group: dict[str, list[PodRow]] = {}
    for pod in map(state.tables.pods.__getitem__, state.promised):
        by_group.setdefault(pod.group_key, []).append(pod)
    for key in sorted(by_group, key=natural):
        pods = sorted(by_group[key], key=state.pod_order)
        nodes = {pod.key: state.unplace(pod, "later") for pod in pods}
        with state.trial() as trial:
            if all(_try_bind(state, pod) for pod in pods) and _is_enough(state, pods):
                trial.keep()
        if trial.is_kept:
            wait_for_claims(state, pods)
            keep_nodes_for_pods_to_come(state, state.group_of(pods[0]))
            continue
        with state.trial() as trial:
            if all(_try_promise(state, pod, nodes[pod.key]) for pod in pods) and _is_enough(state, pods):
                trial.keep()
        if not trial.is_kept:
            _release(state, pods)


def _is_enough(state: State, pods: Sequence[PodRow]) -> bool:
    """Whether the pods' group is ready with them where they are now."""
    return all(state.group_of(pod).is_ready for pod in pods)


def _release(state: State, pods: Sequence[PodRow]) -> None:
    """Let pods wait again whose promise was dropped, and take back their charges."""
    for pod in pods:
        group = state.group_of(pod)
        state.charge(group, times(pod.shape.needs, -1))
        state.groups.wait_again(group, (pod,))


def take_turns(
    state: State, phase: Phase, wanted: Wanted, *, is_limited: bool = True, is_gang: bool = True
) -> None:
    """Give turns until no group is left that can use one."""
    limited = phase if is_limited else None
    limits = Limits(state, limited)
    waiting, turnless = PossibleTurns(state, limits, wanted, is_gang=is_gang).divide()
    if not waiting:
        return
    placing, sla = GroupPlacement(state, limits, is_gang=is_gang), state.configuration.sla
    before_starts = HeldRoomPlacement(state, limited, is_gang=is_gang) if sla is not None else None
    first = FirstInOrder(state, sla, limits) if sla is not None and wanted is for_allocate else None
    while waiting:
        again = _take_round(placing, before_starts, first, TurnOrder(state, phase, waiting, turnless), wanted)
        waiting, turnless = [group for group in again if group.pending and wanted(group)], []


def with_turns(state: State, wanted: Wanted) -> list[GroupState]:
    """The groups that take turns."""
    return [
        group for group in state.waiting if group.pending and group.phase in ADMITTED_PHASES and wanted(group)
    ]


def _take_round(
    placing: GroupPlacement,
    before_starts: HeldRoomPlacement | None,
    first: FirstInOrder | None,
    turns: TurnOrder,
    wanted: Wanted,
) -> list[GroupState]:
    """Give turns while any group can use one; a group that cannot is done in this round.

    Groups whose pods depend on where others are may be placeable once others are placed; they are returned.
    """
    state, back, again = placing.state, list[GroupState](), list[GroupState]()
    while group := turns.next():
        placed = group.placed
        # Who ends before a planned start goes to held room first, and leaves what is free to all.
        if (before_starts is not None and before_starts.try_place(group, wanted(group))) or placing.try_place(
            group, wanted(group)
        ):
            again += back
            back.clear()
            if group.row.to_come:
                keep_nodes_for_pods_to_come(state, group)
            if before_starts is not None:
                before_starts.release(group)
            if group.placed - placed == len(group.pending):
                (turns.advance if state.groups.finish(group) else turns.done)(group)
            else:
                _go_on(turns, group, wanted)
            continue
        others = before_starts.next_of_other_run_time(group) if before_starts is not None else None
        turns.failed(group, others)
        if first is not None:
            first.refused(group)
        if state.places.any_has_affinity and any(map(state.places.has_affinity, wanted(group))):
            back.append(group)
        if wanted is for_allocate and group.leaf in state.groups.fifo:
            state.groups.stop(group, turns.stop(group.leaf))
    return again


def _go_on(turns: TurnOrder, group: GroupState, wanted: Wanted) -> None:
    """A group has pods left after its turn: it has another one where the phase places them."""
    rest = turns.state.groups.advance(group)
    group.pending, group.refusal = turns.state.without_place(group.pending), None
    if group.pending and wanted(group):
        turns.add(rest)
        turns.again(group)
    else:
        turns.replace(group, rest)


def _try_promise(state: State, pod: PodRow, node: int) -> bool:
    is_possible = state.places.best(pod, "later") == node  # its promised node comes first
    if is_possible:
        state.place(state.group_of(pod), pod, node, "later")
    return is_possible


def _try_bind(state: State, pod: PodRow) -> bool:
    node = state.places.best(pod, "now")
    if node != NOWHERE:
        state.place(state.group_of(pod), pod, node)
    return node != NOWHERE
