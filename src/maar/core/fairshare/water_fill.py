"""Weighted max-min fairness with floors and ceilings: many groups of siblings at once, exact in 64 bits.

One entry is one child for one resource; entries of a group lie together, the older child first. Axis letters:
E entries, G groups, V events (an entry starts to rise at floor / weight and stops at ceiling / weight).
"""

from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
NumbersT = TypeVar("NumbersT", Ints, Floats)

# Sums wrap around in 64 bits and come out right again as long as the true value fits. A float tells
# whether it does: budgets stay below 2^62, so what is certainly more than a budget need not fit.
_FITS: Final = 1.5 * 2**62
_SAFE: Final = 2**62


class Filled(NamedTuple):
    """What every entry gets, and whether the water level is at or below its floor."""

    deserved: Ints  # [E]
    on_floor: Flags  # [E]


class _Level(NamedTuple):
    """The water level of every group as an exact fraction of integers, and who is where."""

    left: Ints  # [G] what the rising entries share
    slope: Ints  # [G] their weights together; left / slope is the level
    risen: Flags  # [E]
    topped: Flags  # [E]


def group_sums(values: Ints, starts: Ints) -> Ints:
    """Add up every group; a sum that is more than any budget counts as 2^62."""
    sums = np.add.reduceat(values, starts)  # [G]
    if values.size and float(values.max()) * values.size >= _SAFE:
        rough = np.add.reduceat(values.astype(np.float64), starts)  # [G]
        sums[(rough > _FITS) | (sums > _SAFE)] = _SAFE
    return sums


def water_fill(budget: Ints, weight: Ints, floor: Ints, ceiling: Ints, starts: Ints) -> Filled:
    """Raise one level per group until its budget is spent or every entry stands at its ceiling.

    Every entry gets clamp(level x weight, floor, ceiling); a group's floors are within its budget.
    What whole units cannot share evenly goes to the largest remainders, the older entry first.
    """
    sizes = np.diff(np.append(starts, len(weight)))  # [G]
    group = np.repeat(np.arange(len(starts)), sizes)  # [E]
    above_floors = budget - group_sums(floor, starts)  # [G] to be handed out
    is_short = (group_sums(ceiling, starts) > budget) & (above_floors > 0)  # [G]

    deserved = np.where((above_floors > 0)[group], ceiling, floor)  # [E]
    on_floor = (above_floors <= 0)[group]  # [E]
    if is_short.any():
        rises = np.flatnonzero(is_short[group] & (floor < ceiling))
        kept = np.flatnonzero(is_short)
        filled = _fill(
            above_floors[kept],
            (np.cumsum(is_short) - 1)[group[rises]],
            weight[rises],
            floor[rises],
            np.minimum(ceiling[rises], budget[group[rises]]),
        )
        deserved[rises], on_floor[rises] = filled
    return Filled(deserved, on_floor)


def largest_remainders(units: Ints, remainder: Ints, group: Ints) -> Flags:
    """Choose `units` entries of every group: the largest remainders first, the older entry among equals."""
    chosen = np.zeros(len(group), dtype=np.bool_)
    odd = np.flatnonzero((remainder > 0) & (units > 0)[group])
    if odd.size:
        smallest_first = group[odd] * (int(remainder.max()) + 1) - remainder[odd]
        order = odd[np.argsort(smallest_first, kind="stable")]
        chosen[order] = _place_in_group(group[order]) < units[group[order]]
    return chosen


def _fill(target: Ints, group: Ints, weight: Ints, floor: Ints, ceiling: Ints) -> Filled:
    """Fill groups whose target lies strictly between nothing and all that their entries can take."""
    level = _find_level(target, group, weight, floor, ceiling)
    rising = level.risen & ~level.topped  # [E]
    slope, whole = level.slope[group], (level.left // level.slope)[group]  # [E]
    part = (level.left % level.slope)[group] * weight  # [E] below 2^33 x 2^16
    even = (
        whole * weight + part // slope
    )  # [E] the level x weight, rounded down; wraps only where it is not used
    odd = np.where(rising, part % slope, 0)  # [E]
    deserved = np.where(rising, even, np.where(level.topped, ceiling, floor))
    spent = np.add.reduceat(deserved - floor, np.flatnonzero(np.diff(group, prepend=-1)))  # [G]
    deserved += largest_remainders(target - spent, odd, group)
    return Filled(deserved, ~level.risen | (rising & (even == floor) & (odd == 0)))


def _find_level(target: Ints, group: Ints, weight: Ints, floor: Ints, ceiling: Ints) -> _Level:
    """Walk the events of every group in order of their level until the target would be passed."""
    count = len(group)
    amount = np.concatenate([floor, ceiling])  # [V]
    weights, groups = np.tile(weight, 2), np.tile(group, 2)  # [V]
    order = _by_level(amount, weights, groups)
    amount, weights, groups = amount[order], weights[order], groups[order]
    turn = np.where(order < count, weights, -weights)  # [V] a floor adds to the slope, a ceiling takes away
    starts = np.flatnonzero(np.diff(groups, prepend=-1))  # [G]

    slope = _running_sum(turn, starts, groups)  # [V]
    fixed = _running_sum(np.where(order < count, -amount, amount), starts, groups)  # [V]
    whole = amount // weights
    filled = fixed + whole * slope - (-(amount - whole * weights) * slope // weights)  # [V] rounded up
    reached = filled <= target[groups]  # [V]
    if float(ceiling.max()) * count >= _SAFE:
        rough = _running_sum(np.where(order < count, -amount, amount).astype(np.float64), starts, groups)
        reached &= rough + amount / weights * slope < _FITS

    passed = np.add.reduceat(reached, starts, dtype=np.int64)  # [G]
    last = starts + passed - 1  # [G]
    happened = np.empty(2 * count, dtype=np.bool_)
    happened[order] = np.arange(2 * count) <= last[groups]
    return _Level(target - fixed[last], slope[last], happened[:count], happened[count:])


def _by_level(amount: Ints, weight: Ints, group: Ints) -> Ints:
    """Sort events by group, then by amount / weight, exactly.

    Floats nearly always do; where neighbours show that they did not, whole part and remainder decide:
    two remainders of weights below 2^16 differ by 2^-32 at least, which a float tells apart.
    """
    order = np.argsort(amount / weight)
    small = group.astype(np.uint16) if int(group[-1]) < 2**16 else group  # sorts in linear time
    order = order[np.argsort(small[order], kind="stable")]
    a, w, g = amount[order], weight[order], group[order]
    whole = a // w
    part = a - whole * w
    same, before, after = g[1:] == g[:-1], whole[:-1], whole[1:]
    swapped = (before > after) | ((before == after) & (part[:-1] * w[1:] > part[1:] * w[:-1]))
    if (same & swapped).any():
        order = np.lexsort((amount % weight / weight, amount // weight, group))
    return order


def _running_sum(values: NumbersT, starts: Ints, groups: Ints) -> NumbersT:
    sums = np.cumsum(values)
    before = sums[starts] - values[starts]  # [G]
    return sums - before[groups]


def _place_in_group(groups: Ints) -> Ints:
    """Number the entries of every group from 0; groups lie together."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.arange(len(groups)) - np.repeat(starts, np.diff(np.append(starts, len(groups))))
