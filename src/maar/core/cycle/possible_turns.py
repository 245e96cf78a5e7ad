"""Which groups can have a turn that succeeds in a phase of allocate, by amounts alone.

In a full cluster nearly all turns fail, and thousands of groups wait. In one phase room is only taken and
queues only use more. So where the limits of its queues, or the nodes together, have too little for the pods
of a group now, its turn fails whenever it comes. Such a group needs no turn, but while it waits it counts for
the age of its namespace (`turn_order.py`).

Only groups of classes are judged (`classes.py`): nothing but room decides where their pods go. A
group of a queue that is first in, first out stops others when its turn fails, and has one.
"""

from collections import Counter
from collections.abc import Iterable

from maar.core.cycle.group_state import GroupState, UsagePath
from maar.core.cycle.limits import Limits
from maar.core.cycle.state import State
from maar.core.tables.axis import times
from maar.core.tables.counting import add_needs
from maar.core.tables.rows import Column
from maar.core.tables.shapes import Shape


class PossibleTurns:
    """What turns of one phase could use."""

    def __init__(self, state: State, limits: Limits, *, is_gang: bool) -> None:
        self.state, self.limits, self.is_gang = state, limits, is_gang
        self._left: dict[UsagePath, Column] = {}  # of the limits of queues
        self._sorted: dict[int, Column] = {}  # by leaf: what groups need that are sorted at once

    def divide(self, groups: Iterable[GroupState]) -> tuple[list[GroupState], list[GroupState]]:
        """Groups whose turn may succeed, and those whose turn cannot."""
        possible, hopeless = list[GroupState](), list[GroupState]()
        if self.state.held_room.holds or not len(self.state.groups.of_classes):
            return list(groups), hopeless  # held room may be given back
        for group in groups:
            if not self._may_succeed(group):
                hopeless.append(group)
            elif self._is_room_for_all(group):
                possible += self.state.groups.single((group,))
            else:
                possible.append(group)
        return possible, hopeless

    def _is_room_for_all(self, group: GroupState) -> bool:
        """Whether limits and nodes have room for all that a group stands for: they can be sorted at once."""
        kind = group.of_class
        if kind is None or group.is_single or kind.shape is None or self.state.groups.is_fifo(group.leaf):
            return False
        turn = kind.turn or Counter[Shape]()
        left, count, needs = (
            self._left_of(group.usage_path),
            len(group.keys),
            times(kind.needs, len(group.keys)),
        )
        others = self._sorted.setdefault(group.leaf, [0] * len(left))
        if any(others[resource] + amount > left[resource] for resource, amount in needs):
            return False
        if self.state.places.capacity(kind.shape) < turn.total() * count:
            return False
        add_needs(others, needs, 1)
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
