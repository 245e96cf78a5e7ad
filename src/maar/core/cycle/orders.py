"""The orders in which groups take their turns, each from its beginning, for those who explain them.

Groups that wait for admission have an order; then those whose queues stay within what they deserve
(fair), those that borrow what is idle (lent), and those whose pods ask for nothing (backfill). An
order is that of the cycle itself (`turn_order.py`), walked as if no turn placed anything.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from maar.core.cycle.allocate import begin, take_turns, with_turns
from maar.core.cycle.decision import run_actions, settle
from maar.core.cycle.enqueue import not_enqueued, not_started
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.inspection import Inspection
from maar.core.cycle.placing.turn_pods import for_allocate, for_backfill, for_next_turn
from maar.core.cycle.refusals import beyond_deserved
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import TurnOrder
from maar.core.policy.configuration import Configuration
from maar.core.tables.counting import together
from maar.core.tables.rows import GroupRow
from maar.core.tables.tables import Tables

OrderKind = Literal["admission", "fair", "lent", "backfill"]

_BEFORE: Final = {"admission": "enqueue", "backfill": "backfill"}  # the action that an order is of


class _SiblingKey(NamedTuple):
    """What a queue or a namespace is compared with its siblings by; the smallest goes first."""

    priority: int  # the higher, the smaller
    share: float
    created: float


class TurnKeys(NamedTuple):
    """All that decides when a group has its turn; queues from the top down."""

    queues: Sequence[_SiblingKey]
    namespace: _SiblingKey
    third_parties: tuple[object, ...]
    is_ready: bool
    share: float
    priority: int  # the higher, the smaller
    created: float


class Turns:
    """One order, from its beginning."""

    def __init__(self, state: State, kind: OrderKind) -> None:
        self.kind, self.inspection, self.groups = kind, Inspection(state), _taking_part(state, kind)
        self._order = TurnOrder(state, "lent" if kind == "lent" else "fair", self.groups)

    def keys(self, group: GroupState) -> TurnKeys:
        """What a group is compared by; read before the order is walked."""
        standings, (others, priority, is_ready, share, order, _) = self._order.keys(group)
        *queues, namespace = (_SiblingKey(*one[:3]) for one in standings)
        return TurnKeys(queues, namespace, others, is_ready, share, priority, order[0])

    def __iter__(self) -> Iterator[GroupState]:
        """Whose turn it is, one after the other; once."""
        while (group := self._order.next()) is not None:
            yield group
            self._order.done(group)


class TurnOrders:
    """The orders of one decision; every group in them stands for itself."""

    def __init__(
        self, tables: Tables, configuration: Configuration, now: float, *, is_full: bool = False
    ) -> None:
        """Where no turn is known to place anything (`is_full`), none is taken to find out."""
        self._tables, self._configuration, self._now, self._is_full = tables, configuration, now, is_full
        self._fair: State | None = None
        settle(tables, configuration, now)

    def kind_of(self, row: GroupRow) -> OrderKind | None:
        """The first order that a group does not pass; None where it has nothing to place."""
        fair = self._of_allocate()
        group = fair.group(row)
        if group.phase == "Pending":
            return "admission"
        if not group.pending:
            return None
        if not for_allocate(group):
            return "backfill"
        needs, names = together(for_next_turn(group)), self._tables.axis.names
        return "fair" if beyond_deserved(fair.ledger, names, group.leaf, needs) is None else "lent"

    def of(self, kind: OrderKind) -> Turns:
        """An order, on the state in which it begins."""
        if kind in _BEFORE:
            return Turns(self._before(_BEFORE[kind]), kind)
        state = self._of_allocate()
        if kind == "lent" and not self._is_full:
            self._fair = None  # it is no longer as it began
            take_turns(state, "fair", for_allocate)
        return Turns(state, kind)

    def _of_allocate(self) -> State:
        """The state in which the first turns of allocate are taken."""
        if self._fair is None:
            self._fair = self._before("allocate")
        return self._fair

    def _before(self, action: str) -> State:
        state = run_actions(self._tables, self._configuration, self._now, before=action)
        if action == "allocate":
            begin(state)
        state.groups.single(state.groups.of_classes)
        return state


def _taking_part(state: State, kind: OrderKind) -> list[GroupState]:
    if kind == "admission":
        return [*not_enqueued(state), *not_started(state)]
    return with_turns(state, for_backfill if kind == "backfill" else for_allocate)
