"""Which jobs could ever start on a cluster, and what is seen over time in bounded memory."""

import pytest

from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeSpec, NodeStatus, Taint
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources
from maar.core.simulation.experiment import Cluster, PolicyRun, SubmittedJobs, survey
from maar.core.simulation.jobs import TraceJob
from maar.core.simulation.policies import NAMED
from maar.core.simulation.series import SeriesRecorder


def node(name: str, cpu: int, *, taint: str = "", **labels: str) -> Node:
    """A node with so many CPUs."""
    return Node(
        metadata=Metadata(name=name, labels=labels),
        spec=NodeSpec(taints=(Taint(key="only", effect=taint),) if taint else ()),
        status=NodeStatus(
            allocatable=Resources({"cpu": cpu * 1000, "pods": 4}),
            conditions=(Condition(type="Ready", status="True"),),
        ),
    )


def queue(name: str, parent: str = "", cpu: int = 0) -> Queue:
    """A queue that may have a ceiling."""
    ceiling = Resources({"cpu": cpu * 1000}) if cpu else Resources()
    return Queue(metadata=QueueMetadata(name=name), spec=QueueSpec(parent=parent, capability=ceiling))


def job(pods: int, cpu: int, name: str = "a", **labels: tuple[str, ...]) -> TraceJob:
    """A gang."""
    return TraceJob("j", 0.0, "n", name, pods, Resources({"cpu": cpu * 1000}), 1.0, None, node_labels=labels)


CLUSTER = Cluster(
    (
        node("x", 8, kind="v100"),
        node("y", 4),
        node("z", 64, taint="NoSchedule"),
        node("w", 64, taint="PreferNoSchedule", kind="a100"),
    ),
    (queue("a"), queue("team", cpu=16), queue("b", "team"), queue("c", cpu=2)),
)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (job(1, 64), ""),
        (job(2, 64), "larger than the cluster"),
        (job(1, 65), "a pod is larger than every node"),
        (job(12, 1), ""),
        (job(13, 1), "larger than the cluster"),  # four pods on each of three nodes
        (job(2, 8, kind=("v100",)), "larger than the cluster"),
        (job(2, 8, kind=("v100", "a100")), ""),
        (job(1, 1, kind=("h100",)), "a pod is larger than every node"),
        (job(2, 8, "b"), ""),
        (job(3, 8, "b"), "larger than the capability of queue team"),
        (job(1, 3, "c"), "larger than the capability of queue c"),
        (job(1, 1, "team"), "queue team has queues below it, and jobs are in leaves only"),
        (job(1, 1, "root"), "queue root has queues below it, and jobs are in leaves only"),
    ],
)
def test_a_job_that_could_never_start_says_why(asked: TraceJob, why: str) -> None:
    assert CLUSTER.why_never(asked) == why


def test_a_survey_counts_and_names_what_is_missing() -> None:
    jobs = [job(2, 64), job(1, 1)._replace(time=5.0), job(1, 1, "new"), job(1, 1, "default"), job(2, 64)]
    found = survey(CLUSTER, jobs)
    assert (found.jobs, found.start, found.missing) == (3, 5.0, ("new",))
    assert found.left_out == {"larger than the cluster": 2}
    names = {one.metadata.name for one in CLUSTER.with_queues(found.missing).queues}
    assert names == {"a", "b", "c", "team", "new", "default"}


def test_jobs_that_wait_for_ever_end_the_simulation() -> None:
    """A ceiling below what runs for ever elsewhere in its queue: nothing is due any more."""
    on = Cluster((node("x", 8),), (queue("a", cpu=8),))
    first, second = (
        job(1, 8)._replace(name="first", run_time=1e9),
        job(1, 8)._replace(name="second", time=1.0),
    )
    run = PolicyRun(NAMED["default"], SubmittedJobs(on, NAMED["default"], [first, second], 0.0), on.queues)
    for _ in run.moments():
        pass
    assert run.outcome().jobs.wait.tolist() == [0.0, 1e9 - 1.0]


def test_however_long_a_simulation_is_there_are_no_more_intervals_and_queues_may_come_later() -> None:
    on = Cluster((node("x", 8),), tuple(queue(f"q{index}") for index in range(5)))
    jobs = [
        job(1, 1, f"q{index % 5}")._replace(name=f"j{index}", time=10.0**index, run_time=3.0**index)
        for index in range(9)
    ]
    seen = SeriesRecorder(1.0, most_intervals=8)
    run = PolicyRun(NAMED["default"], SubmittedJobs(on, NAMED["default"], jobs, 1.0), on.queues, seen)
    for _ in run.moments():
        pass
    series = run.outcome().series
    assert 4 <= len(series.begins) <= 8
    used = float((series.used[0] * series.seconds).sum())
    assert used == pytest.approx(sum(1000 * 3.0**index for index in range(9)))
    by_queue = sum(float((one.used[0] * series.seconds).sum()) for one in series.by_queue.values())
    assert by_queue == pytest.approx(used)
