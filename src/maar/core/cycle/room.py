"""The room on the nodes while a cycle decides: what is there now, and what will be."""

from typing import Final, Literal

import numpy as np

from maar.core.fairshare.water_fill import Ints
from maar.core.tables.axis import Needs
from maar.core.tables.rows import NodeRow

When = Literal["now", "later"]
NOWHERE: Final = -1


class Room:
    """Nodes by their index; columns are copied when first changed, so that the tables stay as they are.

    Room *now* leaves place for the terminating and for promises alike; room *later* is what there will be
    once the terminating are gone.
    """

    def __init__(self, nodes: list[NodeRow], resources: int) -> None:
        self.nodes, self._resources = nodes, resources
        self.allocatable = [node.allocatable for node in nodes]
        self.now = [node.now for node in nodes]
        self.later = [node.later for node in nodes]
        self.changes: list[int] = []  # nodes whose room has changed, in order
        self._own: set[int] = set()
        self._columns: tuple[Ints, Ints, Ints] | None = None
        self._columns_seen = 0

    def change(self, node: int, needs: Needs, now: int, later: int) -> None:
        """Take room on a node (+1) or give it back (-1), now and later."""
        if node not in self._own:
            self._own.add(node)
            self.now[node], self.later[node] = list(self.now[node]), list(self.later[node])
        held_now, held_later = self.now[node], self.later[node]
        for resource, amount in needs:
            held_now[resource] += now * amount
            held_later[resource] += later * amount
        self.changes.append(node)

    def fits(self, node: int, needs: Needs, when: When) -> bool:
        """Whether a node has what a pod needs."""
        allocatable, now, later = self.allocatable[node], self.now[node], self.later[node]
        for resource, amount in needs:
            held = later[resource]
            if when == "now" and now[resource] > held:
                held = now[resource]
            if held + amount > allocatable[resource]:
                return False
        return True

    def columns(self) -> tuple[Ints, Ints, Ints]:
        """All nodes at once: allocatable, held now and held later. [R, N] each"""
        if self._columns is None:
            self._columns = (
                _matrix(self.allocatable, self._resources),
                _matrix(self.now, self._resources),
                _matrix(self.later, self._resources),
            )
        elif self._columns_seen < len(self.changes):
            changed = list(set(self.changes[self._columns_seen :]))
            self._columns[1][:, changed] = _matrix([self.now[node] for node in changed], self._resources)
            self._columns[2][:, changed] = _matrix([self.later[node] for node in changed], self._resources)
        self._columns_seen = len(self.changes)
        return self._columns


def _matrix(columns: list[list[int]], resources: int) -> Ints:
    return np.array(columns, np.int64).T.copy() if columns else np.zeros((resources, 0), np.int64)
