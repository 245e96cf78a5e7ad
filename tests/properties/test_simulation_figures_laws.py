"""What is seen over time and the figures of a simulation equal those of the definitions, on random work."""

from math import nan
from random import Random

import numpy as np
import pytest

from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.plan import Plan
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources
from maar.core.simulation.experiment import Cluster, Outcome, PolicyRun, SubmittedJobs
from maar.core.simulation.figures import distribution, entitlements, jain, size_classes
from maar.core.simulation.job_columns import JobColumns
from maar.core.simulation.policies import NAMED
from maar.core.simulation.series import SeriesRecorder
from maar.core.simulation.virtual_time import Simulation
from maar.core.simulation.workloads import JobMix, synthetic_jobs
from properties.slow_figures import Step, Value, integral, percentile, slowdowns, step_of

SIMULATIONS = 6
START = 1_700_000_000.0
CLOSE = 1e-9


def cluster(random: Random) -> Cluster:
    """A few nodes, and queues of random weights, some below another."""
    size = Resources({"cpu": 8000, "memory": 32 * 2**30, "pods": 110})
    ready = (Condition(type="Ready", status="True"),)
    nodes = [
        Node(metadata=Metadata(name=f"n{index}"), status=NodeStatus(allocatable=size, conditions=ready))
        for index in range(random.randint(1, 4))
    ]
    parents = {"a": "", "b": "", "team": "", "c": "team", "d": "team"}
    queues = [
        Queue(metadata=QueueMetadata(name=name), spec=QueueSpec(weight=random.randint(1, 4), parent=above))
        for name, above in parents.items()
    ]
    return Cluster(tuple(nodes), tuple(queues))


class Watching(SeriesRecorder):
    """Keeps every step as well."""

    def __init__(self, start: float, most_intervals: int) -> None:
        super().__init__(start, most_intervals)
        self.steps = list[Step]()

    def observe(self, simulation: Simulation, plan: Plan) -> None:
        """See how things are after a decision."""
        super().observe(simulation, plan)
        self.steps.append(step_of(simulation, plan, ("a", "b", "c", "d")))


def simulated(random: Random, most_intervals: int) -> tuple[Outcome, list[Step]]:
    """A simulation, and every step of it."""
    on = cluster(random)
    mix = JobMix(
        jobs=30, cluster_cpu=8000 * len(on.nodes), load=1.3, queues={"a": 1, "b": 2, "c": 1, "d": 0.5},
        largest_job_cpu=8000, largest_pod_cpu=4000, median_run_time=60.0,
    )  # fmt: skip
    jobs = synthetic_jobs(mix, random, START)
    seen = Watching(START, most_intervals)
    run = PolicyRun(NAMED["default"], SubmittedJobs(on, NAMED["default"], jobs, START), on.queues, seen)
    for _ in run.moments():
        pass
    return run.outcome(), seen.steps


@pytest.mark.parametrize("number", range(SIMULATIONS))
def test_means_over_intervals_are_those_of_all_steps(seed: int, number: int) -> None:
    outcome, steps = simulated(Random(f"{seed} {number}"), most_intervals=16)
    series = outcome.series
    assert len(series.begins) <= 16
    assert series.evictions.sum() == sum(one.evicted for one in steps) == outcome.figures.evictions
    assert series.seconds.sum() == pytest.approx(steps[-1].time - START, rel=CLOSE)
    for index, (begin, seconds) in enumerate(
        zip(series.begins.tolist(), series.seconds.tolist(), strict=True)
    ):
        end = begin + seconds

        def mean(*value: str, begin: float = begin, end: float = end) -> float:
            return integral(steps, Value(*value), begin, end) / (end - begin)

        assert series.waiting[index] == pytest.approx(mean("waiting"), rel=CLOSE)
        for row, name in enumerate(series.resources):
            assert series.allocatable[row, index] == pytest.approx(mean("total", name), rel=CLOSE)
            assert series.used[row, index] == pytest.approx(mean("used", name), rel=CLOSE)
            for queue, one in series.by_queue.items():
                found = one.used[row, index], one.deserved[row, index], one.error[row, index]
                wanted = (
                    mean("used", name, queue),
                    mean("deserved", name, queue),
                    mean("error", name, queue),
                )
                assert found == pytest.approx(wanted, rel=CLOSE, abs=1e-6)


