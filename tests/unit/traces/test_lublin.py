"""The model of Lublin and Feitelson against its definition: moments of its stages, and the daily cycle."""

from collections import Counter
from math import exp, lgamma, log, log2
from random import Random
from statistics import fmean, pvariance

import pytest

from maar.core.traces.lublin import INTERVAL_S, INTERVALS, BusyTime, Gamma, LublinModel, lublin_jobs
from maar.core.traces.skips import TraceError

DRAWS = 20_000
DAY = INTERVALS * INTERVAL_S
MODEL = LublinModel(jobs=DRAWS)


def test_the_part_of_serial_jobs_and_of_powers_of_two() -> None:
    numbers = Random(1)
    sizes = Counter(MODEL.size(numbers) for _ in range(DRAWS))
    assert max(sizes) <= MODEL.processors
    powers = sum(count for size, count in sizes.items() if size > 1 and size & (size - 1) == 0)
    # An exponent below log2(1.5) rounds to one processor where it is not made a whole number.
    span = MODEL.medium_below_high
    first = (log2(MODEL.processors) - span) - MODEL.low
    others = 1 - MODEL.serial - MODEL.powers_of_two
    assert sizes[1] / DRAWS == pytest.approx(MODEL.serial, abs=0.01)
    assert MODEL.powers_of_two - 0.01 < powers / DRAWS < MODEL.powers_of_two + others * 0.4
    assert first > 0


def test_the_exponent_is_uniform_in_two_stages() -> None:
    numbers = Random(2)
    drawn = [MODEL.exponent(numbers) for _ in range(DRAWS)]
    high, low = log2(MODEL.processors), MODEL.low
    medium = high - MODEL.medium_below_high
    first = [one for one in drawn if one < medium]
    assert len(first) / DRAWS == pytest.approx(MODEL.first_stage, abs=0.01)
    for stage, begin, end in ((first, low, medium), ([one for one in drawn if one >= medium], medium, high)):
        assert begin <= min(stage)
        assert max(stage) <= end
        assert fmean(stage) == pytest.approx((begin + end) / 2, abs=0.03)
        assert pvariance(stage) == pytest.approx((end - begin) ** 2 / 12, rel=0.06)


@pytest.mark.parametrize("size", [1, 32, 100])
def test_the_logarithm_of_run_times_is_a_mixture_of_two_gammas(size: int) -> None:
    numbers = Random(3)
    drawn = [log(MODEL.run_time(size, numbers) + 0.5) for _ in range(DRAWS)]
    short = max(0.0, MODEL.short_by_size * size + MODEL.short_offset)
    # All run times below e^7 are of the first gamma: the second has its mean at 9.36, 4.5 deviations above.
    below = 7.0
    assert sum(one < below for one in drawn) / DRAWS == pytest.approx(
        short * MODEL.short_runs.cumulative(below), abs=0.01
    )
    cut = [
        sum(
            w * gamma.cumulative(one)
            for w, gamma in ((short, MODEL.short_runs), (1 - short, MODEL.long_runs))
        )
        for one in (5.0, 8.5, 9.36, 10.0)
    ]
    whole = short * MODEL.short_runs.cumulative(MODEL.longest_log_run) + 1 - short
    for one, expected in zip((5.0, 8.5, 9.36, 10.0), cut, strict=True):
        assert sum(each < one for each in drawn) / DRAWS == pytest.approx(expected / whole, abs=0.015)


@pytest.mark.parametrize(
    "gamma", [Gamma(4.2, 0.94), Gamma(312, 0.03), Gamma(8.1737, 3.9631), Gamma(0.5, 2.0)]
)
def test_the_cumulative_distribution_is_the_integral_of_the_density(gamma: Gamma) -> None:
    def density(value: float) -> float:
        scaled = value / gamma.beta
        return exp((gamma.alpha - 1) * log(scaled) - scaled - lgamma(gamma.alpha)) / gamma.beta

    mean, steps = gamma.alpha * gamma.beta, 20_000
    begin, end = mean / 4, mean * 1.5
    width = (end - begin) / steps
    area = sum(density(begin + (step + 0.5) * width) for step in range(steps)) * width
    assert gamma.cumulative(end) - gamma.cumulative(begin) == pytest.approx(area, abs=1e-7)
    assert gamma.cumulative(0) == gamma.cumulative(-1) == 0
    assert gamma.cumulative(mean * 40) == pytest.approx(1)


def test_a_day_of_busy_time_is_a_day() -> None:
    rates = MODEL.rates()
    busy = BusyTime(rates)
    assert sum(rates) == pytest.approx(INTERVALS)
    assert busy.of(3 * DAY) == pytest.approx(3 * DAY)
    for seconds in (0.0, 1.0, 1800.0, 5000.5, DAY - 1, DAY, 2.7 * DAY):
        assert busy.seconds(busy.of(seconds)) == pytest.approx(seconds, abs=1e-5)
    assert 24 <= rates.index(max(rates)) <= 30  # early in the afternoon
    assert 8 <= rates.index(min(rates)) <= 12  # early in the morning


def test_arrivals_follow_the_day_and_the_gaps_of_the_model() -> None:
    jobs = list(lublin_jobs(MODEL, Random(4)))
    times = [one.time for one in jobs]
    assert times == sorted(times)
    found = Counter(int(time % DAY // INTERVAL_S) for time in times)
    for index, rate in enumerate(MODEL.rates()):
        expected = DRAWS / INTERVALS * rate
        assert abs(found[index] - expected) < 8 * expected**0.5  # gaps vary more than those of Poisson
    numbers = Random(5)
    gaps = fmean(exp(MODEL.between_arrivals.draw(numbers, MODEL.longest_log_gap)) for _ in range(DRAWS))
    assert times[-1] / DRAWS == pytest.approx(gaps, rel=0.15)


def test_the_load_may_be_chosen() -> None:
    model = LublinModel(jobs=3000, load=0.9, processors=256)
    jobs = list(lublin_jobs(model, Random(6)))
    work = sum(one.total["cpu"] / 1000 * one.run_time for one in jobs)
    assert work / jobs[-1].time / 256 == pytest.approx(0.9, rel=1e-4)


def test_the_same_seed_gives_the_same_jobs_and_they_become_pods_of_a_size() -> None:
    model = LublinModel(jobs=200, processors_per_pod=16, memory_per_processor=2**20, queues={"a": 1, "b": 1})
    jobs = list(lublin_jobs(model, Random(7), 1000.0))
    assert jobs == list(lublin_jobs(model, Random(7), 1000.0))
    assert jobs != list(lublin_jobs(model, Random(8), 1000.0))
    assert {one.queue for one in jobs} == {"a", "b"}
    assert max(one.requests["cpu"] for one in jobs) == 16_000
    assert all(one.requests["memory"] == one.requests["cpu"] // 1000 * 2**20 for one in jobs)
    assert all(one.estimate is not None and one.estimate > one.run_time for one in jobs)


@pytest.mark.parametrize("processors", [1, 2, 3, 8])
def test_small_machines_have_small_jobs(processors: int) -> None:
    model = LublinModel(jobs=300, processors=processors)
    assert {one.pods for one in lublin_jobs(model, Random(9))} <= set(range(1, processors + 1))


@pytest.mark.parametrize("wrong", [{"processors": 0}, {"load": 0.0}, {"processors_per_pod": 0}])
def test_parameters_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(TraceError, match="it must be"):
        LublinModel(jobs=1, **wrong)  # type: ignore[arg-type]
