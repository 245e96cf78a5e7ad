"""How well a pod's use suits a node: least or most requested, balanced, bin-packed.

One node is scored in plain Python and many as columns; both take the same steps on the same floats,
so that a node scores the same either way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from maar.core.fairshare.water_fill import Floats, Ints

_CPU: Final = 0  # rows of the resource axis that every cluster has
_MEMORY: Final = 1


@dataclass(frozen=True)
class UsageScore:
    """The scores of usage and their weights; scores run from 0 to 100 times the weight."""

    least: float = 0.0
    most: float = 0.0
    balanced: float = 1.0
    binpack: float = 1.0
    binpack_of: tuple[tuple[int, float], ...] = ((_CPU, 1.0), (_MEMORY, 1.0))  # resource row and weight

    def scorer(self, request: Mapping[int, int]) -> Callable[[Sequence[int], Sequence[int]], float]:
        """Give the score of one node for pods with this request, from what is held there and what it has.

        Of CPU and memory only what the node has counts.
        """
        for_cpu, for_memory = request.get(_CPU, 0), request.get(_MEMORY, 0)
        least, most, balanced, binpack = self.least, self.most, self.balanced, self.binpack
        leans = bool(least or most)
        packing = {row: weight for row, weight in self.binpack_of if binpack and request.get(row)}
        of_cpu, of_memory = packing.pop(_CPU, 0.0), packing.pop(_MEMORY, 0.0)
        of_both = of_cpu + of_memory
        others = [(row, weight, request[row]) for row, weight in packing.items()]

        def score(held: Sequence[int], allocatable: Sequence[int]) -> float:
            has_cpu, has_memory = allocatable[_CPU], allocatable[_MEMORY]
            if not (has_cpu and has_memory):
                return self._alone(held, allocatable, request)
            cpu, memory = (held[_CPU] + for_cpu) / has_cpu, (held[_MEMORY] + for_memory) / has_memory
            total = balanced * (100.0 - 50.0 * abs(cpu - memory))
            if leans:
                both = 50.0 * (cpu + memory)
                total += least * (100.0 - both) + most * both
            packed, weights = of_cpu * cpu + of_memory * memory, of_both
            for row, weight, amount in others:
                if allocatable[row]:
                    packed += weight * ((held[row] + amount) / allocatable[row])
                    weights += weight
            return total + binpack * (100.0 * packed / weights) if weights else total

        return score

    def _alone(self, held: Sequence[int], allocatable: Sequence[int], request: Mapping[int, int]) -> float:
        """Score a node that has no CPU or no memory as a column of one."""
        columns = np.array([held, allocatable], np.int64)[:, :, None]  # [2, R, 1]
        return self.of_columns(columns[0], columns[1], request).item()

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
