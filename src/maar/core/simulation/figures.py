"""The figures of a simulation: what evaluations of schedulers print.

Everything is computed from two things: the columns of the jobs, and what was seen over time. The
definitions:

- makespan: from the first submission to the last end.
- utilisation: used / allocatable, by resource; over all time, and over the time in which there was
  enough work, which is while some pod waited. What evicted pods had used counts too, though it is
  lost.
- wait: from submission to the first start. Jobs that never started have none, and are counted.
- total delay: response time less run time, where the response time is from submission to the end.
  It is the wait, and with evictions also the waits for further starts and the runs that were lost.
- bounded slowdown: max(1, response time / max(run time, 10 s)). A job that was evicted has waited
  again since its first start, so the wait alone would make policies that evict look better than
  they are.
- share error of a queue: the time-weighted mean of |used - deserved|, as a part of what the cluster
  has. What a queue deserves never exceeds what it asks for; the error is what it lacks, or has on
  loan.
- work lost: what evicted pods had run for, times what they ask for.
- Jain's index: (sum x)^2 / (n sum x^2) of x = used / weight over the queues that jobs were
  submitted to, where used is the mean while some pod waited, and weight the part of the cluster
  that the weights from the root down give. It is 1 where all have the same per weight, and 1/n
  where one has everything.
"""

from collections.abc import Iterable, Mapping
from math import ceil, nan
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maar.core.model.queue import ROOT, Queue
from maar.core.model.resources import CPU, MEMORY, units_in_one
from maar.core.simulation.job_columns import Floats, JobColumns
from maar.core.simulation.series import Integrals, Series

_TIMES_LARGER: Final = 4  # a class of sizes than the one before
_ORDER: Final = {CPU: 1, MEMORY: 2}  # of what a job's size is counted in: GPUs and the like come first


class Distribution(NamedTuple):
    """How values are spread; NaN where there are none."""

    number: int
    mean: float
    p25: float
    p50: float
    p75: float
    p95: float
    p99: float
    largest: float


class QueueFigures(NamedTuple):
    """What became of the jobs of a queue."""

    jobs: int
    wait: Distribution
    delay: Distribution
    slowdown: Distribution
    evictions: int  # of pods
    lost: float  # work, in units of the main resource x hours
    share_error: dict[str, float]  # by resource, as a part of the cluster


class Figures(NamedTuple):
    """What became of a workload."""

    main_resource: str  # that sizes and work are counted in
    jobs: int
    started: int
    ended: int
    makespan: float  # seconds
    utilisation: dict[str, float]  # by resource
    busy_utilisation: dict[str, float]  # while some pod waited; NaN where none did
    busy_seconds: float
    wait: Distribution
    delay: Distribution
    response: Distribution
    slowdown: Distribution
    wait_by_size: dict[str, Distribution]
    delay_by_size: dict[str, Distribution]
    slowdown_by_size: dict[str, Distribution]
    by_queue: dict[str, QueueFigures]
    share_error: dict[str, float]  # by resource: half the sum over queues; none with one
    evictions: int  # of pods
    evicted_jobs: int
    lost: float  # work, in units of the main resource x hours
    lost_part: float  # of all work done
    jain: float  # NaN with fewer than two queues


def figures_of(jobs: JobColumns, series: Series, queues: Iterable[Queue]) -> Figures:
    """Work out the figures of a simulation."""
    main = main_resource(jobs)
    lost = jobs.lost * _of_pod(jobs, main)  # unit-seconds
    names = np.array(jobs.queue, dtype=object)
    classes = size_classes(jobs, main, _machine(series, main))
    by_size = {label: np.flatnonzero(chosen) for label, chosen in classes.items()}
    errors = _errors(series)
    return Figures(
        main_resource=main,
        jobs=len(jobs.job),
        started=int(np.isfinite(jobs.started).sum()),
        ended=int(np.isfinite(jobs.ended).sum()),
        makespan=makespan(jobs),
        utilisation=_utilisation(series.resources, series.of_all_time),
        busy_utilisation=_utilisation(series.resources, series.of_enough_work),
        busy_seconds=series.of_enough_work.seconds,
        wait=distribution(jobs.wait),
        delay=distribution(jobs.delay),
        response=distribution(jobs.response),
        slowdown=distribution(jobs.slowdown),
        wait_by_size={label: distribution(jobs.wait[rows]) for label, rows in by_size.items()},
        delay_by_size={label: distribution(jobs.delay[rows]) for label, rows in by_size.items()},
        slowdown_by_size={label: distribution(jobs.slowdown[rows]) for label, rows in by_size.items()},
        by_queue={
            name: _of_queue(jobs, np.flatnonzero(names == name), lost, main, errors.get(name, {}))
            for name in sorted(set(jobs.queue))
        },
        share_error=_summed(errors.values()) if len(errors) > 1 else {},
        evictions=int(jobs.evictions.sum()),
        evicted_jobs=int((jobs.evictions > 0).sum()),
        lost=_hours(float(lost.sum()), main),
        lost_part=_part_lost(jobs, lost, main),
        jain=jain(_per_weight(series, main, entitlements(queues), set(jobs.queue))),
    )


