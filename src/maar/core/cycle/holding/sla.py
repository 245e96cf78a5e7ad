"""The plugin `sla`: groups that have waited long since their admission hold room until they can start.

In allocate's order the first such group of each leaf holds room, and no more than `depth` in the
cluster. Who has held room before, as its status says, comes before the others, and starts as soon
as it can. Turns of others are taken around the held room, or on it where all their pods end before
the planned start.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from math import floor, inf

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.holding.held_room import Hold, PlannedStart
from maar.core.cycle.holding.planned_start import StartSearch
from maar.core.cycle.limits import Limits
from maar.core.cycle.placing.group_placement import GroupPlacement, wait_for_claims
from maar.core.cycle.placing.turn_pods import for_allocate, for_backfill, for_next_turn
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import Phase
from maar.core.policy.configured import SlaSettings
from maar.core.tables.counting import together
from maar.core.tables.groups import ADMITTED_PHASES
from maar.core.tables.rows import GroupRow, PodRow
from maar.core.tables.run_times import time_after


def hold_room(state: State) -> None:
    """Let groups that held room start, or hold it again; called before turns are taken."""
    settings = state.configuration.sla
    if settings is None or len(state.held_room.holds) >= settings.depth:
        return
    for group in state.waiting:
        if not group.is_single:
            _note_when_due(state, group, settings)
    waiting = [
        group
        for group in state.waiting
        if _has_waited(state, group, settings) and state.held_room.of(group) is None
    ]
    holders = [(group.row.holds_since, group) for group in waiting if group.row.holds_since is not None]
    holders.sort(key=lambda one: (one[0], one[1].row.order))
    for place, (_, group) in enumerate(holders, start=1):
        planned = _planned(state, group)
        if _try_start(state, group, planned, is_last=place == len(holders)):
            continue
        if planned is not None and _may_hold(state, group, settings):
            _hold(state, group, planned)


class FirstInOrder:
    """Lets groups begin to hold room whose turn has come and found none, in the order of turns.

    One for which there is room on nodes that its turn did not find starts there at once.
    """

    def __init__(self, state: State, settings: SlaSettings, limits: Limits) -> None:
        self.state, self.settings, self.limits = state, settings, limits
        self._failed = set[object]()  # what groups have in common that cannot hold room

    def refused(self, group: GroupState) -> None:
        """A group has had its turn, and was not placed."""
        state, settings = self.state, self.settings
        if len(state.held_room.holds) >= settings.depth:
            return
        if group.row.holds_since is not None or not _has_waited(state, group, settings):
            return
        alike = (group.leaf, tuple(pod.shape for pod in for_next_turn(group)))
        if alike in self._failed or not _may_hold(state, group, settings) or not _may_begin(state):
            return
        planned = _planned(state, group)
        if planned is None or would_start(state, group):
            self._failed.add(alike)
        elif planned.start != state.now:
            _hold(state, group, planned)
        elif self.limits.allow(group.leaf, planned.needs):
            _try_start(state, group, planned, is_last=False)


def _may_hold(state: State, group: GroupState, settings: SlaSettings) -> bool:
    """Whether fewer groups hold room than may, and none of its leaf."""
    holds = state.held_room.holds
    return len(holds) < settings.depth and all(one.group.leaf != group.leaf for one in holds)


def _may_begin(state: State) -> bool:
    """Whether another group may begin to hold room.

    Those who do are ordered by when they began, so that none is put behind another later on; times are
    stored in whole seconds.
    """
    second = floor(state.now)
    if all(one.group.row.holds_since is not None for one in state.held_room.holds):
        began = max((one.group.row.holds_since or 0.0 for one in state.held_room.holds), default=-inf)
        if began < second:
            return True
    state.times_to_come.append(second + 1.0)
    return False


def _has_waited(state: State, group: GroupState, settings: SlaSettings) -> bool:
    """Whether a group is admitted, not ready, and has waited as long as it may."""
    row = group.row
    longest = settings.waiting_time if row.sla_waiting_time is None else row.sla_waiting_time
    if longest is None or row.admitted_since is None or not group.pending or group.is_ready:
        return False
    if group.phase not in ADMITTED_PHASES or any(key in state.promised for key in row.pods):
        return False
    over = row.admitted_since + longest
    if over > state.now:
        state.times_to_come.append(over)
        return False
    return bool(for_allocate(group) and for_next_turn(group))  # backfill places what asks for nothing


def _note_when_due(state: State, group: GroupState, settings: SlaSettings) -> None:
    """Note when groups that another stands for have waited as long as they may."""
    longest = settings.waiting_time if group.row.sla_waiting_time is None else group.row.sla_waiting_time
    if longest is not None and group.phase in ADMITTED_PHASES and not group.is_ready:
        admitted = [row.admitted_since for row in group.rows if row.admitted_since is not None]
        if admitted:
            state.times_to_come.append(min(admitted) + longest)


def _planned(state: State, group: GroupState) -> PlannedStart | None:
    return StartSearch(state, group, for_next_turn(group), state.run_times).earliest()


def _try_start(state: State, group: GroupState, planned: PlannedStart | None, *, is_last: bool) -> bool:
    """Let a group start that has held room, whoever else waits: on the nodes of its planned start, if it can.

    On other nodes it could be in the way of the next that holds room, so it takes its turn for them.
    """
    pods, limits = for_next_turn(group), Limits(state, "lent")
    with state.trial() as trial:
        if (
            planned is not None
            # A start now has been allowed with all placed who held room before, and exactly so.
            and (planned.start == state.now or limits.allow(group.leaf, planned.needs))
            and all(_try_bind(state, pod, planned.nodes[pod.key]) for pod in pods)
        ):
            trial.keep()
    if trial.is_kept:
        wait_for_claims(state, pods)
    elif not is_last or not GroupPlacement(state, limits, is_gang=True).try_place(group, for_allocate(group)):
        return False
    group.pending, group.refusal = state.without_place(group.pending), None
    return True


def _try_bind(state: State, pod: PodRow, node: int) -> bool:
    is_possible = state.places.best(pod, "now", node) == node
    if is_possible:
        state.take(pod, node, "now")
    return is_possible


def _hold(state: State, group: GroupState, planned: PlannedStart) -> None:
    state.held_room.hold(group, planned)
    if planned.start is not None:
        state.times_to_come.append(planned.start)


def would_start(state: State, group: GroupState) -> bool:
    """Whether a group could start now; nothing is changed."""
    asking = for_allocate(group)
    pods = asking or for_backfill(group)
    if not pods or any(pod.shape.claims for pod in pods):
        return False  # a volume would be chosen
    limits = Limits(state, "lent" if asking else None)
    with state.trial():
        return GroupPlacement(state, limits, is_gang=True).try_place(group, pods)


class HeldRoomPlacement:
    """How turns go in one phase for pods that end before planned starts: on held room, too."""

    def __init__(self, state: State, phase: Phase | None, *, is_gang: bool) -> None:
        self.state, self.phase, self.is_gang = state, phase, is_gang
        self._placements: dict[tuple[Hold, ...], GroupPlacement] = {}

    def try_place(self, group: GroupState, pods: Sequence[PodRow]) -> bool:
        """Place what makes the group ready, or one more pod, without what is held for a later time."""
        state, held = self.state, self.state.held_room
        holds = self._lasting_beyond(pods) if held.holds else ()
        if not holds or not self._is_within_capabilities(group):
            return False
        placement = self._placements.get(holds)
        if placement is None:
            limits = Limits(state, self.phase)
            placement = self._placements[holds] = GroupPlacement(state, limits, is_gang=self.is_gang)
        with held.lifted(holds, lambda: self._placed(pods)):
            return placement.try_place(group, pods)

    def next_of_other_run_time(self, group: GroupState) -> GroupState | None:
        """Where room is held, let a group that failed stand for those that run as long; gives the next."""
        if group.is_single or not self.state.held_room.holds:
            return None
        runs = self._run_times(group.row)
        alike = takewhile(lambda row: self._run_times(row) == runs, group.rows)
        return self.state.groups.divide(group, group.cursor + sum(1 for _ in alike))

    def _run_times(self, row: GroupRow) -> list[float | None]:
        return [self.state.run_times.expected(pod) for pod in row.pending]

    def release(self, group: GroupState) -> None:
        """Hold no room for a group that has been placed."""
        own = self.state.held_room.of(group)
        if own is not None:
            self.state.held_room.release(own)

    def _placed(self, pods: Sequence[PodRow]) -> Iterator[tuple[PodRow, int]]:
        """The pods of a turn that have been placed, with their nodes."""
        for pod in pods:
            node = self.state.bound.get(pod.key, self.state.promised.get(pod.key))
            if node is not None:
                yield pod, node

    def _is_within_capabilities(self, group: GroupState) -> bool:
        """Whether its queues stay within their capabilities with it: held room counts as used there."""
        ledger, needs = self.state.ledger, together(for_next_turn(group))
        return all(
            ledger.used[queue][resource] + amount <= ledger.claims.capability[resource, queue]
            for queue in ledger.paths[group.leaf]
            for resource, amount in needs
        )

    def _lasting_beyond(self, pods: Sequence[PodRow]) -> tuple[Hold, ...]:
        """The last holds before whose planned starts all these pods end.

        A hold adds to what those before it add, so none of these is lifted without it.
        """
        longest = 0.0
        for pod in pods:
            expected = self.state.run_times.expected(pod)
            if expected is None:
                return ()
            longest = max(longest, expected)
        end, holds = time_after(self.state.now, longest), list[Hold]()
        for hold in reversed(self.state.held_room.holds):
            if hold.planned.start is None or end > hold.planned.start:
                break
            holds.append(hold)
        return tuple(reversed(holds))
