"""Schedules of rigid jobs on equal processors, from the definitions: FCFS, and EASY backfill.

Nothing of Maar is used. Jobs are (submitted, processors, run time, estimate) in order of
submission; what is computed is when each starts. At a moment jobs end first, then jobs arrive, then
jobs are started.

FCFS: the first waiting job starts as soon as its processors are free; no job starts before one
submitted earlier. EASY (Lifka 1995): so does the first; another one may start before it if that
does not delay the first one's reservation, which is the earliest start that the estimates of the
running jobs allow. Whether it does is found by trying: the reservation with that job running is
compared with the one without. What has run for longer than its estimate is expected to end at once.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

RigidJob = tuple[float, int, float, float]  # submitted, processors, run time, estimate


class Running(NamedTuple):
    """A job that has been started."""

    processors: int
    ends: float
    expected_end: float


def fcfs(jobs: Sequence[RigidJob], processors: int) -> list[float]:
    """When every job starts without backfill."""
    return _starts(jobs, processors, backfills=False)


def easy(jobs: Sequence[RigidJob], processors: int) -> list[float]:
    """When every job starts with EASY backfill."""
    return _starts(jobs, processors, backfills=True)


def _starts(jobs: Sequence[RigidJob], processors: int, *, backfills: bool) -> list[float]:
    if any(needed > processors for _, needed, _, _ in jobs):
        raise ValueError("a job is larger than the machine")
    starts = [float("nan")] * len(jobs)
    coming, waiting, running = list(range(len(jobs))), list[int](), list[Running]()
    while coming or waiting:
        now = min([jobs[index][0] for index in coming[:1]] + [one.ends for one in running])
        running = [one for one in running if one.ends > now]
        while coming and jobs[coming[0]][0] <= now:
            waiting.append(coming.pop(0))
        for index in _startable(jobs, processors, waiting, running, now, backfills=backfills):
            _, needed, run_time, estimate = jobs[index]
            starts[index] = now
            waiting.remove(index)
            if run_time > 0:
                running.append(Running(needed, now + run_time, now + estimate))
    return starts


def _startable(
    jobs: Sequence[RigidJob],
    processors: int,
    waiting: Sequence[int],
    running: Sequence[Running],
    now: float,
    *,
    backfills: bool,
) -> list[int]:
    """The waiting jobs that start now, in order."""
    started, left, held = list[int](), list(waiting), list(running)

    def free() -> int:
        return processors - sum(one.processors for one in held)

    def start(index: int) -> None:
        _, needed, run_time, estimate = jobs[index]
        started.append(index)
        if run_time > 0:
            held.append(Running(needed, now + run_time, now + estimate))

    while left and jobs[left[0]][1] <= free():
        start(left.pop(0))
    if not left or not backfills:
        return started
    first = jobs[left[0]][1]
    for index in left[1:]:
        _, needed, run_time, estimate = jobs[index]
        if needed > free():
            continue
        with_it = [*held, Running(needed, now + run_time, now + estimate)]
        if _earliest(first, processors, with_it, now) <= _earliest(first, processors, held, now):
            start(index)
    return started


def _earliest(needed: int, processors: int, running: Iterable[Running], now: float) -> float:
    """When so many processors are free, if every job ends as expected."""
    listed = list(running)
    for time in sorted({now, *(max(now, one.expected_end) for one in listed)}):
        if processors - sum(one.processors for one in listed if max(now, one.expected_end) > time) >= needed:
            return time
    raise ValueError("a job is larger than the machine")
