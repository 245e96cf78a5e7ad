"""How well a node suits a pod: each score runs from 0 to 100, times its weight.

Every step is taken node by node, so that a node scores the same alone and among others. Kubernetes rounds to
whole numbers and stretches scores to the best node of the moment; here neither is done.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from maar.core.fairshare.water_fill import Floats, Ints
from maar.core.model.resources import CPU, MEMORY
from maar.core.policy.columns import NodeColumns
from maar.core.policy.filters import matching_term
from maar.core.policy.grammar import NodeOrderWeights
from maar.core.policy.selectors import DISCOURAGES, untolerated
from maar.core.tables.axis import ResourceAxis
from maar.core.tables.rows import NodeRow
from maar.core.tables.shapes import Shape

BEST: Final = 100.0


class UsageScore(Protocol):
    """Scores M nodes by what is in use, the pod not included, and what the pod asks for."""

    def __call__(self, used: Ints, allocatable: Ints, request: Ints, axis: ResourceAxis) -> Floats:
        """[R, M], [R, M], [R] -> [M]"""


class StaticScore(Protocol):
    """Scores nodes by what they and the pod say of themselves."""

    def __call__(self, shape: Shape, nodes: Sequence[NodeRow]) -> Floats:
        """Score every node. [N]"""


@dataclass(frozen=True)
class LeastRequested:
    """Prefer the emptiest node, by cpu and memory."""

    weight: float = 1.0

    def __call__(self, used: Ints, allocatable: Ints, request: Ints, axis: ResourceAxis) -> Floats:
        """[R, M], [R, M], [R] -> [M]"""
        cpu, memory, kinds = _cpu_and_memory(used, allocatable, request, axis)
        return self.weight * (BEST * (kinds - cpu - memory) / np.maximum(kinds, 1.0))


@dataclass(frozen=True)
class MostRequested:
    """Prefer the fullest node, by cpu and memory."""

    weight: float = 1.0

    def __call__(self, used: Ints, allocatable: Ints, request: Ints, axis: ResourceAxis) -> Floats:
        """[R, M], [R, M], [R] -> [M]"""
        cpu, memory, kinds = _cpu_and_memory(used, allocatable, request, axis)
        return self.weight * (BEST * (cpu + memory) / np.maximum(kinds, 1.0))


@dataclass(frozen=True)
class BalancedResource:
    """Prefer the node whose cpu and memory come closest to being equally full.

    As in Kubernetes what counts is how much the pod improves the balance: 75 leaves it as it is. A pod that
    asks for neither gets nothing, or all of them would go to the same node.
    """

    weight: float = 1.0

    def __call__(self, used: Ints, allocatable: Ints, request: Ints, axis: ResourceAxis) -> Floats:
        """[R, M], [R, M], [R] -> [M]"""
        rows = [axis.row[CPU], axis.row[MEMORY]]
        if not request[rows].any():
            return np.zeros(used.shape[1])
        with_pod = _balance(*_cpu_and_memory(used, allocatable, request, axis))
        without = _balance(*_cpu_and_memory(used, allocatable, np.zeros_like(request), axis))
        return self.weight * (BEST / 2 + (BEST / 2 + with_pod - without) / 2)


@dataclass(frozen=True)
class BinPack:
    """Prefer the fullest node, by the resources that have a weight and that the pod asks for."""

    weight: float = 1.0
    resources: Mapping[str, float] = field(default_factory=lambda: {CPU: 1.0, MEMORY: 1.0})

    def __call__(self, used: Ints, allocatable: Ints, request: Ints, axis: ResourceAxis) -> Floats:
        """[R, M], [R, M], [R] -> [M]"""
        score, weights = np.zeros(used.shape[1]), 0.0
        for name, weight in self.resources.items():
            row = axis.row.get(name, len(request))
            if row < len(request) and request[row]:
                there = allocatable[row]
                wanted = used[row] + request[row]  # [M]
                fits = wanted <= there
                score += np.where(fits, weight * (wanted / np.maximum(there, 1)), 0.0)
                weights += weight
        return self.weight * (BEST * score / weights) if weights else score


@dataclass(frozen=True)
class NodeAffinityPreference:
    """Prefer nodes that meet the pod's preferred node affinity; one that meets all of it gets 100."""

    weight: float = 2.0

    def __call__(self, shape: Shape, nodes: Sequence[NodeRow]) -> Floats:
        """Score every node. [N]"""
        columns = NodeColumns.of(nodes)
        affinity = shape.affinity.node_affinity if shape.affinity is not None else None
        preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
        met, total = np.zeros(len(columns), np.int64), 0
        for one in preferred:
            if one.preference.match_expressions or one.preference.match_fields:
                met += one.weight * matching_term(one.preference, columns)
                total += one.weight
        return self.weight * (BEST * met / max(total, 1))


@dataclass(frozen=True)
class TaintPreference:
    """Prefer nodes without taints that ask pods to stay away if they can; each costs 100."""

    weight: float = 3.0

    def __call__(self, shape: Shape, nodes: Sequence[NodeRow]) -> Floats:
        """Score every node; one with several such taints scores below 0. [N]"""
        numbers, kinds = NodeColumns.of(nodes).taints
        count = np.array([len(untolerated(shape.tolerations, taints, DISCOURAGES)) for taints in kinds], int)
        return self.weight * (BEST * (1 - count[numbers]))


def static_score(shape: Shape, nodes: Sequence[NodeRow], weights: NodeOrderWeights) -> Floats:
    """What nodeorder makes of the nodes and the pod themselves. [N]"""
    columns = NodeColumns.of(nodes)
    affinity, taints = (
        NodeAffinityPreference(weights.node_affinity),
        TaintPreference(weights.taint_toleration),
    )
    return affinity(shape, columns) + taints(shape, columns)


def _cpu_and_memory(
    used: Ints, allocatable: Ints, request: Ints, axis: ResourceAxis
) -> tuple[Floats, Floats, Floats]:
    """The parts of cpu and memory that are taken with the request, and how many of the two there are. [M]"""
    kinds = np.zeros(used.shape[1])
    parts = []
    for row in (axis.row[CPU], axis.row[MEMORY]):
        there = allocatable[row] > 0
        part = (used[row] + request[row]) / np.maximum(allocatable[row], 1)
        np.minimum(part, 1.0, out=part)
        part *= there
        kinds += there
        parts.append(part)
    return parts[0], parts[1], kinds


def _balance(cpu: Floats, memory: Floats, kinds: Floats) -> Floats:
    """100 where cpu and memory are equally full, or where a node has only one of them."""
    return (1.0 - np.abs(cpu - memory) / 2 * (kinds > 1)) * BEST
