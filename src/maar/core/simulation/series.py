"""What is seen over time while a simulation runs, in bounded memory.

The problem. Between moments nothing changes, so that everything seen is a step function of time. A
month of jobs has hundreds of thousands of steps, for every queue and resource; a plot has a
thousand points.

How it works. Time is cut into intervals of equal length, at most `MOST_INTERVALS`. Each keeps the
integral of every value over the time in it, so that means are exact, however many steps an interval
has. When the last interval is full, neighbours are added to each other, and intervals are twice as
long from then on: memory is bounded, whatever the length of the simulation, and nothing has to be
known in advance.

Beside the intervals there are two integrals over everything: of all time, and of the time in which
some pod waited. The second is the time in which there was enough work.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maar.core.model.plan import Plan
from maar.core.model.queue import ROOT
from maar.core.model.resources import PODS
from maar.core.simulation.virtual_time import Simulation

Floats = NDArray[np.float64]

MOST_INTERVALS: Final = 2048
_MOST_NUMBERS: Final = 8_000_000  # in all intervals together; with thousands of queues there are fewer
_FEWEST_INTERVALS: Final = 64
_LEFT_OUT: Final = frozenset({PODS, "ephemeral-storage"})
_WAITING: Final = 0


class QueueSeries(NamedTuple):
    """Of a leaf queue, for each resource [R, T]."""

    used: Floats
    deserved: Floats
    error: Floats  # the mean of what is used more or less than deserved, at every time


class Integrals(NamedTuple):
    """Sums of amount x seconds [R], and the seconds."""

    seconds: float
    allocatable: Floats
    used: Floats
    by_queue: dict[str, QueueSeries]  # [R]


class Series(NamedTuple):
    """Means over intervals of time; amounts in whole units, as everywhere."""

    resources: tuple[str, ...]
    begins: Floats  # [T]
    seconds: Floats  # [T] the length of each; the last may be shorter
    waiting: Floats  # [T] pods without a node
    evictions: Floats  # [T] pods, how many in all
    allocatable: Floats  # [R, T]
    used: Floats  # [R, T]
    by_queue: dict[str, QueueSeries]
    of_all_time: Integrals
    of_enough_work: Integrals  # while some pod waited


class SeriesRecorder:
    """Sees a simulation at every moment; rows of values, columns of intervals."""

    def __init__(self, start: float, most_intervals: int = MOST_INTERVALS) -> None:
        self._start = self._since = start
        self._most = most_intervals
        self._width = 1.0
        self._resources: tuple[str, ...] = ()
        self._queues: dict[str, int] = {}  # the first row of each
        self._now: Floats = np.zeros(1)  # [V] the values that hold
        self._sums: Floats = np.zeros((1, most_intervals))  # [V, T]
        self._evictions: Floats = np.zeros(most_intervals)
        self._all: Floats = np.zeros(1)
        self._enough: Floats = np.zeros(1)
        self._enough_s = 0.0

    def observe(self, simulation: Simulation, plan: Plan) -> None:
        """See how things are after a decision that has been carried out."""
        self.pass_time(simulation.time)
        if plan.evictions:
            self._evictions[self._interval(simulation.time)] += len(plan.evictions)
        root = plan.queues[ROOT]
        if not self._resources:
            self._resources = tuple(name for name in root.real_capability if name not in _LEFT_OUT)
            self._grow(1 + 2 * len(self._resources))
        leaves = plan.queues.keys() - {one.parent for one in plan.queues.values()} - {ROOT}
        if not leaves <= self._queues.keys():
            self._add_queues(sorted(leaves - self._queues.keys()))
        self._see(simulation, plan)

    def pass_time(self, now: float) -> None:
        """Count what has held until now."""
        begin, self._since = self._since, max(self._since, now)
        seconds = self._since - begin
        if seconds <= 0:
            return
        self._all += self._now * seconds
        if self._now[_WAITING]:
            self._enough += self._now * seconds
            self._enough_s += seconds
        first, last = self._interval(begin, is_end=False), self._interval(self._since)
        first = self._interval(begin, is_end=False)  # intervals may be longer now
        if first == last:
            self._sums[:, first] += self._now * seconds
            return
        of_first = self._start + (first + 1) * self._width - begin
        of_last = self._since - (self._start + last * self._width)
        self._sums[:, first] += self._now * of_first
        self._sums[:, first + 1 : last] += (self._now * self._width)[:, None]
        self._sums[:, last] += self._now * of_last

    def series(self) -> Series:
        """The means until now, of queues that used or deserved something."""
        length, kept = self._since - self._start, self._interval(self._since) + 1
        begins: Floats = self._start + np.arange(kept, dtype=np.float64) * self._width  # [T]
        seconds = np.minimum(self._width, self._start + length - begins)
        if kept > 1 and seconds[-1] <= 0 and not self._evictions[kept - 1]:
            begins, seconds, kept = begins[:-1], seconds[:-1], kept - 1
        means = self._sums[:, :kept] / np.maximum(seconds, 1e-9)  # [V, T]
        count = len(self._resources)
        shown = [name for name, row in self._queues.items() if self._all[row : row + 2 * count].any()]
        return Series(
            self._resources, begins, seconds, means[_WAITING], self._evictions[:kept].copy(),
            means[1 : 1 + count], means[1 + count : 1 + 2 * count],
            {name: self._of_queue(means, name) for name in shown},
            self._integrals(length, self._all, shown),
            self._integrals(self._enough_s, self._enough, shown),
        )  # fmt: skip

    def _see(self, simulation: Simulation, plan: Plan) -> None:
        """The values from now on: what is used is read after the plan has been carried out."""
        tables, count = simulation.engine.tables, len(self._resources)
        indices = [tables.axis.names.index(name) for name in self._resources]
        values, total = [0.0] * len(self._now), plan.queues[ROOT].real_capability
        values[_WAITING] = simulation.waiting
        for place, name in enumerate(self._resources, start=1):
            values[place] = total.get(name, 0)
        for queue, first in self._queues.items():
            row, standing = tables.queues.get(queue), plan.queues.get(queue)
            if row is None or standing is None:
                continue
            column, deserved = row.status_used, standing.deserved
            for place, (index, name) in enumerate(zip(indices, self._resources, strict=True)):
                used, due = column[index] if index < len(column) else 0, deserved.get(name, 0)
                values[1 + count + place] += used
                values[first + place], values[first + count + place] = used, due
                values[first + 2 * count + place] = abs(used - due)
        self._now = np.array(values, np.float64)

    def _interval(self, time: float, *, is_end: bool = True) -> int:
        """The interval of a time; one that ends then, too, where it is an end."""
        passed = time - self._start
        while passed > self._width * self._most:
            half = self._most // 2
            self._sums[:, :half] = self._sums[:, 0::2] + self._sums[:, 1::2]
            self._sums[:, half:] = 0.0
            self._evictions[:half] = self._evictions[0::2] + self._evictions[1::2]
            self._evictions[half:] = 0.0
            self._width *= 2.0
        index = int(passed // self._width)
        is_bound = index * self._width == passed
        return min(self._most - 1, index - (is_end and is_bound and index > 0))

    def _add_queues(self, names: Iterable[str]) -> None:
        for name in names:
            self._queues[name] = len(self._now)
            self._grow(len(self._now) + 3 * len(self._resources))
        while self._sums.size > _MOST_NUMBERS and self._most > _FEWEST_INTERVALS:
            end, half = self._start + self._most * self._width, self._most // 2
            self._interval(end + self._width)
            self._most, self._sums, self._evictions = half, self._sums[:, :half], self._evictions[:half]

    def _grow(self, rows: int) -> None:
        more = rows - len(self._now)
        self._now, self._all, self._enough = (
            np.pad(one, (0, more)) for one in (self._now, self._all, self._enough)
        )
        self._sums = np.pad(self._sums, ((0, more), (0, 0)))

    def _of_queue(self, values: Floats, name: str) -> QueueSeries:
        first, count = self._queues[name], len(self._resources)
        return QueueSeries(*(values[first + part * count : first + (part + 1) * count] for part in range(3)))

    def _integrals(self, seconds: float, values: Floats, queues: Iterable[str]) -> Integrals:
        count = len(self._resources)
        return Integrals(
            seconds,
            values[1 : 1 + count],
            values[1 + count : 1 + 2 * count],
            {name: self._of_queue(values, name) for name in queues},
        )
