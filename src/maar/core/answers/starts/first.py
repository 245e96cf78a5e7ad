"""Of how many waiting jobs of each queue a what-if compares planned starts, where nobody says so."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from maar.core.model.metadata import Object
from maar.core.model.pod_group import PodGroup

STARTS: Final = 10
MANY: Final = 1_000  # waiting pod groups, with which it takes long to work all starts out


def count_waiting(objects: Iterable[Object]) -> int:
    """How many pod groups have not started."""
    return sum(isinstance(one, PodGroup) and one.status.is_waiting for one in objects)


class FirstStarts(NamedTuple):
    """How many are compared, and what to say where that is none."""

    number: int
    note: str = ""


def first_starts(objects: Iterable[Object]) -> FirstStarts:
    """Compare some, or none where many wait."""
    waiting = count_waiting(objects)
    if waiting <= MANY:
        return FirstStarts(STARTS)
    return FirstStarts(0, f"{waiting:,} pod groups wait, and planned starts are left out")
