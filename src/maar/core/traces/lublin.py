"""The workload model of Lublin and Feitelson (2003) for rigid jobs on a parallel machine.

Size. A part of the jobs is serial. Of the others the logarithm (to base 2) of the size is uniform
in two stages, most of them between `low` and `medium`, the rest from there up to the logarithm of
the machine; for a part of all jobs it is rounded, so that the size is a power of two.

Run time. Its natural logarithm is a mixture of two gamma distributions. The probability of the
first, of short run times, falls linearly with the size: large jobs run for longer.

Arrivals. The logarithm of the time between arrivals is gamma distributed, in a time that passes
faster in busy hours: the part of the jobs that comes in each half hour of the day follows a gamma
distribution, from five o'clock on.

The defaults are the published parameters for all jobs together, batch and interactive ones. Queues,
estimates and the pods of a job are not of the model; they are drawn as in
`core/simulation/workloads.py`.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from math import exp, floor, lgamma, log, log2, sqrt
from typing import Final, NamedTuple, Protocol

from maar.core.model.resources import CPU, MEMORY, Resources
from maar.core.simulation.jobs import TraceJob
from maar.core.simulation.workloads import Estimates, UniformNumbers, chosen, estimate_of
from maar.core.traces.records import pods_of
from maar.core.traces.skips import TraceError

INTERVALS: Final = 48  # of a day
INTERVAL_S: Final = 1800.0
FIRST_INTERVAL: Final = 11  # the day of the arrivals starts with it
_FAR: Final = 50.0  # standard deviations beyond the mean, where nothing is left
_ENOUGH: Final = 1e-15  # relative size of a term that changes nothing


class GammaNumbers(UniformNumbers, Protocol):
    """A source of uniform and gamma distributed numbers, such as `random.Random(seed)`."""

    def gammavariate(self, alpha: float, beta: float) -> float:
        """A number of the gamma distribution with mean alpha * beta."""


class Gamma(NamedTuple):
    """A gamma distribution: its mean is alpha * beta, its variance that times beta."""

    alpha: float
    beta: float

    def draw(self, numbers: GammaNumbers, below: float) -> float:
        """A number of the distribution without its tail."""
        while (found := numbers.gammavariate(*self)) > below:
            pass
        return found

    def cumulative(self, value: float) -> float:
        """The probability of a number that is not larger, by the series of the incomplete gamma function."""
        alpha, scaled = self.alpha, value / self.beta
        if scaled <= 0:
            return 0.0
        if scaled > alpha + _FAR * (1 + sqrt(alpha)):
            return 1.0
        term = total = 1.0
        step = alpha
        while term > total * _ENOUGH:
            step += 1
            term *= scaled / step
            total += term
        return total * exp(alpha * log(scaled) - scaled - lgamma(alpha + 1))


_SHORT_RUNS: Final = Gamma(4.2, 0.94)
_LONG_RUNS: Final = Gamma(312, 0.03)
_BETWEEN_ARRIVALS: Final = Gamma(10.2303 * 1.0225, 0.4871)  # in busy hours, by the ratio of all hours to them
_OF_THE_DAY: Final = Gamma(8.1737, 3.9631)


@dataclass(frozen=True)
class LublinModel:
    """The parameters of the model, and of what is added to it."""

    jobs: int
    processors: int = 128
    serial: float = 0.244  # part of the jobs
    powers_of_two: float = 0.576  # part of the jobs
    low: float = 0.8  # log2 of the smallest parallel job
    medium_below_high: float = 2.5  # log2 of where the second stage starts, below that of the machine
    first_stage: float = 0.86  # part of the parallel jobs
    short_runs: Gamma = _SHORT_RUNS
    long_runs: Gamma = _LONG_RUNS
    short_by_size: float = -0.0054  # probability of the short ones: this by the size,
    short_offset: float = 0.78  # and this added
    between_arrivals: Gamma = _BETWEEN_ARRIVALS
    of_the_day: Gamma = _OF_THE_DAY
    longest_log_run: float = 12.0  # two days
    longest_log_gap: float = 13.0  # five days
    load: float | None = None  # part of the machine that is asked for; None: as the arrivals come
    processors_per_pod: int = 1
    memory_per_processor: int = 0  # bytes
    queues: Mapping[str, float] = field(default_factory=lambda: {"default": 1.0})  # parts of the jobs
    namespaces: int = 1
    estimates: Estimates = "bound"

    def __post_init__(self) -> None:
        for name in ("processors", "processors_per_pod", "namespaces"):
            if getattr(self, name) < 1:
                raise TraceError(f"{name} is {getattr(self, name)}: it must be 1 or more")
        if self.load is not None and not self.load > 0:
            raise TraceError(f"load is {self.load:g}: it must be more than 0")

    def size(self, numbers: UniformNumbers) -> int:
        """The processors of a job."""
        kind = numbers.random()
        if kind < self.serial:
            return 1
        exponent = self.exponent(numbers)
        if kind < self.serial + self.powers_of_two:
            exponent = floor(exponent + 0.5)
        return min(self.processors, floor(2**exponent + 0.5))

    def exponent(self, numbers: UniformNumbers) -> float:
        """The logarithm of a parallel job's size, uniform in two stages."""
        high = max(1.0, log2(self.processors))
        low = min(self.low, high)
        medium = max(low, high - self.medium_below_high)
        first, last = (low, medium) if numbers.random() < self.first_stage else (medium, high)
        return first + (last - first) * numbers.random()

    def run_time(self, size: int, numbers: GammaNumbers) -> float:
        """Seconds, whole ones, of a job of a size."""
        is_short = numbers.random() < self.short_by_size * size + self.short_offset
        stage = self.short_runs if is_short else self.long_runs
        return float(max(1, floor(exp(stage.draw(numbers, self.longest_log_run)))))

    def rates(self) -> list[float]:
        """How many jobs come in each half hour of the day, beginning at midnight; 1 is the mean."""
        parts = [0.0] * INTERVALS
        for index in range(FIRST_INTERVAL, FIRST_INTERVAL + INTERVALS):
            bounds = index - 0.5, index + 0.5
            before, after = (self.of_the_day.cumulative(bound) for bound in bounds)
            parts[(index - 1) % INTERVALS] = after - before
        mean = sum(parts) / INTERVALS
        return [part / mean for part in parts]


