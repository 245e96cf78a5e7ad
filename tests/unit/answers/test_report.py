"""The parts of a report: scales and ticks, thinning, texts, CSV."""

import csv
from math import isfinite

import numpy as np
import pytest

from maar.api.simulation.report import csv_lines
from maar.core.answers.simulate.plots import used_by_queue
from maar.core.answers.simulate.tables import job_columns, series_columns
from maar.core.answers.simulate.text import amount_text, percent, seconds_text
from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.resources import Resources
from maar.core.simulation.experiment import Cluster, Outcome, PolicyRun, SubmittedJobs
from maar.core.simulation.jobs import TraceJob
from maar.core.simulation.policies import NAMED
from maar.core.views.svg import Plot, linear, of_times, of_waits, thinned, upwards


@pytest.mark.parametrize(
    ("high", "labels"),
    [
        (100.0, ["0%", "20%", "40%", "60%", "80%", "100%"]),
        (7.0, ["0%", "2%", "4%", "6%", "8%"]),
        (0.03, ["0%", "0.01%", "0.02%", "0.03%"]),
        (0.0, ["0%", "0.2%", "0.4%", "0.6%", "0.8%", "1%"]),
    ],
)
def test_ticks_are_round_and_cover_the_values(high: float, labels: list[str]) -> None:
    scale = linear(high, 0.0, 1.0, "%")
    assert [one.label for one in scale.ticks] == labels
    assert scale.high >= high


@pytest.mark.parametrize(
    ("seconds", "last"), [(90.0, "80 s"), (3600.0, "60 min"), (90_000.0, "25 h"), (2_600_000.0, "30 d")]
)
def test_time_is_in_the_largest_unit_that_fits(seconds: float, last: str) -> None:
    scale = of_times(seconds, 0.0, 100.0)
    assert scale.ticks[-1].label == last
    assert 3 <= len(scale.ticks) <= 8
    assert scale(0.0) == 0.0
    assert scale(seconds) == 100.0


def test_waits_have_a_logarithmic_scale_with_room_for_none() -> None:
    scale = of_waits(86_400.0, 0.0, 100.0)
    assert scale(0.0) == 0.0
    assert scale(86_400.0) == 100.0
    places = [scale(one.value) for one in scale.ticks]
    assert places == sorted(places)
    assert scale(60.0) - scale(0.0) > 30  # a minute is a third of a day


def test_a_value_beyond_the_scale_stays_inside() -> None:
    scale = upwards(linear(10.0, 0.0, 1.0))
    assert scale(20.0) == scale(10.0)
    assert scale(-5.0) == scale(0.0)


def test_neighbours_are_joined_with_their_weights() -> None:
    lengths, [means] = thinned(np.array([1.0, 3.0, 2.0]), [np.array([4.0, 8.0, 1.0])], most=2)
    assert lengths.tolist() == [4.0, 2.0]
    assert means.tolist() == [7.0, 1.0]


def test_steps_hold_until_the_next_and_names_are_escaped() -> None:
    plot = Plot("t", "d", linear(2.0, 0.0, 2.0), upwards(linear(1.0, 0.0, 1.0)))
    plot.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 0, "a<b", is_step=True)
    assert plot.parts[0].count(",") == 3
    assert "<title>a&lt;b</title>" in plot.parts[0]
    assert plot.svg("1") == plot.svg("1")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (45, "45 s"),
        (0.25, "0.25 s"),
        (750, "12.5 min"),
        (11_160, "3.1 h"),
        (172_800, "2 d"),
        (float("nan"), "-"),
    ],
)
def test_durations_are_in_their_largest_unit(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_numbers_have_three_digits() -> None:
    assert [amount_text(one) for one in (0.004, 1.0, 12.34, 123.4, 12_345.6)] == [
        "0",
        "1",
        "12.3",
        "123",
        "12,346",
    ]
    assert percent(0.1234) == "12.3%"
    assert percent(float("nan")) == "-"


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """Three jobs one after the other, in two queues, under FCFS."""
    size = Resources({"cpu": 2000, "memory": 2**30, "pods": 10})
    ready = (Condition(type="Ready", status="True"),)
    node = Node(metadata=Metadata(name="n"), status=NodeStatus(allocatable=size, conditions=ready))
    jobs = [
        TraceJob(name, time, "team", queue, 1, Resources({"cpu": cpu}), run_time, None)
        for name, time, queue, cpu, run_time in (
            ("first", 0.0, "a", 2000, 10.0),
            ("second", 2.5, 'b,"', 1000, 10.0),
            ("third", 3.0, "a", 2000, 5.0),
        )
    ]
    run = PolicyRun(NAMED["fcfs"], SubmittedJobs(Cluster((node,)), NAMED["fcfs"], jobs, 0.0), ())
    for _ in run.moments():
        pass
    return run.outcome()


def test_a_line_for_every_job(outcome: Outcome) -> None:
    header, *lines = csv_lines(job_columns(outcome))
    assert header == (
        "job,namespace,queue,pods,cpu_cores_per_pod,submitted_unix_s,started_unix_s,ended_unix_s,wait_s,"
        "total_delay_s,run_time_s,estimate_s,bounded_slowdown,evicted_pods,lost_pod_seconds\n"
    )
    assert lines == [
        "first,team,a,1,2,0,0,10,0,0,10,,1,0,0\n",
        'second,team,"b,""",1,1,2.5,10,20,7.5,7.5,10,,1.75,0,0\n',
        "third,team,a,1,2,3,20,25,17,17,5,,2.2,0,0\n",
    ]


def test_a_line_for_every_interval(outcome: Outcome) -> None:
    header, first, *rest = csv_lines(series_columns(outcome))
    assert header.startswith(
        "begin_unix_s,length_s,waiting_pods,evicted_pods,allocatable_cpu_cores,used_cpu_cores,"
        "used_cpu_cores_by_all-jobs,deserved_cpu_cores_by_all-jobs,allocatable_memory_bytes,"
    )
    assert first.startswith("0,1,0,0,2,2,2,2,1073741824,0,")
    assert len(rest) == 24


def test_all_cells_of_columns_are_numbers(outcome: Outcome) -> None:
    for lines, names in ((csv_lines(job_columns(outcome)), 3), (csv_lines(series_columns(outcome)), 0)):
        _, *rows = csv.reader(lines)
        assert all(cell == "" or isfinite(float(cell)) for row in rows for cell in row[names:])


def test_shares_under_one_queue_are_those_of_the_queues_of_the_trace(outcome: Outcome) -> None:
    used = used_by_queue(outcome, "cpu")
    assert used["a"].tolist() == [2000.0] * 10 + [0.0] * 10 + [2000.0] * 5
    assert used['b,"'].tolist() == [0.0] * 10 + [1000.0] * 10 + [0.0] * 5
    assert outcome.series.used[0].tolist() == (used["a"] + used['b,"']).tolist()
