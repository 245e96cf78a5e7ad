"""Where pods begin that must be together: the first of them decides for all others.

They begin only in a domain whose nodes have room for all of them, and where that was not enough, in another.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from maar.core.fairshare.water_fill import Flags, Ints
from maar.core.policy.pod_affinity import Beginning
from maar.core.tables.rows import PodRow
from maar.core.tables.shapes import Shape

MOST_TRIES: Final = 8

Most = Callable[[Shape, int], Ints]  # how many pods of a shape each node takes, up to a number. [N]


class Beginnings:
    """The tries of one turn, which has to place at least some number of pods."""

    def __init__(self, pods: Sequence[PodRow], at_least: int, most: Most) -> None:
        self._at_least, self._count, self._most = at_least, len(pods), most
        self._shapes = Counter(pod.shape for pod in pods)
        self._begun: dict[
            Beginning, Flags
        ] = {}  # in this try, in order: the nodes that others have to follow to
        self._too_small: dict[Beginning, Flags] = {}  # where it was tried in vain

    def tries(self) -> Iterator[None]:
        """Try once, and again while pods could begin elsewhere: the last to begin moves first."""
        for _ in range(MOST_TRIES):
            self._begun.clear()
            yield
            if not self._begun:
                return
            last, nodes = self._begun.popitem()
            earlier = {one: tried for one, tried in self._too_small.items() if one in self._begun}
            before = self._too_small.get(last)
            self._too_small = {**earlier, last: nodes if before is None else nodes | before}

    def narrow(self, mask: Flags, shape: Shape, beginning: Beginning) -> Flags:
        """Leave out nodes whose domain was tried in vain or has no room for all; not, where none has."""
        roomy = mask & self._roomy(shape, beginning)
        if beginning in self._too_small:
            return roomy & ~self._too_small[beginning]
        return roomy if roomy.any() else mask

    def _roomy(self, shape: Shape, beginning: Beginning) -> Flags:
        """The nodes in whose domains there is room for as many pods as have to follow. [N]"""
        roomy = np.ones(len(beginning.domains[0]), np.bool_)
        for other, count in self._shapes.items():
            least = self._at_least - (self._count - count)
            if least > 1 and other.affinity == shape.affinity:
                takes = self._most(other, least)  # [N]
                for codes in beginning.domains:
                    roomy &= (np.bincount(codes, takes) >= least)[codes]
        return roomy

    def begin(self, beginning: Beginning, node: int) -> None:
        """Remember that the first of some pods went to a node, where the others have to follow."""
        self._begun[beginning] = np.logical_and.reduce([codes == codes[node] for codes in beginning.domains])
