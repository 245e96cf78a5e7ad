"""The jobs of a workload as columns, noted while they are submitted."""

from array import array
from collections.abc import Iterable, Iterator
from math import nan
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maar.core.simulation.group_times import GroupTimes
from maar.core.simulation.jobs import TraceJob

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SHORTEST_RUN_S: Final = 10.0  # shorter jobs count as this long, so that they do not decide every mean


class JobColumns(NamedTuple):
    """A row for every job, in order of submission; times in seconds, NaN: never, or not known."""

    job: list[str]
    namespace: list[str]
    queue: list[str]
    pods: Integers
    requests: dict[str, Integers]  # of one pod, in whole units
    submitted: Floats
    run_time: Floats
    estimate: Floats
    started: Floats  # the first time
    ended: Floats
    evictions: Integers  # of pods
    lost: Floats  # pod-seconds that evicted pods had run

    @property
    def wait(self) -> Floats:
        """Seconds from submission to the first start."""
        return self.started - self.submitted

    @property
    def response(self) -> Floats:
        """Seconds from submission to the end."""
        return self.ended - self.submitted

    @property
    def delay(self) -> Floats:
        """Seconds of the response in which a job got nowhere: it waited, or what it did was lost."""
        return np.maximum(0.0, self.response - self.run_time)

    @property
    def slowdown(self) -> Floats:
        """Bounded slowdown: max(1, response time / max(run time, 10 s))."""
        return np.maximum(1.0, self.response / np.maximum(self.run_time, SHORTEST_RUN_S))

    def total(self, resource: str) -> Integers:
        """What all pods of each job ask for."""
        of_pod = self.requests.get(resource)
        return self.pods * of_pod if of_pod is not None else np.zeros(len(self.job), np.int64)


class JobNotes:
    """Notes jobs as they come; what became of them is added at the end."""

    def __init__(self) -> None:
        self._name, self._namespace, self._queue = list[str](), list[str](), list[str]()
        self._names: dict[str, str] = {}  # so that equal names are kept once
        self._pods = array("q")
        self._requests: dict[str, array[int]] = {}
        self._run_time, self._estimate = array("d"), array("d")

    def __len__(self) -> int:
        return len(self._name)

    def noted(self, jobs: Iterable[TraceJob]) -> Iterator[TraceJob]:
        """Jobs as they are, each noted when it is asked for."""
        for job in jobs:
            self._name.append(job.name)
            self._namespace.append(self._names.setdefault(job.namespace, job.namespace))
            self._queue.append(self._names.setdefault(job.queue, job.queue))
            for name in job.requests.keys() - self._requests.keys():
                self._requests[name] = array("q", bytes(8 * len(self._pods)))
            for name, column in self._requests.items():
                column.append(job.requests.get(name, 0))
            self._pods.append(job.pods)
            self._run_time.append(job.run_time)
            self._estimate.append(nan if job.estimate is None else job.estimate)
            yield job

    def columns(self, times: GroupTimes) -> JobColumns:
        """The jobs that have come, with what became of them: groups are in the same order."""
        count = len(times.group)
        return JobColumns(
            self._name[:count],
            self._namespace[:count],
            self._queue[:count],
            np.array(self._pods[:count], np.int64),
            {name: np.array(column[:count], np.int64) for name, column in sorted(self._requests.items())},
            times.submitted,
            np.array(self._run_time[:count], np.float64),
            np.array(self._estimate[:count], np.float64),
            times.started,
            times.ended,
            times.evictions,
            times.wasted,
        )
