"""What will be idle on the nodes that pods may be placed on, once the terminating have left.

It is asked for every group that tries, and between two tries the room of a few nodes changes. So the sums are
kept and those nodes counted again, and of each resource the node is known that had most when that was asked.
"""

import numpy as np

from maar.core.cycle.state import State
from maar.core.tables.rows import Column


class IdleRoom:
    """The idle room of each resource, kept up to date."""

    def __init__(self, state: State) -> None:
        self._state, self._seen = state, state.room.changes
        allocatable, _, later = state.room.columns()
        self._usable: list[bool] = state.places.usable.tolist()  # [N]
        idle = np.where(state.places.usable, allocatable - later, 0)  # [R, N]
        self._idle: list[Column] = idle.T.tolist()
        self._sums: Column = idle.sum(axis=1).tolist()
        self._roomiest: dict[int, int] = {}  # nodes, by resource

    def is_enough(self, resource: int, amount: int) -> bool:
        """Whether as much is idle on all nodes together."""
        self._catch_up()
        return amount <= self._sums[resource]

    def is_on_one_node(self, resource: int, amount: int) -> bool:
        """Whether as much is idle on one node."""
        self._catch_up()
        node = self._roomiest.get(resource)
        if node is None or self._idle[node][resource] < amount:
            allocatable, _, later = self._state.room.columns()
            idle = np.where(self._state.places.usable, allocatable[resource] - later[resource], 0)  # [N]
            if not len(idle):
                return False
            node = self._roomiest[resource] = int(idle.argmax())
        return self._idle[node][resource] >= amount

    def _catch_up(self) -> None:
        """Count nodes again whose room has changed."""
        room = self._state.room
        if self._seen == room.changes:
            return
        for node in room.changed_since(self._seen):
            if self._usable[node]:
                before, has, later = self._idle[node], room.allocatable[node], room.later[node]
                now = self._idle[node] = [most - held for most, held in zip(has, later, strict=True)]
                self._sums = [
                    total + new - old for total, new, old in zip(self._sums, now, before, strict=True)
                ]
        self._seen = room.changes
