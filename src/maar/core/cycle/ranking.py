"""The best node for a shape, kept as nodes change: sorted once, then scored again where something changed."""

from heapq import heappop, heappush
from math import inf
from typing import Final

import numpy as np

from maar.core.cycle.room import NOWHERE, Room, When
from maar.core.fairshare.water_fill import Flags, Floats, Ints
from maar.core.policy.scoring import UsageScore
from maar.core.tables.shapes import Shape

Entry = tuple[float, int]  # minus the score, and the node: the smallest is the best

_OUT: Final = -inf
_FEW: Final = 64  # nodes that are scored faster one by one than as columns
_NOBODY: Final[Entry] = (inf, NOWHERE)  # comes after every node


class Ranking:
    """Nodes for one shape, best first; of equal scores the first by name.

    Nodes stand in the order of the first scoring until they change. Those that have changed are in a heap;
    entries that are out of date are dropped as they come up.
    """

    def __init__(
        self, shape: Shape, room: Room, when: When, usage: UsageScore, mask: Flags, preference: Floats
    ) -> None:
        self.room, self.when, self.usage = room, when, usage
        self._mask, self._allowed = mask, mask.tobytes()
        self._preference, self._bonus = preference, preference.data
        self._needs, self._request = shape.needs, dict(shape.needs)
        self._usage_of = usage.scorer(self._request)
        self._has, self._later = room.allocatable, room.later
        self._held = room.now if when == "now" else room.later
        self._column: Floats | None = None  # [N] for those who ask for all scores
        self._seen = self._column_seen = room.changes
        scores = self.scores(np.arange(len(mask)))  # [N]
        fitting = np.flatnonzero(scores > _OUT)
        order = fitting[np.argsort(-scores[fitting], kind="stable")]
        self._unchanged = zip((-scores[order]).data, order.data, strict=True)  # entries, read one by one
        self._first_unchanged: Entry = next(self._unchanged, _NOBODY)
        self._changed: dict[int, Entry | None] = {NOWHERE: _NOBODY}  # the entries of nodes that have changed
        self._heap = [_NOBODY]

    def best(self) -> int:
        """The best node that has room, or NOWHERE."""
        if self._seen < self.room.changes:
            self._catch_up()
        changed, heap, unchanged = self._changed, self._heap, self._first_unchanged
        while changed[heap[0][1]] is not heap[0]:
            heappop(heap)
        return unchanged[1] if unchanged < heap[0] else heap[0][1]

    def has_room(self, node: int) -> bool:
        """Whether the pod may go to a node and fits there."""
        return self._score(node) > _OUT

    def every_score(self) -> Floats:
        """The scores of all nodes as they are; not to be changed. [N]"""
        if self._column is None:
            self._column = self.scores(np.arange(len(self._mask)))
        elif self._column_seen < self.room.changes:
            for node, score in self._scored(self.room.changed_since(self._column_seen)).items():
                self._column[node] = score
        self._column_seen = self.room.changes
        return self._column

    def scores(self, nodes: Ints) -> Floats:
        """Score nodes as they are; one without room scores minus infinity."""
        allocatable, now, later = (column[:, nodes] for column in self.room.columns())  # [R, M]
        held = np.maximum(now, later) if self.when == "now" else later
        fits = self._mask[nodes]
        for resource, amount in self._needs:
            fits = fits & (held[resource] + amount <= allocatable[resource])
        score = self._preference[nodes] + self.usage.of_columns(later, allocatable, self._request)
        return np.where(fits, score, _OUT)

    def _catch_up(self) -> None:
        """Enter the nodes that have changed since the last time."""
        changed, heap = self._changed, self._heap
        for node, score in self._scored(self.room.changed_since(self._seen)).items():
            changed[node] = None
            if score > _OUT:
                changed[node] = entry = (-score, node)
                heappush(heap, entry)
        self._seen = self.room.changes
        while self._first_unchanged[1] in changed and self._first_unchanged is not _NOBODY:
            self._first_unchanged = next(self._unchanged, _NOBODY)

    def _scored(self, nodes: list[int]) -> dict[int, float]:
        if len(nodes) <= _FEW:
            return {node: self._score(node) for node in nodes}
        return dict(zip(nodes, self.scores(np.array(nodes)).tolist(), strict=True))

    def _score(self, node: int) -> float:
        if not self._allowed[node]:
            return _OUT
        has, later, held = self._has[node], self._later[node], self._held[node]
        if held is not later:
            held = list(map(max, held, later))
        for resource, amount in self._needs:
            if held[resource] + amount > has[resource]:
                return _OUT
        return self._bonus[node] + self._usage_of(later, has)
