"""The pod groups of a recording as jobs of a simulation: the same work under other rules."""

from collections.abc import Iterable, Iterator, Sequence
from math import nan

import numpy as np

from maar.core.model.metadata import Object
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.run_time import EXPECTED_RUN_TIME, stated_seconds
from maar.core.simulation.group_times import GroupTimes
from maar.core.simulation.job_columns import JobColumns
from maar.core.simulation.virtual_time import Arrival
from maar.core.traces.recordings import RecordedWorkload


class _Noted:
    """What is known of a group by its pods."""

    def __init__(self) -> None:
        self.queue, self.pods, self.requests = "", 0, dict[str, int]()
        self.run_time, self.estimate = nan, nan


class RecordedJobs:
    """What a recording has, with other queues where some are given."""

    def __init__(self, workload: RecordedWorkload, queues: Sequence[Queue] = ()) -> None:
        self._workload, self._replaces_queues = workload, bool(queues)
        self.start, self.run_time = workload.start, workload.run_time
        self._noted: dict[str, _Noted] = {}
        self.objects: list[Object] = [*queues, *self._seen(workload.objects)]
        self.queues = [one for one in self.objects if isinstance(one, Queue)]

    def __len__(self) -> int:
        return len(self._noted)

    def arrivals(self) -> Iterator[Arrival]:
        """Groups and pods as they were submitted."""
        for one in self._workload.arrivals():
            yield one._replace(objects=list(self._seen(one.objects)))

    def _seen(self, objects: Iterable[Object]) -> Iterator[Object]:
        for one in objects:
            if isinstance(one, Queue) and self._replaces_queues:
                continue
            if isinstance(one, PodGroup):
                self._noted.setdefault(one.key, _Noted()).queue = one.spec.queue
            elif isinstance(one, Pod) and (name := one.metadata.annotations.get(GROUP_ANNOTATION)):
                self._note(self._noted.setdefault(f"{one.metadata.namespace}/{name}", _Noted()), one)
            yield one

    def _note(self, noted: _Noted, pod: Pod) -> None:
        noted.pods += 1
        for name, amount in pod.request.items():
            noted.requests[name] = noted.requests.get(name, 0) + amount
        run_time = self._workload.run_time(pod)
        noted.run_time = max(0.0 if noted.run_time != noted.run_time else noted.run_time, run_time or 0.0)
        stated = stated_seconds(pod.metadata.annotations, EXPECTED_RUN_TIME)
        noted.estimate = nan if stated is None else stated

    def columns(self, times: GroupTimes) -> JobColumns:
        """The groups that have come; what their pods ask for is the mean of all."""
        noted = [self._noted.get(key) or _Noted() for key in times.group]
        names = sorted({name for one in noted for name in one.requests} - {"pods"})
        return JobColumns(
            [key.partition("/")[2] for key in times.group],
            [key.partition("/")[0] for key in times.group],
            times.queue,
            times.pods,
            {
                name: np.array([one.requests.get(name, 0) // max(1, one.pods) for one in noted], np.int64)
                for name in names
            },
            times.submitted,
            np.array([one.run_time for one in noted], np.float64),
            np.array([one.estimate for one in noted], np.float64),
            times.started,
            times.ended,
            times.evictions,
            times.wasted,
        )
