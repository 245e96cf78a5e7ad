"""Which groups can have a turn that succeeds in a phase of allocate, by amounts alone.

In a full cluster nearly all turns fail, and thousands of groups wait. In one phase room is only taken and
queues only use more. So where the limits of its queues, or the nodes together, have too little for the pods
of a group now, its turn fails whenever it comes. Such a group needs no turn, but while it waits it counts for
the age of its namespace (`turn_order.py`).

Only groups of classes are judged (`classes.py`): nothing but room decides where their pods go. A
group of a queue that is first in, first out stops others when its turn fails, and has one.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from maar.core.cycle.group_class import Block
from maar.core.cycle.group_state import GroupState, UsagePath
from maar.core.cycle.limits import Limits
from maar.core.cycle.placing.turn_pods import for_backfill
from maar.core.cycle.state import State
from maar.core.tables.groups import ADMITTED_PHASES
from maar.core.tables.rows import Column, PodRow
from maar.core.tables.shapes import Shape

Wanted = Callable[[GroupState], list[PodRow]]


class PossibleTurns:
    """What turns of one phase could use."""

    def __init__(self, state: State, limits: Limits, wanted: Wanted, *, is_gang: bool) -> None:
        """With the pods of a group that the phase places."""
        self.state, self.limits, self.wanted, self.is_gang = state, limits, wanted, is_gang
        self._left: dict[UsagePath, Column] = {}  # of the limits of queues
        self._room: dict[Shape, int] = {}  # for how many pods the nodes have some

    def divide(self) -> tuple[list[GroupState], list[GroupState]]:
        """Groups whose turn may succeed; and where the age of a namespace can matter, those whose cannot."""
        states, wait = self.state.groups, list[GroupState]()
        unread = states.unread()
        for block in [block for block in unread if self._may_have_turns(block)]:
            states.of_block(block)
        wait = [group for group in states.read_waiting() if self._wants(group)]
        if self.state.held_room.holds:
            return wait, []  # held room may be given back
        possible, turnless = list[GroupState](), list[GroupState]()
        for group in wait:
            if not self._may_succeed(group):
                turnless.append(group)
            else:
                possible.append(group)
        leaves = Counter(leaf for leaf, _ in {(group.leaf, group.row.namespace) for group in possible})
        for block in unread:
            if leaves[block.key.leaf.index] > 1 and not states.is_read(block):
                turnless += filter(self._wants, states.of_block(block))
        return possible, turnless

    def _wants(self, group: GroupState) -> bool:
        return bool(group.pending) and group.phase in ADMITTED_PHASES and bool(self.wanted(group))

    def _may_have_turns(self, block: Block) -> bool:
        """Whether a turn of a class of a block may succeed."""
        key, summary, leaf = block.key, block.summary, block.key.leaf.index
        if key.phase not in ADMITTED_PHASES:
            return False
        if self.wanted is for_backfill and not summary.any_asks_for_nothing:
            return False
        is_judged = summary.is_known and self.is_gang and not self.state.groups.is_fifo(leaf)
        if not is_judged or self.state.held_room.holds:
            return True
        left = self._left_of(self.state.groups.usage_path(leaf, key.namespace))
        if any(amount > left[resource] for resource, amount in summary.least):
            return False
        return any(one.turn and self._has_room_for(one.turn) for one in block.classes)

    def _has_room_for(self, turn: Mapping[Shape, int]) -> bool:
        for shape, count in turn.items():
            room = self._room.get(shape)
            if room is None:
                room = self._room[shape] = self.state.places.capacity(shape)
            if room < count:
                return False
        return True

    def _may_succeed(self, group: GroupState) -> bool:
        kind = group.of_class
        if kind is None or kind.turn is None or group.placed or self.state.groups.is_fifo(group.leaf):
            return True
        needs, turn = kind.needs, kind.turn
        if not self.is_gang:
            if kind.shape is None:
                return True
            needs, turn = kind.shape.needs, Counter({kind.shape: 1})
        if not turn:
            return False
        left = self._left_of(group.usage_path)
        for resource, amount in needs:
            if amount > left[resource]:
                return False
        return all(self.state.places.capacity(shape) >= count for shape, count in turn.items())

    def _left_of(self, usage_path: UsagePath) -> Column:
        left = self._left.get(usage_path)
        if left is None:
            left = self._left[usage_path] = self.limits.left(usage_path)
        return left
