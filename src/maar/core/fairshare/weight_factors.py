"""Factors on weights: queues that used more than their part come later, exactly and in steps.

A factor is one of 25 steps, 2^(k/4) for k from -12 to 12, that is from an eighth to eight. Most of
these numbers are irrational, so each step is defined as a whole number of 1024ths (`FACTORS`),
within 0.2 % of it. The sharing then goes on as always, with whole weights: weight x 1024ths for
every queue of a group of siblings, divided by what all of them have in common. Where no sibling has
a factor, weights stay as they are.

The arithmetic of the sharing is exact for weights below 2^22 (`water_fill`). Weights up to 512 stay
below that whatever their factors are. Where a sibling's is larger, all are halved until the largest
is below it, and rounded: a weight of 65,535 and one of 1 beside it keep their proportion to within
one part in 2^22 of the larger. None becomes less than 1.
"""

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd
from typing import Final, NamedTuple

from maar.core.fairshare.tree import QueueTree
from maar.core.fairshare.water_fill import WEIGHTS_BELOW, Ints

ONE: Final = 1024  # the factor 1, and what factors are parts of
_OCTAVE: Final = (128, 152, 181, 215)  # 1, 2^(1/4), 2^(1/2) and 2^(3/4) in 128ths
FACTORS: Final = tuple(_OCTAVE[step % 4] << step // 4 for step in range(25))  # in 1024ths
_BETWEEN: Final = tuple(2 ** ((step - 12 + 0.5) / 4) for step in range(24))  # where the next step is nearer


class PartOfUse(NamedTuple):
    """What part of its siblings' past use one of them had, what its weight entitles it to, and its factor."""

    factor: int  # in 1024ths
    used: float  # on the resource where that part is largest
    entitled: float
    resource: str


def weight_factors(
    past_use: Mapping[str, Mapping[str, float]], weights: Mapping[str, int], strength: float
) -> dict[str, PartOfUse]:
    """The factor of every sibling that has a weight; none where the siblings have no past use."""
    totals: dict[str, float] = {}
    for name in weights:
        for resource, amount in past_use.get(name, {}).items():
            totals[resource] = totals.get(resource, 0.0) + amount
    if not any(totals.values()):
        return {}
    together = sum(weights.values())
    return {
        name: _part(past_use.get(name, {}), totals, weight / together, strength)
        for name, weight in weights.items()
    }


def _part(
    past_use: Mapping[str, float], totals: Mapping[str, float], entitled: float, strength: float
) -> PartOfUse:
    parts = [(amount / totals[name], name) for name, amount in past_use.items() if totals[name]]
    used, resource = max(parts, default=(0.0, ""))
    return PartOfUse(step(1 + strength * (entitled - used) / entitled), used, entitled, resource)


def step(factor: float) -> int:
    """The step nearest to a factor, in 1024ths: an eighth at least, eight at most."""
    return FACTORS[bisect(_BETWEEN, factor)]


@dataclass(frozen=True, eq=False)
class ScaledWeights:
    """The weights of a tree with their factors, as whole numbers; `scale` of them are a weight of one."""

    weight: Ints  # [Q]
    scale: tuple[Fraction, ...]  # [Q] the same for siblings

    def of(self, queue: int) -> Fraction:
        """The weight of a queue that was shared out by."""
        return int(self.weight[queue]) / self.scale[queue]


def scaled_weights(tree: QueueTree, factors: Sequence[int]) -> ScaledWeights | None:
    """Multiply the weights of a tree by factors in 1024ths; None where every factor is 1."""
    if all(factor == ONE for factor in factors):
        return None
    weight, scale = tree.weight.copy(), [Fraction(1)] * len(factors)
    for level in tree.levels:
        first = level.queues.start
        bounds = [*(level.starts + first).tolist(), level.queues.stop]
        for start, end in pairwise(bounds):
            if any(factor != ONE for factor in factors[start:end]):
                numbers = [int(weight[one]) * factors[one] for one in range(start, end)]
                whole, common = _within_bounds(numbers)
                weight[start:end] = whole
                scale[start:end] = [common] * (end - start)
    return ScaledWeights(weight, tuple(scale))


def _within_bounds(numbers: list[int]) -> tuple[list[int], Fraction]:
    """Whole numbers in the proportion of these that the sharing can count with, and how many make one."""
    divisor = gcd(*numbers)
    common, scale = [number // divisor for number in numbers], Fraction(ONE, divisor)
    while max(common) >= WEIGHTS_BELOW:
        common, scale = [max(1, (number + 1) // 2) for number in common], scale / 2
    return common, scale
