"""The best node for a shape, kept as nodes change: sorted once, then only what has changed is scored again."""

from collections.abc import Iterable
from heapq import heappop, heappush
from math import inf
from typing import Final

import numpy as np

from maar.core.cycle.room import NOWHERE, Room, When
from maar.core.fairshare.water_fill import Flags, Floats, Ints
from maar.core.policy.scoring import UsageScore
from maar.core.tables.shapes import Shape

_OUT: Final = -inf
_FEW: Final = 64  # nodes that are scored faster one by one than as columns
_NOBODY: Final = (inf, NOWHERE)  # comes after every node


class Ranking:
    """Nodes for one shape, best first; of equal scores the first by name.

    Nodes stand in the order of the first scoring until they change. Those that have changed are in a heap;
    entries that are out of date are dropped as they come up.
    """

    def __init__(
        self, shape: Shape, room: Room, when: When, usage: UsageScore, mask: Flags, preference: Floats
    ) -> None:
        self.shape, self.room, self.when, self.usage = shape, room, when, usage
        self._mask, self._allowed, self._preference = mask, mask.tobytes(), preference
        self._request = dict(shape.needs)
        self._usage_of = usage.scorer(self._request)
        self._column: Floats | None = None  # [N] for those who ask for all scores
        self._seen = self._column_seen = len(room.changes)
        scores = self.scores(np.arange(len(mask)))  # [N]
        fitting = np.flatnonzero(scores > _OUT)
        self._order = fitting[np.argsort(-scores[fitting], kind="stable")]  # the best first
        self._at = 0  # how many of them have changed
        self._fresh: dict[int, float] = {NOWHERE: _OUT}  # the scores of nodes that have changed
        self._heap = [_NOBODY]
        self._head = self._first_unchanged()

    def best(self) -> int:
        """The best node that has room, or NOWHERE."""
        fresh, heap = self._fresh, self._heap
        if self._seen < len(self.room.changes):
            for node, score in self._scored_since(self._seen):
                if fresh.get(node) != score:
                    fresh[node] = score
                    if score > _OUT:
                        heappush(heap, (-score, node))
            self._seen = len(self.room.changes)
            if self._head[1] in fresh:
                self._head = self._first_unchanged()
        while fresh[heap[0][1]] != -heap[0][0]:
            heappop(heap)
        return min(heap[0], self._head)[1]

    def has_room(self, node: int) -> bool:
        """Whether the pod may go to a node and fits there."""
        return self._score(node) > _OUT

    def every_score(self) -> Floats:
        """The scores of all nodes as they are; not to be changed. [N]"""
        if self._column is None:
            self._column = self.scores(np.arange(len(self._mask)))
        elif self._column_seen < len(self.room.changes):
            for node, score in self._scored_since(self._column_seen):
                self._column[node] = score
        self._column_seen = len(self.room.changes)
        return self._column

    def scores(self, nodes: Ints) -> Floats:
        """Score nodes as they are; one without room scores minus infinity."""
        allocatable, now, later = (column[:, nodes] for column in self.room.columns())  # [R, M]
        held = np.maximum(now, later) if self.when == "now" else later
        fits = self._mask[nodes]
        for resource, amount in self.shape.needs:
            fits = fits & (held[resource] + amount <= allocatable[resource])
        score = self._preference[nodes] + self.usage.of_columns(later, allocatable, self._request)
        return np.where(fits, score, _OUT)

    def _scored_since(self, seen: int) -> Iterable[tuple[int, float]]:
        """The nodes that have changed since, and their scores."""
        changed = set(self.room.changes[seen:])
        if len(changed) <= _FEW:
            return [(node, self._score(node)) for node in changed]
        nodes = np.fromiter(changed, np.int64, len(changed))
        return zip(nodes.tolist(), self.scores(nodes).tolist(), strict=True)

    def _score(self, node: int) -> float:
        if not self._allowed[node]:
            return _OUT
        room = self.room
        allocatable, later = room.allocatable[node], room.later[node]
        held = room.now[node] if self.when == "now" else later
        for resource, amount in self.shape.needs:
            limit = allocatable[resource] - amount
            if later[resource] > limit or held[resource] > limit:
                return _OUT
        return self._preference.item(node) + self._usage_of(later, allocatable)

    def _first_unchanged(self) -> tuple[float, int]:
        """The best of the nodes that have not changed, as heaps order them."""
        for at in range(self._at, len(self._order)):
            node = self._order.item(at)
            if node not in self._fresh:
                self._at = at
                return -self._score(node), node
        self._at = len(self._order)
        return _NOBODY
