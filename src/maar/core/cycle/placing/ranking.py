"""The best node for a shape, kept up to date as nodes change: ranked once, then only changed nodes again.

The problem. For every pod the node with the best score is wanted, of all nodes where the pod may
run and fits. Every placement changes the score of one node. Scoring all nodes for every pod would
make the cost of one more pod grow with the cluster.

How it works. Pods with equal requests and constraints have one shape, and a cycle has one ranking
for a shape ("now" and "later" each have their own). At first all nodes are scored together and
sorted. From then on every node is in one of two places:

- nodes that have not changed are read from the first order, one after the other (`_unchanged`);
- nodes that have changed have their present entry in `_changed`, and, where the pod still fits,
  also in the list `_sorted`.

`Room` keeps the nodes that have changed in the order of their last change. `best` reads them from
the latest back to the last change that this ranking has seen, scores each again, and compares the
first entries of both places.

Pods that are placed together mostly go to the same node one after the other. `best_run` tells how
many do, before any of them is placed: the best node stays the best while its score with one more of
them is above the first entry of all other nodes.

Invariants.
- `best` gives the node that scoring all nodes would give; of equal scores the one with the smallest
  index.
- `_first_unchanged` is never a node that has changed, so its score is the present one.
- `_sorted` has an entry for exactly those changed nodes where the pod fits, and one at its start
  that is worse than every node.
- The score of one node and the scores of columns are the same to the last bit: both take the same
  steps on the same floats. A test compares them.

Complexity. O(N log N) for the first order. After that, for every changed node, one score and a
search in `_sorted`, which has no more entries than nodes that changed. Where pods are packed, few
nodes change before they are full. A full node is not scored again until something gives room back
(`Room.given_back`). Where more than `_MANY` nodes have changed, ranking all of them as columns is
faster, and is done.

Why not otherwise? Scoring a sample of the nodes, as kube-scheduler does in large clusters, is cheap
too, but the result depends on the sample. Pods whose nodes depend on other pods (affinity, spread,
ports) cannot use the first order, because one placement changes many scores; they ask for
`every_score`. Decision records 8 and 10.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from math import inf
from typing import Final

import numpy as np

from maar.core.cycle.placing.room import NOWHERE, Room, When
from maar.core.fairshare.water_fill import Flags, Floats, Ints
from maar.core.policy.scoring import UsageScore
from maar.core.tables.shapes import Shape

Entry = tuple[float, int]  # the score, and minus the node: the largest is the best

_OUT: Final = -inf
_NO_NODE: Final[Entry] = (_OUT, -NOWHERE)  # comes after every node
_MANY: Final = 500  # changed nodes; from here on ranking all is faster than one by one


class Ranking:
    """Nodes for one shape, best first; of equal scores the first by name."""

    def __init__(
        self, shape: Shape, room: Room, when: When, usage: UsageScore, mask: Flags, preference: Floats
    ) -> None:
        self.room, self.when, self.usage = room, when, usage
        room.expect(shape.needs)
        self._mask, self._preference = mask, preference
        self._needs, self._request = shape.needs, dict(shape.needs)
        self._bonus, self._usage_of = preference.data, usage.scorer(self._request)
        self._score = self._scorer()
        self._column: Floats | None = None  # [N] all scores, where they have been asked for
        self._column_seen = 0
        self._rank()

    def _rank(self) -> None:
        """Rank all nodes as they are."""
        scores = self.scores(slice(None))  # [N]
        fitting = np.flatnonzero(scores > _OUT)
        order = fitting[np.argsort(-scores[fitting], kind="stable")]
        self._unchanged: Iterator[Entry] = zip(scores[order].data, (-order).data, strict=True)
        self._first_unchanged = next(self._unchanged, _NO_NODE)
        self._changed: dict[int, Entry | None] = {}  # the entries of nodes that have changed
        self._sorted = [_NO_NODE]  # those that have room, the best last
        self._seen = self.room.changes

    def best(self) -> int:
        """The best node that has room, or NOWHERE."""
        return self.best_run(1)[0]

    def best_run(self, most: int) -> tuple[int, int]:
        """The best node that has room, or NOWHERE, and for how many equal pods in a row it is the best."""
        if self._seen < self.room.changes:
            self._catch_up()
        first, unchanged = self._sorted[-1], self._first_unchanged
        if first <= unchanged:
            return -unchanged[1], 1
        node = -first[1]
        return node, 1 if most == 1 else self._count(node, most, max(self._sorted[-2], unchanged))

    def _count(self, node: int, most: int, rival: Entry) -> int:
        """For how many equal pods in a row, the first of which fits, a node is better than a rival."""
        has, later, count = self.room.allocatable[node], list(self.room.later[node]), 1
        held = later
        if self.when == "now" and self.room.now[node] is not self.room.later[node]:
            held = list(map(max, self.room.now[node], later))
        while count < most:
            is_full = False
            for resource, amount in self._needs:  # one more of them is there
                later[resource] += amount
                if held is not later:
                    held[resource] += amount
                if held[resource] + amount > has[resource]:
                    is_full = True
            if is_full or (self._bonus[node] + self._usage_of(later, has), -node) <= rival:
                break
            count += 1
        return count

    def has_room(self, node: int) -> bool:
        """Whether the pod may go to a node and fits there."""
        return self._score(node) > _OUT

    def every_score(self) -> Floats:
        """The scores of all nodes as they are; not to be changed. [N]"""
        if self._column is None:
            self._column = self.scores(slice(None))
        elif self._column_seen < self.room.changes:
            for node in self.room.changed_since(self._column_seen):
                self._column[node] = self._score(node)
        self._column_seen = self.room.changes
        return self._column

    def scores(self, nodes: Ints | slice) -> Floats:
        """Score nodes as they are; one without room scores minus infinity."""
        allocatable, now, later = (column[:, nodes] for column in self.room.columns())  # [R, M]
        held = np.maximum(now, later) if self.when == "now" else later
        fits = self._mask[nodes]
        for resource, amount in self._needs:
            fits = fits & (held[resource] + amount <= allocatable[resource])
        score = self._preference[nodes] + self.usage.of_columns(later, allocatable, self._request)
        return np.where(fits, score, _OUT)

    def _catch_up(self) -> None:
        """Score the nodes again that have changed since this ranking last did so."""
        seen, self._seen = self._seen, self.room.changes
        if self._seen - seen > _MANY and len(self.room.changed_since(seen)) > _MANY:
            self._rank()
            return
        changed, entries, score_of = self._changed, self._sorted, self._score
        stays_full, full = self.room.given_back <= seen, self.room.full
        for node, change in reversed(self.room.changed.items()):
            if change <= seen:
                break
            known = changed.get(node, _NO_NODE)
            if known is not _NO_NODE:
                if known is not None:
                    del entries[bisect_left(entries, known)]
                elif stays_full:
                    continue
            changed[node] = None
            if full[node]:
                continue
            score = score_of(node)
            if score > _OUT:
                changed[node] = entry = (score, -node)
                insort(entries, entry)
        while -self._first_unchanged[1] in changed:
            self._first_unchanged = next(self._unchanged, _NO_NODE)

    def _scorer(self) -> Callable[[int], float]:
        """Make the function that scores one node as it is, in the same steps as `scores` does for many."""
        room, needs, allowed, bonus = self.room, self._needs, self._mask.tobytes(), self._bonus
        allocatable, laters = room.allocatable, room.later
        helds = room.now if self.when == "now" else laters
        usage_of = self._usage_of

        def score(node: int) -> float:
            if not allowed[node]:
                return _OUT
            has, later, held = allocatable[node], laters[node], helds[node]
            if held is not later:
                held = list(map(max, held, later))
            for resource, amount in needs:
                if held[resource] + amount > has[resource]:
                    return _OUT
            return bonus[node] + usage_of(later, has)

        return score
