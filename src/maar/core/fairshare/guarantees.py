"""Guarantees that cannot all hold are scaled down in proportion; those that can are left alone."""

import numpy as np

from maar.core.fairshare.water_fill import Ints, group_sums, largest_remainders


def scale_down(budget: Ints, guarantee: Ints, starts: Ints) -> Ints:
    """Bring every group's guarantees within its budget, to the unit. [E] -> [E]

    A product of two amounts needs more than 64 bits, so the few groups concerned count in Python's integers.
    """
    is_over = group_sums(guarantee, starts) > budget  # [G]
    if not is_over.any():
        return guarantee
    sizes = np.diff(np.append(starts, len(guarantee)))
    group = np.repeat(np.arange(len(starts)), sizes)  # [E]
    over = np.flatnonzero(is_over[group])
    wanted, group = guarantee[over].astype(object), group[over]
    together = np.zeros(len(starts), dtype=object)
    np.add.at(together, group, wanted)
    product = wanted * budget[group].astype(object)
    even = (product // together[group]).astype(np.int64)
    spent = np.zeros(len(starts), np.int64)
    np.add.at(spent, group, even)
    odd = _ranks(product % together[group])
    scaled = guarantee.copy()
    scaled[over] = even + largest_remainders(budget - spent, odd, group)
    return scaled


def _ranks(remainders: "np.typing.NDArray[np.object_]") -> Ints:
    """Stand-ins in the same order that fit in 64 bits; nothing left stays 0."""
    distinct = sorted({0, *remainders.tolist()})
    rank = {remainder: place for place, remainder in enumerate(distinct)}
    return np.array([rank[one] for one in remainders], np.int64)
