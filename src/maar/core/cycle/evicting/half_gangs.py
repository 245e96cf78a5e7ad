"""Half gangs that wait for each other: cleanup lets one of them start with what others of them hold.

When a node is drained or lost, gangs keep some of their pods. Each may hold what the next one
lacks: none can do its work and none ends, for ever. Nobody else is entitled to what they hold, so
neither reclaim nor preempt acts. The first in allocate's order that becomes ready within what its
queue deserves gets its room from the others, the last in the order first, whole gangs and no more
than are needed. Where none does, what allocate would lend counts: then only those give room that
would be above what their queues deserve too, so that nobody who is entitled pays for a loan, and
nobody who had to go may take it back.
"""

from collections.abc import Iterable, Sequence

from maar.core.cycle.evicting.promises import Promises
from maar.core.cycle.evicting.protection import Protection
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.placing.turn_pods import for_eviction, for_next_turn
from maar.core.cycle.state import Eviction, State
from maar.core.cycle.turn_order import Phase, TurnOrder
from maar.core.tables.counting import together
from maar.core.tables.rows import PodRow

Victims = dict[GroupState, tuple[PodRow, ...]]


class HalfGangs:
    """Groups that starve, and how they can make room for each other."""

    def __init__(self, state: State, groups: Iterable[GroupState]) -> None:
        self.state = state
        orders: tuple[Phase, Phase] = ("fair", "lent")
        self.in_order = {phase: _in_order(state, phase, groups) for phase in orders}
        actions = ("reclaim", "preempt")
        self._protections = [Protection(state.tables, state.configuration, action) for action in actions]

    def first(self) -> tuple[GroupState, Victims] | None:
        """The first that can be made ready, and the groups that have to go for it; the state stays."""
        for phase, in_order in self.in_order.items():
            for group in in_order:
                pods = for_eviction(group)
                if pods and (victims := self._victims(group, Promises(self.state, pods), phase)):
                    return group, victims
        return None

    def make_room(self) -> None:
        """Evict for one after the other, until none can be made ready."""
        state = self.state
        while found := self.first():
            group, victims = found
            promises = Promises(state, for_eviction(group))
            for pods in victims.values():
                state.budgets.spend(pods)
                for pod in pods:
                    state.evict(pod)
                    state.record(Eviction(pod, group.row, "cleanup"))
            promises.try_promise()
            group.pending = state.without_place(group.pending)
            for in_order in self.in_order.values():
                in_order[:] = [one for one in in_order if one is not group and one not in victims]

    def _victims(self, group: GroupState, promises: Promises, phase: Phase) -> Victims:
        """Whole groups, and no more than it needs, with which gone it is ready; none if there are none."""
        reserved = {queue: list(column) for queue, column in enumerate(self.state.ledger.reserved)}
        taken = Victims()
        if self._fits(group, promises, (), reserved, phase):
            return taken  # it starts as soon as those that leave are gone
        for other in reversed(self.in_order[phase]):
            pods = tuple(sorted(self.state.holders(other), key=self.state.pod_order))
            if other is group or not self._may_go(pods) or (phase == "lent" and self._is_entitled(other)):
                continue
            taken[other] = pods
            if self._fits(group, promises, taken.values(), reserved, phase):
                break
        else:
            return Victims()
        for other in list(reversed(taken))[1:]:  # the last was needed
            rest = {one: pods for one, pods in taken.items() if one is not other}
            if self._fits(group, promises, rest.values(), reserved, phase):
                taken = rest
        return taken if self.state.budgets.allow(sum(taken.values(), ())) else Victims()

    def _may_go(self, pods: tuple[PodRow, ...]) -> bool:
        if any(one.covers(pod) for one in self._protections for pod in pods):
            return False
        return self.state.budgets.allow(pods) and not self.state.breaks_promise(pods)

    def _is_entitled(self, group: GroupState) -> bool:
        """Whether its queues would stay within what they deserve if it was ready."""
        ledger = self.state.ledger
        return ledger.beyond(group.leaf, together(for_next_turn(group)), ledger.deserved) is None

    def _fits(
        self,
        group: GroupState,
        promises: Promises,
        gone: Iterable[Sequence[PodRow]],
        reserved: dict[int, list[int]],
        phase: Phase,
    ) -> bool:
        """Whether it becomes ready with these pods gone, within deserved at every level or lent."""
        state, ledger, needs = self.state, self.state.ledger, together(promises.pods)
        with state.trial():
            for pods in gone:
                for pod in pods:
                    state.evict(pod)
            limits = (ledger.deserved, ledger.real) if phase == "fair" else (ledger.real,)
            if any(ledger.beyond(group.leaf, needs, most) for most in limits):
                return False
            if ledger.gives_away_since(group.leaf, needs, reserved):
                return False
            return promises.are_possible()


def _in_order(state: State, phase: Phase, groups: Iterable[GroupState]) -> list[GroupState]:
    turns, in_order = TurnOrder(state, phase, groups), list[GroupState]()
    while group := turns.next():
        in_order.append(group)
        turns.done(group)
    return in_order
