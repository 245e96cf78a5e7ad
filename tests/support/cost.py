"""What work costs beside other work of the same test: a slow or busy machine is so for both."""

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Self


@dataclass(frozen=True, order=True)
class Cost:
    """Time of the processor. It is compared with another cost only: seconds depend on the machine."""

    _seconds: float = 0.0

    def __add__(self, other: Self) -> "Cost":
        """What both cost together."""
        return Cost(self._seconds + other._seconds)

    def __mul__(self, factor: float) -> "Cost":
        """What so many of it cost."""
        return Cost(self._seconds * factor)

    __rmul__ = __mul__

    def times(self, other: Self) -> float:
        """How many times the other it is."""
        return self._seconds / other._seconds


class Measured:
    """`with Measured() as measured:`, then `measured.cost`."""

    cost = Cost()

    def __enter__(self) -> Self:
        self._begin = process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.cost = Cost(process_time() - self._begin)


def cost_of(work: Callable[[], object], tries: int = 1) -> Cost:
    """What it costs, at least: the cheapest of some tries."""
    costs = list[Cost]()
    for _ in range(tries):
        with Measured() as measured:
            work()
        costs.append(measured.cost)
    return min(costs)