class BusyTime:
    """Time that passes as fast as jobs come; a day of it is as long as a day."""

    def __init__(self, rates: list[float]) -> None:
        self._rates = rates
        self._sums = [0.0, *accumulate(rate * INTERVAL_S for rate in rates)]

    def of(self, seconds: float) -> float:
        """The busy time after so many seconds since midnight of the first day."""
        days, rest = divmod(seconds, INTERVALS * INTERVAL_S)
        index = min(INTERVALS - 1, int(rest // INTERVAL_S))
        return days * self._sums[-1] + self._sums[index] + (rest - index * INTERVAL_S) * self._rates[index]

    def seconds(self, busy: float) -> float:
        """When so much busy time has passed."""
        days, rest = divmod(busy, self._sums[-1])
        index = min(INTERVALS - 1, bisect_right(self._sums, rest) - 1)
        in_interval = (rest - self._sums[index]) / self._rates[index]
        return (days * INTERVALS + index) * INTERVAL_S + min(INTERVAL_S, in_interval)


def lublin_jobs(model: LublinModel, numbers: GammaNumbers, start: float = 0.0) -> Iterator[TraceJob]:
    """The jobs of the model in order of arrival, from a midnight on; one by one unless `load` is set."""
    drawn: Iterator[tuple[float, TraceJob]] = (_draw(model, numbers, index) for index in range(model.jobs))
    busy_time, scale = BusyTime(model.rates()), 1.0
    if model.load is not None:
        listed = list(drawn)
        work = sum(_processors(job) * job.run_time for _, job in listed)
        length = busy_time.of(work / (model.load * model.processors))
        scale, drawn = length / (sum(gap for gap, _ in listed) or 1.0), iter(listed)
    busy = 0.0
    for gap, job in drawn:
        busy += gap * scale
        yield job._replace(time=start + round(busy_time.seconds(busy)))


def _processors(job: TraceJob) -> float:
    """The processors of a job."""
    return job.pods * job.requests[CPU] / 1000


def _draw(model: LublinModel, numbers: GammaNumbers, index: int) -> tuple[float, TraceJob]:
    """The busy time before a job, and the job without its time."""
    gap = exp(model.between_arrivals.draw(numbers, model.longest_log_gap))
    size = model.size(numbers)
    run_time = model.run_time(size, numbers)
    pods, of_pod = pods_of(size, model.processors_per_pod)
    amounts = {CPU: of_pod * 1000, MEMORY: of_pod * model.memory_per_processor}
    return gap, TraceJob(
        name=f"job-{index:06}",
        time=0.0,
        namespace=f"team-{int(numbers.random() * model.namespaces)}",
        queue=chosen(model.queues, numbers.random()),
        pods=pods,
        requests=Resources({name: amount for name, amount in amounts.items() if amount}),
        run_time=run_time,
        estimate=estimate_of(run_time, model.estimates, numbers.random()),
    )
