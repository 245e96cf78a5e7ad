"""How well a pod's use suits a node: least or most requested, balanced, bin-packed.

One node is scored in plain Python and many as columns; both take the same steps on the same floats, so that a
node scores the same either way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from maar.core.fairshare.water_fill import Floats, Ints

_CPU: Final = 0  # rows of the resource axis that every cluster has
_MEMORY: Final = 1


@dataclass(frozen=True)
class UsageScore:
    """The opinions on usage and their weights; scores run from 0 to 100 times the weight."""

    least: float = 0.0
    most: float = 0.0
    balanced: float = 1.0
    binpack: float = 1.0
    binpack_of: tuple[tuple[int, float], ...] = ((_CPU, 1.0), (_MEMORY, 1.0))  # resource row and weight

    def of_node(self, held: Sequence[int], allocatable: Sequence[int], request: Mapping[int, int]) -> float:
        """Score one node with the pod on it; of CPU and memory only what the node has counts."""
        cpu = (held[_CPU] + request.get(_CPU, 0)) / max(allocatable[_CPU], 1)
        memory = (held[_MEMORY] + request.get(_MEMORY, 0)) / max(allocatable[_MEMORY], 1)
        cpu = cpu if allocatable[_CPU] else memory
        memory = memory if allocatable[_MEMORY] else cpu
        both = 50.0 * (cpu + memory)
        score = (
            self.least * (100.0 - both)
            + self.most * both
            + self.balanced * (100.0 - 50.0 * abs(cpu - memory))
        )
        packed = weights = 0.0
        for resource, weight in self.binpack_of if self.binpack else ():
            if request.get(resource) and allocatable[resource]:
                packed += weight * ((held[resource] + request[resource]) / allocatable[resource])
                weights += weight
        return score + self.binpack * (100.0 * packed / weights) if weights else score

    def of_columns(self, held: Ints, allocatable: Ints, request: Mapping[int, int]) -> Floats:
        """Score many nodes. [R, M] -> [M]"""
        cpu, memory = (_part(held, allocatable, request, resource) for resource in (_CPU, _MEMORY))
        cpu = np.where(allocatable[_CPU] > 0, cpu, memory)
        memory = np.where(allocatable[_MEMORY] > 0, memory, cpu)
        both = 50.0 * (cpu + memory)
        score = (
            self.least * (100.0 - both)
            + self.most * both
            + self.balanced * (100.0 - 50.0 * abs(cpu - memory))
        )
        packed, weights = np.zeros(held.shape[1]), np.zeros(held.shape[1])
        for resource, weight in self.binpack_of if self.binpack else ():
            if request.get(resource):
                has = allocatable[resource] > 0
                packed += np.where(has, weight * _part(held, allocatable, request, resource), 0.0)
                weights += np.where(has, weight, 0.0)
        counts = weights > 0
        return np.where(
            counts, score + self.binpack * (100.0 * packed / np.where(counts, weights, 1.0)), score
        )


def _part(held: Ints, allocatable: Ints, request: Mapping[int, int], resource: int) -> Floats:
    """The part of a resource that is taken with the pod."""
    part: Floats = (held[resource] + request.get(resource, 0)) / np.maximum(allocatable[resource], 1)
    return part
