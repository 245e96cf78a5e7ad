"""How the nodes are counted for a shape, and whether that is still so when few of them have changed.

Reasons say how many nodes lack what, and how much is free on one at most. To count all nodes for
every shape would take most of a cycle in which a thousand groups wait and one pod has ended. A node
that has changed changes nothing that is said if it lacks the same as before, and is not the one
that has most.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np

from maar.core.cycle.inspect import NodeChooser
from maar.core.fairshare.water_fill import Flags, Ints
from maar.core.reasons.node_tally import NodeTally, tally
from maar.core.tables.axis import Needs
from maar.core.tables.rows import PodRow
from maar.core.tables.shapes import Shape

_MANY_PODS: Final = 1_000_000  # as many as there is room for

_First = dict[int, tuple[int, int]]  # by resource: the first node that has most of it idle, and how much


@dataclass(frozen=True)
class CountedNodes:
    """All that reasons say about the nodes, for pods of one shape where nothing but that matters."""

    tally: NodeTally  # of as many pods as there is room for
    idle_at_most: dict[int, int]  # by resource that the pods need: on one of the nodes that suit them
    _needs: Needs = field(compare=False)
    _suits: Flags = field(compare=False)  # [N]
    _most: _First = field(compare=False)  # of the nodes that suit the pods
    _most_of_short: _First = field(compare=False)  # of those of them that have too little of the resource

    @classmethod
    def of(cls, places: NodeChooser, pod: PodRow) -> Self:
        """Count all nodes."""
        idle, needs, suits = places.idle("now"), pod.shape.needs, places.suits(pod.shape)
        has = places.allocatable
        most, most_of_short = _First(), _First()
        for row, amount in needs:
            _note_most(most, row, idle, suits)
            _note_most(most_of_short, row, idle, suits & (idle[row] < amount) & (has[row] > 0))
        counted = tally(places, pod, _MANY_PODS)
        return cls(counted, idle_at_most(places, pod.shape), needs, suits, most, most_of_short)

    def stays(self, before: Ints, idle: Ints, changed: Iterable[int]) -> bool:
        """Whether a new count would be the same, where the room on few nodes has changed. [R, N]"""
        suiting = [node for node in changed if self._suits[node]]
        return all(self._is_alike(node, before[:, node], idle[:, node]) for node in suiting)

    def _is_alike(self, node: int, before: Ints, now: Ints) -> bool:
        """Whether a node is short of the same as before, of something at least, and others have more. [R]"""
        is_short = False
        for row, amount in self._needs:
            if (before[row] < amount) != (now[row] < amount):
                return False
            first, most = self._most[row]
            if node == first or now[row] > most:
                return False
            if now[row] < amount:
                is_short = True
                first, most = self._most_of_short.get(row, (node, 0))
                if node == first or now[row] > most or (now[row] == most and node < first):
                    return False
        return is_short


def idle_at_most(places: NodeChooser, shape: Shape) -> dict[int, int]:
    """What a shape needs: how much of it is free now at most on one of the nodes that suit it."""
    idle, suits = places.idle("now"), places.suits(shape)
    return {row: max(0, int(idle[row][suits].max(initial=0))) for row, _ in shape.needs}


def _note_most(most: _First, row: int, idle: Ints, nodes: Flags) -> None:
    """Note the first of the nodes that have most of a resource idle, if there are any."""
    if nodes.any():
        node = int(np.where(nodes, idle[row], np.iinfo(np.int64).min).argmax())
        most[row] = (node, int(idle[row][node]))