@pytest.mark.parametrize("number", range(SIMULATIONS))
def test_figures_are_those_of_the_definitions(seed: int, number: int) -> None:
    outcome, steps = simulated(Random(f"{seed} {number} figures"), most_intervals=64)
    figures, jobs = outcome.figures, outcome.jobs
    begin, end = START, steps[-1].time
    assert figures.makespan == max(jobs.ended.tolist()) - min(jobs.submitted.tolist())
    assert figures.busy_seconds == pytest.approx(integral(steps, Value("one"), begin, end, only_busy=True))
    for name in outcome.series.resources:
        for is_busy, found in ((False, figures.utilisation[name]), (True, figures.busy_utilisation[name])):
            used = integral(steps, Value("used", name), begin, end, only_busy=is_busy)
            total = integral(steps, Value("total", name), begin, end, only_busy=is_busy)
            assert found == pytest.approx(used / total if total else nan, rel=CLOSE, nan_ok=True)
        errors = {
            queue: integral(steps, Value("error", name, queue), begin, end)
            / integral(steps, Value("total", name), begin, end)
            for queue in outcome.series.by_queue
        }
        assert figures.share_error[name] == pytest.approx(sum(errors.values()) / 2, rel=CLOSE)
        for queue in figures.by_queue:
            assert figures.by_queue[queue].share_error[name] == pytest.approx(errors[queue], rel=CLOSE)
    waits = [
        started - came for started, came in zip(jobs.started.tolist(), jobs.submitted.tolist(), strict=True)
    ]
    assert figures.wait.mean == pytest.approx(sum(waits) / len(waits))
    assert figures.wait.p95 == pytest.approx(percentile(waits, 0.95))
    assert figures.wait.p50 == pytest.approx(percentile(waits, 0.5))
    delays = jobs.delay.tolist()
    assert figures.delay.mean == pytest.approx(sum(delays) / len(delays))
    assert np.isclose(jobs.delay, jobs.wait)[jobs.evictions == 0].all()
    assert (jobs.delay >= jobs.wait - CLOSE)[np.isfinite(jobs.ended)].all()
    slowed = slowdowns(jobs)
    assert figures.slowdown.mean == pytest.approx(sum(slowed) / len(slowed))
    assert sum(one.number for one in figures.wait_by_size.values()) == len(jobs.job)
    assert sum(one.jobs for one in figures.by_queue.values()) == len(jobs.job)
    assert sum(one.lost for one in figures.by_queue.values()) == pytest.approx(figures.lost)
    lost = sum(a * b for a, b in zip(jobs.lost.tolist(), jobs.requests["cpu"].tolist(), strict=True))
    assert figures.lost == pytest.approx(lost / 1000 / 3600)


def columns(requested: list[int], ended: list[float], evictions: list[int]) -> JobColumns:
    """Jobs of 100 s, of one pod each, that came and started at 0."""
    number = len(requested)
    return JobColumns(
        [f"j{index}" for index in range(number)], ["n"] * number, ["q"] * number,
        np.ones(number, np.int64), {"cpu": np.array(requested, np.int64)}, np.zeros(number),
        np.full(number, 100.0), np.full(number, nan), np.zeros(number), np.array(ended),
        np.array(evictions, np.int64), np.zeros(number),
    )  # fmt: skip


def test_what_an_eviction_costs_after_the_first_start_is_in_delay_and_slowdown() -> None:
    jobs = columns([1000, 1000, 1000], [100.0, 400.0, nan], [0, 1, 0])
    assert jobs.wait.tolist() == [0.0, 0.0, 0.0]
    assert jobs.delay.tolist()[:2] == [0.0, 300.0]
    assert jobs.slowdown.tolist()[:2] == [1.0, 4.0]
    assert distribution(jobs.slowdown).number == distribution(jobs.delay).number == 2  # one never ended


@pytest.mark.parametrize(
    ("machine", "labels"),
    [
        (100, ["none", "1", "2-4", "5-16", "17-64", "65-100"]),
        (6212, ["none", "1", "2-4", "5-16", "17-64", "65-256", "257-1024", "1025-4096", "4097-6212"]),
        (4, ["none", "1", "2-4", "more than 4"]),
        (0, ["none", "more than 0"]),
    ],
)
def test_classes_of_sizes_end_with_the_machine(machine: int, labels: list[str]) -> None:
    sizes = [0, 500, 1000, 2000, 4000, 9000, 20_000, 65_000, 100_000]
    sizes += [200_000, 500_000, 1_025_000, 6_212_000] if machine > 100 else []
    jobs = columns(sizes, [100.0] * len(sizes), [0] * len(sizes))
    classes = size_classes(jobs, "cpu", machine)
    assert list(classes) == labels
    assert sum(int(one.sum()) for one in classes.values()) == len(sizes)


def test_jains_index_is_one_for_equals_and_one_nth_where_one_has_everything() -> None:
    assert jain([3.0, 3.0, 3.0]) == pytest.approx(1.0)
    assert jain([0.0, 0.0, 5.0, 0.0]) == pytest.approx(0.25)
    assert np.isnan(jain([1.0]))
    assert np.isnan(jain([0.0, 0.0]))


def test_weights_give_parts_of_the_cluster_from_the_root_down() -> None:
    queues = [
        Queue(metadata=QueueMetadata(name=name), spec=QueueSpec(weight=weight, parent=above))
        for name, weight, above in (("a", 1, ""), ("team", 3, ""), ("c", 1, "team"), ("d", 2, "team"))
    ]
    assert entitlements(queues) == pytest.approx({"a": 0.25, "team": 0.75, "c": 0.25, "d": 0.5})


def test_what_never_happened_is_in_no_distribution() -> None:
    found = distribution(np.array([1.0, nan, 3.0]))
    assert (found.number, found.mean, found.p50, found.largest) == (2, 2.0, 2.0, 3.0)
    assert distribution(np.array([nan])).number == 0