def main_resource(jobs: JobColumns) -> str:
    """What sizes and work are counted in: what few jobs ask for and all want, such as GPUs, else CPUs."""
    asked = [name for name, column in jobs.requests.items() if column.any()]
    return min(asked, key=lambda name: (_ORDER.get(name, 0), name), default=CPU)


def size_classes(jobs: JobColumns, resource: str, machine: int) -> dict[str, NDArray[np.bool_]]:
    """Which jobs are of each class of size, by what they ask for; classes without jobs are left out.

    The last class ends with the machine; only where nodes come and go are there larger jobs.
    """
    size = jobs.total(resource) / units_in_one(resource)
    classes, least, largest = {"none": size == 0}, 0, 1
    while least < machine:
        largest = min(largest, machine)
        label = str(largest) if largest == least + 1 else f"{least + 1}-{largest}"
        classes[label] = (size > least) & (size <= largest)
        least, largest = largest, largest * _TIMES_LARGER
    classes[f"more than {least}"] = size > least
    return {label: chosen for label, chosen in classes.items() if chosen.any()}


def _machine(series: Series, resource: str) -> int:
    """The most that all nodes had together."""
    if resource not in series.resources:
        return 0
    most = float(series.allocatable[series.resources.index(resource)].max(initial=0.0))
    return ceil(most / units_in_one(resource))


def distribution(values: Floats) -> Distribution:
    """How the values are spread that are there."""
    found = values[np.isfinite(values)]
    if not found.size:
        return Distribution(0, nan, nan, nan, nan, nan, nan, nan)
    p25, p50, p75, p95, p99 = np.quantile(found, (0.25, 0.5, 0.75, 0.95, 0.99)).tolist()
    return Distribution(len(found), float(found.mean()), p25, p50, p75, p95, p99, float(found.max()))


def makespan(jobs: JobColumns) -> float:
    """From the first submission to the last end; 0 where no job has ended."""
    ended = jobs.ended[np.isfinite(jobs.ended)]
    return float(ended.max() - jobs.submitted.min()) if ended.size else 0.0


def jain(values: Iterable[float]) -> float:
    """Jain's index of values; NaN with fewer than two, or where all are 0."""
    listed = list(values)
    squares = sum(value * value for value in listed)
    return sum(listed) ** 2 / (len(listed) * squares) if len(listed) > 1 and squares else nan


def entitlements(queues: Iterable[Queue]) -> dict[str, float]:
    """The part of the cluster that weights give to every queue, from the root down."""
    by_name = {one.metadata.name: one for one in queues if one.metadata.name != ROOT}
    together: dict[str, int] = {}
    for one in by_name.values():
        together[one.parent] = together.get(one.parent, 0) + one.spec.weight

    def part(name: str, depth: int = 0) -> float:
        one = by_name.get(name)
        if one is None or depth > len(by_name):  # the root, or a circle
            return 1.0
        return part(one.parent, depth + 1) * one.spec.weight / (together[one.parent] or 1)

    return {name: part(name) for name in by_name}


def _of_queue(
    jobs: JobColumns, rows: NDArray[np.intp], lost: Floats, main: str, error: dict[str, float]
) -> QueueFigures:
    return QueueFigures(
        len(rows),
        distribution(jobs.wait[rows]),
        distribution(jobs.delay[rows]),
        distribution(jobs.slowdown[rows]),
        int(jobs.evictions[rows].sum()),
        _hours(float(lost[rows].sum()), main),
        error,
    )


def _of_pod(jobs: JobColumns, resource: str) -> Floats:
    column = jobs.requests.get(resource)
    return column.astype(np.float64) if column is not None else np.zeros(len(jobs.job))


def _hours(unit_seconds: float, resource: str) -> float:
    return unit_seconds / units_in_one(resource) / 3600.0


def _part_lost(jobs: JobColumns, lost: Floats, main: str) -> float:
    """What was lost, as a part of that and the work of jobs that have ended."""
    ended = np.isfinite(jobs.ended)
    done = float((jobs.total(main) * jobs.run_time)[ended].sum())
    whole = done + float(lost.sum())
    return float(lost.sum()) / whole if whole else 0.0


def _utilisation(resources: Iterable[str], sums: Integrals) -> dict[str, float]:
    return {
        name: float(sums.used[row] / sums.allocatable[row]) if sums.allocatable[row] else nan
        for row, name in enumerate(resources)
    }


def _errors(series: Series) -> dict[str, dict[str, float]]:
    """By queue and resource."""
    whole = series.of_all_time
    return {
        queue: {
            name: float(sums.error[row] / whole.allocatable[row]) if whole.allocatable[row] else 0.0
            for row, name in enumerate(series.resources)
        }
        for queue, sums in whole.by_queue.items()
    }


def _summed(errors: Iterable[Mapping[str, float]]) -> dict[str, float]:
    together: dict[str, float] = {}
    for of_queue in errors:
        for name, value in of_queue.items():
            together[name] = together.get(name, 0.0) + value / 2.0
    return together


def _per_weight(series: Series, resource: str, parts: Mapping[str, float], asking: set[str]) -> list[float]:
    if resource not in series.resources:
        return []
    row, sums = series.resources.index(resource), series.of_enough_work
    found = {name: float(one.used[row]) for name, one in sums.by_queue.items()}
    return [found.get(name, 0.0) / parts[name] for name in sorted(asking) if parts.get(name)]
