"""FCFS and EASY as configurations of the simulator give the schedules of an independent, slow reference."""

from collections.abc import Callable
from gzip import decompress
from pathlib import Path
from random import Random

import pytest

from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.resources import CPU, Resources
from maar.core.simulation.experiment import Cluster, Outcome, PolicyRun, SubmittedJobs
from maar.core.simulation.jobs import TraceJob
from maar.core.simulation.policies import NAMED
from maar.core.traces.lublin import LublinModel, lublin_jobs
from maar.core.traces.options import TraceOptions
from maar.core.traces.reading import read_trace
from maar.core.traces.swf import write_swf
from properties.reference_schedules import RigidJob, easy, fcfs
from support.real_traces import real_trace

Reference = Callable[[list[RigidJob], int], list[float]]
POLICIES: dict[str, Reference] = {"fcfs": fcfs, "easy": easy}
SAMPLES = 4
KTH = "KTH-SP2-1996-2.1-cln.swf.gz"
SWF = Path(__file__).parents[1] / "support/traces/jobs.swf"


def machine(processors: int) -> Cluster:
    """One node, so that only the number of processors counts."""
    size = Resources({CPU: processors * 1000, "pods": 100_000, "memory": 2**50})
    ready = (Condition(type="Ready", status="True"),)
    return Cluster(
        (Node(metadata=Metadata(name="n"), status=NodeStatus(allocatable=size, conditions=ready)),)
    )


def simulated(policy: str, jobs: list[TraceJob], processors: int) -> Outcome:
    """What becomes of the jobs under a policy."""
    on = machine(processors)
    run = PolicyRun(NAMED[policy], SubmittedJobs(on, NAMED[policy], jobs, jobs[0].time), on.queues)
    for _ in run.moments():
        pass
    return run.outcome()


def starts(policy: str, jobs: list[TraceJob], processors: int) -> list[float]:
    """When each job starts under a policy."""
    return [float(one) for one in simulated(policy, jobs, processors).jobs.started]


def expected(policy: str, jobs: list[TraceJob], processors: int) -> list[float]:
    """When the reference starts each."""
    rigid = [
        (job.time, job.pods * job.requests[CPU] // 1000, job.run_time, job.estimate or job.run_time)
        for job in jobs
    ]
    return POLICIES[policy](rigid, processors)


def of_swf(jobs: list[TraceJob], processors: int) -> list[TraceJob]:
    """The jobs as they are read from a file in the Standard Workload Format, each one pod."""
    options = TraceOptions(processors_per_pod=processors, stops_at_estimate=True)
    return list(read_trace(write_swf(jobs), "swf", options).jobs)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("number", range(SAMPLES))
def test_schedules_of_generated_workloads_equal_the_reference(seed: int, policy: str, number: int) -> None:
    random = Random(f"{seed} {number}")
    processors = random.choice((8, 32, 100))
    model = LublinModel(60, processors, load=random.choice((0.7, 1.0, 1.5)))
    jobs = of_swf(list(lublin_jobs(model, random)), processors)
    assert starts(policy, jobs, processors) == expected(policy, jobs, processors)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("number", range(SAMPLES))
def test_schedules_of_jobs_that_come_and_end_together_equal_the_reference(
    seed: int, policy: str, number: int
) -> None:
    random, now, jobs = Random(f"{seed} {number} together"), 0.0, list[TraceJob]()
    for index in range(60):
        now += random.choice((0, 0, 1, 5, 20))
        run_time = float(random.randint(1, 60))
        size = Resources({CPU: 1000 * random.choice((1, 1, 2, 3, 4, 8))})
        estimate = run_time + random.choice((0, 0, 0.25, 10, 99.75))  # not only whole seconds
        jobs.append(TraceJob(f"j{index}", now, "n", "q", 1, size, run_time, estimate))
    assert starts(policy, jobs, 8) == expected(policy, jobs, 8)


def of_kth(number: int) -> list[TraceJob]:
    """The first jobs of a real log."""
    lines = decompress(real_trace(KTH).read_bytes()).decode().splitlines()
    options = TraceOptions(processors_per_pod=100, stops_at_estimate=True, most_jobs=number)
    jobs = list(read_trace(lines, "swf", options).jobs)
    assert len(jobs) == number
    return jobs


@pytest.mark.parametrize("policy", POLICIES)
def test_the_schedule_of_the_first_jobs_of_a_real_log_equals_the_reference(policy: str) -> None:
    jobs = of_kth(200)
    assert starts(policy, jobs, 100) == expected(policy, jobs, 100)


@pytest.mark.parametrize(
    ("policy", "figures"),
    [("fcfs", ("201084.148", "5027.916", "61.8%")), ("easy", ("9462.747", "138.376", "66.6%"))],
)
def test_figures_of_a_real_log_are_those_of_another_program(policy: str, figures: tuple[str, ...]) -> None:
    of = simulated(policy, of_kth(5_000), 100).figures  # all of them: bench/kth_bench.py
    assert (f"{of.wait.mean:.3f}", f"{of.slowdown.mean:.3f}", f"{of.utilisation[CPU]:.1%}") == figures


@pytest.mark.parametrize("policy", POLICIES)
def test_the_schedule_of_a_file_equals_the_reference(policy: str) -> None:
    lines = SWF.read_text(encoding="utf-8").splitlines()
    processors = 128
    options = TraceOptions(processors_per_pod=processors, stops_at_estimate=True)
    jobs = list(read_trace(lines, "swf", options).jobs)
    assert len(jobs) > 5
    assert starts(policy, jobs, processors) == expected(policy, jobs, processors)
