"""In which domain pods start that required affinity keeps together: the first one decides for all others.

The first pod goes only to a domain whose nodes have room for all of them; where that was not
enough, the turn is tried again in another domain.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import numpy as np

from maar.core.fairshare.water_fill import Flags, Ints
from maar.core.policy.pod_affinity import DomainStart
from maar.core.policy.pod_selectors import PodSelector
from maar.core.tables.rows import PodRow

MOST_TRIES: Final = 16


class NodeSet(Protocol):
    """What a retry needs to know of the nodes and of pods with affinity."""

    def required_near(self, pod: PodRow) -> PodSelector | None:
        """The pods that a pod has to be near."""

    def takes(self, pod: PodRow, enough: int) -> Ints:
        """How many pods like this one each node takes, up to what is enough. [N]"""

    def idle(self) -> Ints:
        """The room on the nodes. [R, N]"""


class DomainRetry:
    """The tries of one turn, which has to place at least some number of pods."""

    def __init__(self, pods: Sequence[PodRow], at_least: int, nodes: NodeSet) -> None:
        self._pods, self._at_least, self._nodes = pods, at_least, nodes
        self._started: dict[
            PodSelector, Flags
        ] = {}  # in this try, in order: the nodes that others must follow to
        self._too_small: dict[PodSelector, Flags] = {}  # domains that were tried and had too little room
        self._unplaced: PodRow | None = None  # the first that found no node in this try

    def tries(self) -> Iterator[None]:
        """Try once, and again while a pod finds no node and those it must be near could start elsewhere."""
        for _ in range(MOST_TRIES):
            self._started.clear()
            self._unplaced = None
            yield
            if self._unplaced is None or not self._started:
                return
            self._move(self._unplaced)

    def _move(self, unplaced: PodRow) -> None:
        """Let the pods that an unplaced pod must be near start elsewhere; else those that started last."""
        required_near = self._nodes.required_near(unplaced)
        who = required_near if required_near in self._started else next(reversed(self._started))
        earlier = list(self._started)[: list(self._started).index(who)]
        nodes, before = self._started[who], self._too_small.get(who)
        kept = {one: self._too_small[one] for one in earlier if one in self._too_small}
        self._too_small = {**kept, who: nodes if before is None else nodes | before}

    def narrow(self, mask: Flags, start: DomainStart) -> Flags:
        """Leave out nodes whose domain was tried or has no room for all; keep all where none has room."""
        roomy = mask & self._roomy(start)
        if start.who in self._too_small:
            return roomy & ~self._too_small[start.who]
        return roomy if roomy.any() else mask

    def _roomy(self, start: DomainStart) -> Flags:
        """The nodes in whose domains there is room for as many pods as have to follow. [N]"""
        roomy = np.ones(len(start.domains[0]), np.bool_)
        following = [pod for pod in self._pods if self._nodes.required_near(pod) == start.who]
        kinds = Counter((pod.shape, pod.labels) for pod in following)
        for one in {(pod.shape, pod.labels): pod for pod in following}.values():
            least = self._at_least - (len(self._pods) - kinds[one.shape, one.labels])
            if least > 1:
                roomy &= _enough(self._nodes.takes(one, least), least, start)
        if len(kinds) > 1 and self._at_least == len(self._pods):
            together = Counter[int]()
            for pod in following:
                together.update(dict(pod.shape.needs))
            idle = np.maximum(self._nodes.idle(), 0)  # [R, N]
            for resource, amount in together.items():
                roomy &= _enough(idle[resource], amount, start)
        return roomy

    def begin(self, start: DomainStart, node: int) -> None:
        """Remember that the first of some pods went to a node, where the others have to follow."""
        nodes = np.logical_and.reduce([codes == codes[node] for codes in start.domains])
        self._started[start.who] = nodes

    def note_unplaced(self, pod: PodRow) -> None:
        """Remember that a pod has found no node."""
        self._unplaced = self._unplaced or pod


def _enough(amounts: Ints, least: int, start: DomainStart) -> Flags:
    """The nodes in whose domains there is enough. [N] -> [N]"""
    enough = np.ones(len(amounts), np.bool_)
    for codes in start.domains:
        enough &= (np.bincount(codes, amounts) >= least)[codes]
    return enough
