"""Guarantees that cannot all hold are scaled down in proportion; those that can are left alone."""

from typing import Final

import numpy as np
import numpy.typing as npt

from maar.core.fairshare.water_fill import Groups, Ints, largest_remainders

_SMALL: Final = 2**30  # numbers whose product fits in 64 bits with room to spare


def scale_down(budget: Ints, guarantee: Ints, groups: Groups) -> Ints:
    """Bring every group's guarantees within its budget, to the unit. [E] -> [E]"""
    is_over = groups.sums(guarantee) > budget  # [G]
    if not is_over.any():
        return guarantee
    over = np.flatnonzero(is_over[groups.of])
    group = Groups.by_number((np.cumsum(is_over) - 1)[groups.of[over]])
    scaled = guarantee.copy()
    scaled[over] = _in_proportion(budget[is_over], guarantee[over], group)
    return scaled


def _in_proportion(budget: Ints, guarantee: Ints, groups: Groups) -> Ints:
    """Split every budget in proportion to the guarantees. [E]

    A product of two large amounts needs more than 64 bits: then Python's integers count.
    """
    is_small = int(groups.sums(guarantee).max()) < _SMALL
    wanted = guarantee if is_small else guarantee.astype(object)
    together = np.add.reduceat(wanted, groups.starts)[groups.of]  # [E]
    product = wanted * budget[groups.of]
    even = (product // together).astype(np.int64)
    spent = np.add.reduceat(even, groups.starts)  # [G]
    return even + largest_remainders(budget - spent, _ranks(product % together), groups.of)


def _ranks(remainders: npt.NDArray[np.generic]) -> Ints:
    """Stand-ins in the same order that are small; nothing left stays 0."""
    _, ranks = np.unique(remainders, return_inverse=True)
    return np.asarray(ranks, np.int64) + (0 if (remainders == 0).any() else 1)
