"""Single nodes whose units alone may make room: where a search of the whole cluster fails, they are tried.

A node is left out where even all pods of the leaves that may have victims would not free enough
there, and where no unit that may be taken is on it alone. Where there are few units their nodes are
looked up, and else the units of one node after the other, as long as none has given room.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from maar.core.cycle.evicting.unit_pool import UnitPool
from maar.core.cycle.evicting.units import Rank, Unit
from maar.core.cycle.evicting.victim_search import VictimSearch
from maar.core.cycle.state import State
from maar.core.tables.rows import PodRow

_FEW_UNITS: Final = 100  # whose nodes are looked up, instead of the units of every node


class UnitSearch(Protocol):
    """What is read of the attempt that searches."""

    state: State
    search: VictimSearch
    pods: list[PodRow]

    def leaves(self) -> Sequence[int]:
        """The leaves that may have victims."""

    def units(self, leaf: int) -> UnitPool:
        """The units of a leaf."""

    def may_be_victim(self, rank: Rank, namespace: str, share: float) -> bool:
        """Whether units of a rank and a namespace, which uses a share, could be taken at all."""

    def may_go(self, unit: Unit, refused: set[object], allowed: set[object] | None = None) -> bool:
        """Whether a unit may be taken next."""


@dataclass(slots=True)
class _Verdicts:
    """What units of a leaf have in common that may be taken while nothing is, and that may not."""

    refused: set[object] = field(default_factory=set)
    allowed: set[object] = field(default_factory=set)


def candidate_nodes(attempt: UnitSearch) -> Iterator[int]:
    """Nodes with a unit that may be taken, and with room for the first pod if the leaves' pods left.

    With what is idle elsewhere, there must then be room for all the other pods too.
    """
    places, (allocatable, _, later) = attempt.state.places, attempt.state.room.columns()
    leaves = attempt.leaves()
    idle, reserved = allocatable - later, attempt.search.leaf_usage.of(leaves)  # [R, N]
    possible = places.usable & reserved.any(axis=0)  # [N]
    for resource, amount in attempt.pods[0].shape.needs:
        possible &= idle[resource] + reserved[resource] >= amount
    for shape, count in Counter(pod.shape for pod in attempt.pods).items() if possible.any() else ():
        now, then = (places.pods_per_node(shape, room, count) for room in (idle, idle + reserved))  # [N]
        possible &= now.sum() - now + then >= count
    nodes = np.flatnonzero(possible).tolist()
    if nodes and sum(attempt.units(leaf).count(attempt.may_be_victim) for leaf in leaves) <= _FEW_UNITS:
        with_units, rows = nodes_with_units(attempt), attempt.state.room.nodes
        yield from [node for node in nodes if rows[node].name in with_units]
        return
    verdicts = {leaf: _Verdicts() for leaf in leaves}
    for node in nodes:
        if _has_units(attempt, node, verdicts):
            yield node


def _has_units(attempt: UnitSearch, node: int, verdicts: Mapping[int, "_Verdicts"]) -> bool:
    """Whether a node has a gang that may be taken and is nowhere else, or a pod of a job with surplus."""
    row = attempt.state.room.nodes[node]
    groups = dict.fromkeys([pod.group_key for pod in row.pods.values()])
    for leaf, known in verdicts.items():
        pool = attempt.units(leaf)
        for unit in filter(None, [pool.unit(key, attempt.may_be_victim) for key in groups if key in pool]):
            if unit.is_surplus:
                if any(pod.node_name == row.name for pod in attempt.state.holders(unit.group)):
                    return True
            elif unit.is_on(row.name) and attempt.may_go(unit, known.refused, known.allowed):
                return True
    return False


def nodes_with_units(attempt: UnitSearch) -> set[str]:
    """Nodes with a gang that may be taken and is nowhere else, or with a pod of a job with surplus."""
    nodes: set[str] = set()
    for leaf in attempt.leaves():
        known = _Verdicts()
        for unit in attempt.units(leaf).in_order(attempt.may_be_victim):
            node = unit.pods[0].node_name
            if unit.is_surplus:
                nodes.update([pod.node_name for pod in attempt.state.holders(unit.group)])
            elif (
                node not in nodes and unit.is_on(node) and attempt.may_go(unit, known.refused, known.allowed)
            ):
                nodes.add(node)
    return nodes
