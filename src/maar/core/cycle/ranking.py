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
    entries that are out of date are dropped as they come up. An entry is minus the score, and the node.
    """

    def __init__(
        self, shape: Shape, room: Room, when: When, usage: UsageScore, mask: Flags, preference: Floats
    ) -> None:
        self.shape, self.room, self.when, self.usage = shape, room, when, usage
        self._mask, self._allowed, self._preference = mask, mask.tobytes(), preference
        self._needs, self._request = shape.needs, dict(shape.needs)
        self._usage_of = usage.scorer(self._request)
        self._column: Floats | None = None  # [N] for those who ask for all scores
        self._seen = self._column_seen = room.changes
        scores = self.scores(np.arange(len(mask)))  # [N]
        fitting = np.flatnonzero(scores > _OUT)
        order = fitting[np.argsort(-scores[fitting], kind="stable")]
        self._unchanged = zip((-scores[order]).data, order.data, strict=True)  # entries, read one by one
        self._first_unchanged = next(self._unchanged, _NOBODY)
        self._changed: dict[int, float] = {NOWHERE: _OUT}  # the scores of nodes that have changed
        self._heap = [_NOBODY]

    def best(self) -> int:
        """The best node that has room, or NOWHERE."""
        changed, heap = self._changed, self._heap
        if self._seen < self.room.changes:
            for node, score in self._scored_since(self._seen):
                if changed.get(node) != score:
                    changed[node] = score
                    if score > _OUT:
                        heappush(heap, (-score, node))
            self._seen = self.room.changes
            while self._first_unchanged[1] in changed and self._first_unchanged is not _NOBODY:
                self._first_unchanged = next(self._unchanged, _NOBODY)
        while changed[heap[0][1]] != -heap[0][0]:
            heappop(heap)
        return min(heap[0], self._first_unchanged)[1]

    def has_room(self, node: int) -> bool:
        """Whether the pod may go to a node and fits there."""
        return self._score(node) > _OUT

    def every_score(self) -> Floats:
        """The scores of all nodes as they are; not to be changed. [N]"""
        if self._column is None:
            self._column = self.scores(np.arange(len(self._mask)))
        elif self._column_seen < self.room.changes:
            for node, score in self._scored_since(self._column_seen):
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

    def _scored_since(self, seen: int) -> Iterable[tuple[int, float]]:
        """The nodes that have changed since, and their scores."""
        changed = self.room.changed_since(seen)
        if len(changed) <= _FEW:
            return zip(changed, map(self._score, changed), strict=True)
        return zip(changed, self.scores(np.array(changed)).tolist(), strict=True)

    def _score(self, node: int) -> float:
        if not self._allowed[node]:
            return _OUT
        room = self.room
        allocatable, later = room.allocatable[node], room.later[node]
        held = room.now[node] if self.when == "now" else later
        for resource, amount in self._needs:
            limit = allocatable[resource] - amount
            if later[resource] > limit or held[resource] > limit:
                return _OUT
        return self._preference.item(node) + self._usage_of(later, allocatable)
