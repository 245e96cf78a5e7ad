"""The best node for a shape, kept as nodes change: a heap of scores that are refreshed when needed."""

from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from maar.core.cycle.room import NOWHERE, Room, When
from maar.core.fairshare.water_fill import Flags, Floats, Ints
from maar.core.policy.scoring import UsageScore
from maar.core.tables.shapes import Shape

_OUT: Final = float("-inf")
_FEW: Final = 64  # nodes that are scored faster one by one than as columns


class Ranking:
    """Nodes for one shape, best first; of equal scores the first by name."""

    def __init__(
        self, shape: Shape, room: Room, when: When, usage: UsageScore, mask: Flags, preference: Floats
    ) -> None:
        self.shape, self.room, self.when, self.usage = shape, room, when, usage
        self._mask, self._preference = mask, preference
        self._usable: list[bool] = mask.tolist()
        self._bonus: list[float] = preference.tolist()
        self._request = dict(shape.needs)
        self._usage_of = usage.scorer(self._request)
        every = np.arange(len(mask))
        self._column = self.scores(every)
        self._score: list[float] = self._column.tolist()
        self._heap = [(-score, node) for node, score in enumerate(self._score) if score > _OUT]
        heapify(self._heap)
        self._seen = len(room.changes)

    def best(self) -> int:
        """The best node that has room, or NOWHERE."""
        self._catch_up()
        heap, scores = self._heap, self._score
        while heap:
            score, node = heap[0]
            if scores[node] == -score:
                return node
            heappop(heap)
        return NOWHERE

    def has_room(self, node: int) -> bool:
        """Whether the pod may go to a node and fits there."""
        return self._usable[node] and self.room.fits(node, self.shape.needs, self.when)

    def every_score(self) -> Floats:
        """The scores of all nodes as they are; not to be changed. [N]"""
        self._catch_up()
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

    def _catch_up(self) -> None:
        changes = self.room.changes
        if self._seen == len(changes):
            return
        changed = set(changes[self._seen :])
        self._seen = len(changes)
        if len(changed) > _FEW:
            nodes = np.fromiter(changed, np.int64, len(changed))
            fresh = zip(nodes.tolist(), self.scores(nodes).tolist(), strict=True)
        else:
            fresh = zip(changed, map(self._scored, changed), strict=True)
        known, heap = self._score, self._heap
        for node, score in fresh:
            if score != known[node]:
                known[node] = self._column[node] = score
                if score > _OUT:
                    heappush(heap, (-score, node))

    def _scored(self, node: int) -> float:
        if not self._usable[node]:
            return _OUT
        room = self.room
        allocatable, later = room.nodes[node].allocatable, room.later[node]
        held = room.now[node] if self.when == "now" else later
        for resource, amount in self.shape.needs:
            limit = allocatable[resource] - amount
            if later[resource] > limit or held[resource] > limit:
                return _OUT
        return self._bonus[node] + self._usage_of(later, allocatable)
