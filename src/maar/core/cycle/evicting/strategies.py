"""The laws by which a unit may be evicted, each a function of what it compares.

Shares are floats, and a law holds or not by which of two is the larger. So what a share is of, and
at which time, is part of its type: arguments that are exchanged do not type-check.
docs/specification/eviction.md says what is right, and `attempt.py` how victims are sought.
"""

from collections.abc import Collection
from typing import NewType

from maar.core.tables.rows import Column

ShareBefore = NewType("ShareBefore", float)  # of the beneficiary's side, before the first eviction
ShareLeft = NewType("ShareLeft", float)  # of the victim's side, once the unit is gone
VictimPriority = NewType("VictimPriority", int)
OwnPriority = NewType("OwnPriority", int)  # of the beneficiary


def is_overused(used: Column, *, deserved: Column, resources: Collection[int]) -> bool:
    """Reclaim, before each unit: a queue uses more than it deserves of a resource that is wanted."""
    for resource in resources:  # noqa: SIM110 (it is asked for every unit)
        if used[resource] > deserved[resource]:
            return True
    return False


def keeps_guarantee(left: Column, *, guarantee: Column, lost: Collection[int]) -> bool:
    """Reclaim: a queue that loses a unit still uses what is guaranteed to it."""
    return all(guarantee[resource] == 0 or left[resource] >= guarantee[resource] for resource in lost)


def stays_better_off(victim: ShareLeft, mine: ShareBefore) -> bool:
    """Reclaim and preempt: the side that pays stays strictly above where the beneficiary's was.

    So the worse off of the two rises with every eviction, and no circle of evictions can close.
    """
    return victim > mine


def is_less_important(victim: VictimPriority, mine: OwnPriority) -> bool:
    """Preempt by priority, inside a namespace."""
    return victim < mine


def is_no_more_important(victim: VictimPriority, mine: OwnPriority) -> bool:
    """Preempt by fairness, from another namespace."""
    return victim <= mine
