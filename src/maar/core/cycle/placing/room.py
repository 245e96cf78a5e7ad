"""The room on the nodes while a cycle decides: what is there now, and what will be."""

from typing import Final, Literal

import numpy as np

from maar.core.fairshare.water_fill import Ints
from maar.core.tables.axis import Needs
from maar.core.tables.node_columns import NodeColumns

When = Literal["now", "later"]
NOWHERE: Final = -1


class Room:
    """Nodes by their index; columns are copied when first changed, so that the tables stay as they are.

    Room *now* leaves place for the terminating and for promises alike; room *later* is what there will be
    once the terminating are gone. While both are the same on a node that changes, they are one list.
    """

    def __init__(self, nodes: NodeColumns, resources: int, *, is_empty: bool = False) -> None:
        """Of nodes as they are, or as if nothing ran there but the daemons of each node."""
        self.nodes, self._resources = nodes, resources
        self.allocatable = [node.allocatable for node in nodes]
        self.now = [node.daemons if is_empty else node.now for node in nodes]
        self.later = [node.daemons if is_empty else node.later for node in nodes]
        self.changes = 0  # how often the room of a node has changed
        self.changed: dict[int, int] = {}  # the last change of each node, the latest last
        self.given_back = 0  # the last change that gave room back
        self.full = bytearray(len(nodes))  # of nodes that have changed: where no expected pod has room later
        self._least: Needs | None = None  # what every expected pod needs at least
        self._columns: tuple[Ints, Ints, Ints] | None = None
        self._columns_seen = 0

    def change(self, node: int, needs: Needs, now: int, later: int) -> None:
        """Take room on a node (+1) or give it back (-1), now and later."""
        self.changes = change = self.changes + 1
        if self.changed.pop(node, None) is None:
            self._copy(node)
        self.changed[node] = change
        if now < 0 or later < 0:
            self.given_back = change
        held_now, held_later = self.now[node], self.later[node]
        if now != later and held_now is held_later:
            held_now = self.now[node] = list(held_later)
        for resource, amount in needs:
            held_later[resource] += later * amount
        if held_now is not held_later:
            for resource, amount in needs:
                held_now[resource] += now * amount
        self._note_full(node)

    def expect(self, needs: Needs) -> None:
        """Learn that pods with these needs are going to look for room."""
        asked, least = dict(needs), needs
        if self._least is not None:
            least = tuple([(row, min(amount, asked[row])) for row, amount in self._least if row in asked])
        if least != self._least:
            self._least = least
            for node in self.changed:
                self._note_full(node)

    def _note_full(self, node: int) -> None:
        has, held = self.allocatable[node], self.later[node]
        for resource, amount in self._least or ():
            if held[resource] + amount > has[resource]:
                self.full[node] = True
                return
        self.full[node] = False

    def _copy(self, node: int) -> None:
        now, later = self.now[node], self.later[node]
        self.later[node] = list(later)
        self.now[node] = self.later[node] if now == later else list(now)

    def changed_since(self, seen: int) -> list[int]:
        """The nodes whose room has changed after so many changes, each once."""
        nodes = []
        for node, change in reversed(self.changed.items()):
            if change <= seen:
                break
            nodes.append(node)
        return nodes

    def columns(self) -> tuple[Ints, Ints, Ints]:
        """All nodes at once: allocatable, held now and held later. [R, N] each"""
        if self._columns is None:
            self._columns = (
                _matrix(self.allocatable, self._resources),
                _matrix(self.now, self._resources),
                _matrix(self.later, self._resources),
            )
        elif changed := self.changed_since(self._columns_seen):
            self._columns[1][:, changed] = _matrix([self.now[node] for node in changed], self._resources)
            self._columns[2][:, changed] = _matrix([self.later[node] for node in changed], self._resources)
        self._columns_seen = self.changes
        return self._columns


def _matrix(columns: list[list[int]], resources: int) -> Ints:
    return np.array(columns, np.int64).T.copy() if columns else np.zeros((resources, 0), np.int64)
