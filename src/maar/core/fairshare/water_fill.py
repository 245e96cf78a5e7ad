"""Weighted max-min fairness with floors and ceilings: many groups of siblings at once, exact in 64 bits.

The problem. A parent queue has a budget of one resource. Each child has a weight, a floor (its
guarantee) and a ceiling (what it can use). Wanted is one level for all children of the parent, such
that each gets clamp(level x weight, floor, ceiling) and together they get the whole budget, or all
their ceilings where the budget is more than those.

How it works. What the children get beyond their floors grows with the level. It is a sum of straight lines,
and its slope changes only at events: a child starts to rise at floor / weight, and stops at ceiling / weight.
The events of a group are sorted by their level. Running sums over them give, at every event, the slope (the
weights of the children that rise) and the part that no longer depends on the level (`fixed`). The last event
that the budget reaches determines the level: (target - fixed) / slope, a fraction of two integers. Shares are
rounded down; the units that are left over go to the largest remainders, the older child among equals.

One entry is one child for one resource; the entries of a group lie together, the older child first.
One call handles all groups of one level of the tree, for all resources. Axis letters: E entries, G
groups, V events.

Floors are found in the same way, where queues have soft guarantees: with these as weights, from the
guarantees up to what the soft guarantees come to if all of them hold. The level is then the part of
the soft guarantees that holds, at most 1.

Invariants.
- Every entry gets at least its floor and at most its ceiling.
- A group gets the smaller of its budget and the sum of its ceilings, to the unit. The caller has
  scaled the floors down (`scale_down`), so that the floors of a group are within its budget.
- No share differs from clamp(level x weight, floor, ceiling) by a whole unit or more.
- Weights are below 2^22, siblings fewer than 2^19 and amounts below 2^62. A remainder is below the sum of
  the weights of a group, so that products of remainders and weights fit in 64 bits (19 + 22 + 22). Sums may
  wrap around; they are right again wherever the true value fits, and a float shows whether it does. Amounts
  as weights may be larger: then the same arithmetic runs on Python's integers, which have as many bits as
  they need.

Complexity. O(V log V) for sorting the events, V at most 2 E; everything else is linear. An entry
without a floor rises from the start and has one event.

Why not otherwise? Sharing out by weight, removing the children that have enough and repeating until
nothing changes, as Volcano does, needs a tolerance, and the result depends on it. The level in
floating point would lose or invent units. `Fraction` is exact, and thousands of times slower: the
tests compare with it. Decision records 6 and 47.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
NumbersT = TypeVar("NumbersT", Ints, Floats)

WEIGHTS_BELOW: Final = 2**22  # exact arithmetic in 64 bits depends on it; larger ones take more bits

# Sums wrap around in 64 bits and are right again where the true value fits. A float shows whether it
# does: budgets stay below 2^62, so a sum that is certainly more than a budget need not fit.
_SAFE: Final = 2**62
_FITS: Final = 1.5 * _SAFE
_SMALL: Final = 2**30  # numbers whose product fits in 64 bits with room to spare


@dataclass(frozen=True, eq=False)
class Groups:
    """How entries lie together in groups."""

    starts: Ints  # [G] the first entry of every group
    of: Ints  # [E] the group of every entry

    @classmethod
    def starting_at(cls, starts: Ints, entries: int) -> "Groups":
        """Lay out groups that begin at these entries; none is empty."""
        sizes = np.diff(starts, append=entries)
        return cls(starts, np.repeat(np.arange(len(starts)), sizes))

    @classmethod
    def by_number(cls, of: Ints) -> "Groups":
        """Take groups from their numbers, which run from 0 upwards without a gap."""
        return cls(np.flatnonzero(np.diff(of, prepend=-1)), of)

    def sums(self, values: Ints) -> Ints:
        """Add up every group; a sum that is more than any budget counts as 2^62. [E] -> [G]"""
        if len(self.starts) == len(values):
            return values
        sums = np.add.reduceat(values, self.starts)
        if values.size and int(values.max()) * values.size >= _SAFE:
            rough = np.add.reduceat(values.astype(np.float64), self.starts)  # [G]
            sums[(rough > _FITS) | (sums > _SAFE)] = _SAFE
        return sums

    def running_sums(self, values: NumbersT) -> NumbersT:
        """Add up every group from its first entry on. [E] -> [E]"""
        sums = np.cumsum(values)
        before = sums[self.starts] - values[self.starts]  # [G]
        return sums - before[self.of]


class Filled(NamedTuple):
    """What every entry gets, and whether the water level is at or below its floor."""

    deserved: Ints  # [E]
    on_floor: Flags  # [E]


def water_fill(budget: Ints, weight: Ints, floor: Ints, ceiling: Ints, groups: Groups) -> Filled:
    """Raise one level per group until its budget is spent or every entry is at its ceiling.

    Every entry gets clamp(level x weight, floor, ceiling); a group's floors are within its budget.
    What whole units cannot share evenly goes to the largest remainders, the older entry first.
    """
    to_share = budget - groups.sums(floor)  # [G] above the floors
    is_dry = to_share <= 0  # [G]
    is_short = (groups.sums(ceiling) > budget) & ~is_dry  # [G]
    on_floor = is_dry[groups.of]  # [E]
    deserved = np.where(on_floor, floor, ceiling)  # [E]
    if is_short.any():
        entries = np.flatnonzero(is_short[groups.of] & (floor < ceiling))
        group = groups.of[entries]
        short = Groups.by_number((np.cumsum(is_short) - 1)[group])
        weights = weight[entries]
        numbers = object if int(weights.max()) >= WEIGHTS_BELOW else np.int64  # Python's integers where large
        filled = _fill(
            to_share[is_short].astype(numbers, copy=False),
            weights.astype(numbers, copy=False),
            floor[entries].astype(numbers, copy=False),
            np.minimum(ceiling[entries], budget[group] + 1).astype(numbers, copy=False),  # keeps sums small
            short,
        )
        deserved[entries], on_floor[entries] = filled
    return Filled(deserved, on_floor)


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


def largest_remainders(units: Ints, remainder: Ints, group: Ints) -> Flags:
    """Choose `units` entries of every group: the largest remainders first, the older entry among equals."""
    chosen = np.zeros(len(group), dtype=np.bool_)
    odd = np.flatnonzero((remainder > 0) & (units > 0)[group])
    if odd.size:
        largest_first = group[odd] * (int(remainder.max()) + 1) - remainder[odd]
        order = odd[np.argsort(largest_first, kind="stable")]
        group = group[order]
        first = np.flatnonzero(np.diff(group, prepend=-1))
        place = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
        chosen[order] = place < units[group]
    return chosen


def _fill(target: Ints, weight: Ints, floor: Ints, ceiling: Ints, groups: Groups) -> Filled:
    """Fill groups whose target is more than nothing and less than all that their entries can get."""
    if len(groups.starts) == len(groups.of):  # one of each rises, and has it all: where one queue asks
        return Filled(floor + target, np.zeros(len(floor), np.bool_))
    level = _find_level(target, weight, floor, ceiling, groups)
    rising = level.risen & ~level.topped  # [E]
    slope, whole = level.slope[groups.of], (level.left // level.slope)[groups.of]  # [E]
    part = (level.left % level.slope)[groups.of] * weight  # [E] below 2^41 x 2^22
    extra = part // slope
    even = whole * weight + extra  # [E] level x weight, rounded down; it wraps only where it is not used
    odd = np.where(rising, part - extra * slope, 0)  # [E]
    odd = _ranks(odd) if odd.dtype == object else odd
    deserved = np.where(rising, even, np.where(level.topped, ceiling, floor))
    spent = np.add.reduceat(deserved - floor, groups.starts)  # [G]
    deserved += largest_remainders(target - spent, odd, groups.of)
    return Filled(deserved, ~level.risen | (rising & (even == floor) & (odd == 0)))


class _Level(NamedTuple):
    """The water level of every group as an exact fraction, and which entries rise or have stopped."""

    left: Ints  # [G] what the rising entries share
    slope: Ints  # [G] their weights together; left / slope is the level
    risen: Flags  # [E]
    topped: Flags  # [E]


def _find_level(target: Ints, weight: Ints, floor: Ints, ceiling: Ints, groups: Groups) -> _Level:
    """Walk the events of every group in order of their level until the target would be passed.

    An entry without a floor rises from the start and needs no event for it.
    """
    count = len(weight)
    from_start = floor == 0  # [E]
    later = np.flatnonzero(~from_start)
    entry = np.concatenate([later, np.arange(count)])  # [V]
    amount = np.concatenate([floor[later], ceiling])  # [V]
    events = _in_order(amount, weight[entry], groups.of[entry])

    is_rise = events.order < len(later)  # [V]
    first_slope = np.add.reduceat(np.where(from_start, weight, 0), groups.starts)  # [G]
    slope = (
        events.groups.running_sums(np.where(is_rise, events.weight, -events.weight))
        + first_slope[events.groups.of]
    )
    change = np.where(is_rise, -events.amount, events.amount)
    fixed = events.groups.running_sums(change)  # [V] what no longer depends on the level
    filled = fixed + events.whole * slope - (-events.part * slope // events.weight)  # [V] rounded up
    reached = filled <= target[events.groups.of]  # [V]
    if int(ceiling.max()) * count >= _SAFE:
        rough = events.groups.running_sums(change.astype(np.float64)) + events.amount / events.weight * slope
        reached &= rough < _FITS

    passed = np.add.reduceat(reached, events.groups.starts, dtype=np.int64)  # [G]
    last = events.groups.starts + passed - 1  # [G]
    started = passed > 0
    left = target - np.where(started, fixed[last], 0)
    happened = np.empty(len(entry), dtype=np.bool_)
    happened[events.order] = np.arange(len(entry)) <= last[events.groups.of]
    risen = from_start
    risen[later] = happened[: len(later)]
    return _Level(left, np.where(started, slope[last], first_slope), risen, happened[len(later) :])


class _Events(NamedTuple):
    """Events sorted by group, then by level; whole + part / weight is the level."""

    order: npt.NDArray[np.intp]  # [V]
    amount: Ints
    weight: Ints
    whole: Ints
    part: Ints
    groups: Groups


def _in_order(amount: Ints, weight: Ints, group: Ints) -> _Events:
    """Sort events by group, then by amount / weight, exactly.

    Sorting floats is nearly always right. Where two neighbours are in the wrong order, all events are sorted
    again by whole part and remainder: two remainders of weights below 2^22 differ by 2^-44 at least, which
    floats distinguish.
    """
    order = np.argsort(np.asarray(amount / weight, np.float64))
    small = group.astype(np.uint16) if int(group[-1]) < 2**16 else group  # sorts in linear time
    order = order[np.argsort(small[order], kind="stable")]
    events = _sorted(order, amount, weight, group)
    before, after = events.whole[:-1], events.whole[1:]
    cross = events.part[:-1] * events.weight[1:] > events.part[1:] * events.weight[:-1]
    swapped = (before > after) | ((before == after) & cross)
    if (swapped & (events.groups.of[1:] == events.groups.of[:-1])).any():
        return _sorted(_exact_order(amount, weight, group), amount, weight, group)
    return events


def _exact_order(amount: Ints, weight: Ints, group: Ints) -> npt.NDArray[np.intp]:
    if weight.dtype != object:
        return np.lexsort((amount % weight / weight, amount // weight, group))
    levels = [Fraction(*one) for one in zip(amount, weight, strict=True)]
    return np.array(sorted(range(len(levels)), key=lambda one: (group[one], levels[one])), np.intp)


def _sorted(order: npt.NDArray[np.intp], amount: Ints, weight: Ints, group: Ints) -> _Events:
    amount, weight = amount[order], weight[order]
    whole = amount // weight
    return _Events(order, amount, weight, whole, amount - whole * weight, Groups.by_number(group[order]))
