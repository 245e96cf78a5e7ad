"""When running pods are expected to end: from what is stated of them, else from earlier pods like them."""

import re
from collections import defaultdict
from functools import cached_property
from statistics import median
from typing import Final, Literal, NamedTuple

from maar.core.tables.rows import PodRow
from maar.core.tables.tables import Tables

_ENOUGH: Final = 3  # pods that a median is taken of
_NUMBERED: Final = re.compile(r"(?:-[a-z0-9]*[0-9][a-z0-9]*)+$")  # train-17, train-28439520-x7k2p

# What an expected run time follows from: an annotation or `runningEstimate`, the time after which the pod is
# ended, or how long earlier pods like it have run.
RunTimeSource = Literal["stated", "deadline", "median"]
Work = tuple[str, str, str]  # a namespace, the name of an owner or its stem, and a task


class ExpectedRunTime(NamedTuple):
    """How long a pod runs from its start, and what says so."""

    seconds: float
    source: RunTimeSource


class RunTimes:
    """Expected run times, in seconds; earlier pods are looked at when nothing is stated of one."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._medians: dict[tuple[str, str, str], float | None] = {}

    def expected(self, pod: PodRow) -> float | None:
        """How long a pod runs from its start; None where nobody knows."""
        found = self.with_source(pod)
        return None if found is None else found.seconds

    def with_source(self, pod: PodRow) -> ExpectedRunTime | None:
        """How long a pod runs from its start, and what says so; None where nobody knows.

        What is stated of a pod or its group comes first, then the time after which it is ended, then the
        median of earlier pods of its owner, or of the same task of jobs whose names differ in a number.
        """
        if pod.stated_run_time is not None:
            return ExpectedRunTime(pod.stated_run_time, "stated")
        if pod.group is not None and pod.group.stated_run_time is not None:
            return ExpectedRunTime(pod.group.stated_run_time, "stated")
        if pod.longest_run_time is not None:
            return ExpectedRunTime(pod.longest_run_time, "deadline")
        earlier = self._of_others(pod) if pod.owner and self._finished else None
        return None if earlier is None else ExpectedRunTime(earlier, "median")

    def end(self, pod: PodRow, now: float) -> float | None:
        """When a pod that is on a node ends; None where it is overdue or nobody knows.

        One that was bound and has not been seen to start is starting now.
        """
        expected = self.expected(pod)
        if expected is None:
            return None
        end = time_after(now if pod.started is None else pod.started, expected)
        return end if end > now else None

    def _of_others(self, pod: PodRow) -> float | None:
        key = (pod.namespace, pod.owner, pod.task)
        if key not in self._medians:
            same_owner = self._finished.get((pod.namespace, pod.owner, ""), [])
            same_work = self._finished.get((pod.namespace, stem(pod.owner) + "-", pod.task), [])
            known = same_owner if len(same_owner) >= _ENOUGH else same_work
            self._medians[key] = median(known) if len(known) >= _ENOUGH else None
        return self._medians[key]

    @cached_property
    def _finished(self) -> dict[Work, list[float]]:
        """How long finished pods have run: by owner, and by the stem of its name and their task."""
        found: dict[Work, list[float]] = defaultdict(list)
        for pod in self._tables.pods.values():
            if pod.ran_for is not None and pod.owner:
                found[pod.namespace, pod.owner, ""].append(pod.ran_for)
                found[pod.namespace, stem(pod.owner) + "-", pod.task].append(pod.ran_for)
        return found


def time_after(start: float, seconds: float) -> float:
    """The time so long after another, in whole microseconds.

    Pods that end at the same moment have started at different ones, and the sums differ in their last digits.
    """
    return round(start + seconds, 6)


def stem(name: str) -> str:
    """The name of a job without the numbers and random letters at its end."""
    return _NUMBERED.sub("", name) or name
