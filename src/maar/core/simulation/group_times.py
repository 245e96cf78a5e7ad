"""What became of every pod group in a simulation, as columns."""

from math import nan
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NEVER: Final = nan


class GroupTimes(NamedTuple):
    """A row for every group, in the order in which they were submitted; times in seconds, NaN: never."""

    group: list[str]
    queue: list[str]
    pods: NDArray[np.int64]  # at most, at one time
    submitted: Floats
    admitted: Floats
    started: Floats  # the first time that it was ready
    ended: Floats  # all its pods had
    evictions: NDArray[np.int64]  # of pods
    wasted: Floats  # pod-seconds that evicted pods had run


class GroupLog:
    """The columns while they grow; a group is known by its key until it is closed."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._group, self._queue, self._pods = list[str](), list[str](), list[int]()
        self._submitted, self._admitted = list[float](), list[float]()
        self._started, self._ended = list[float](), list[float]()
        self._evictions, self._wasted = list[int](), list[float]()

    def submit(self, key: str, queue: str, time: float) -> None:
        """A group has come, or has been changed."""
        if key in self._rows:
            return
        self._rows[key] = len(self._group)
        self._group.append(key)
        self._queue.append(queue)
        self._submitted.append(time)
        for column in (self._admitted, self._started, self._ended):
            column.append(_NEVER)
        self._pods.append(0)
        self._evictions.append(0)
        self._wasted.append(0.0)

    def count_pods(self, key: str, pods: int) -> None:
        """A group has so many pods now."""
        if (row := self._rows.get(key)) is not None:
            self._pods[row] = max(self._pods[row], pods)

    def admit(self, key: str, time: float) -> None:
        """A group has been let in; only the first time counts."""
        _first(self._admitted, self._rows.get(key), time)

    def start(self, key: str, time: float) -> None:
        """A group has become ready; only the first time counts."""
        _first(self._started, self._rows.get(key), time)

    def evict(self, key: str, ran: float) -> None:
        """A pod of a group has been evicted after it ran for so long."""
        if (row := self._rows.get(key)) is not None:
            self._evictions[row] += 1
            self._wasted[row] += ran

    def close(self, key: str, time: float) -> None:
        """A group has ended; another one may have its name from now on."""
        _first(self._ended, self._rows.pop(key, None), time)

    def columns(self) -> GroupTimes:
        """The columns as they are now."""
        return GroupTimes(
            list(self._group),
            list(self._queue),
            np.array(self._pods, np.int64),
            np.array(self._submitted, np.float64),
            np.array(self._admitted, np.float64),
            np.array(self._started, np.float64),
            np.array(self._ended, np.float64),
            np.array(self._evictions, np.int64),
            np.array(self._wasted, np.float64),
        )


def _first(column: list[float], row: int | None, time: float) -> None:
    if row is not None and column[row] != column[row]:
        column[row] = time
