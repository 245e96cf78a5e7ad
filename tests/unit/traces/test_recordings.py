"""A recording as a workload: under the same configuration the same becomes of every group."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from maar.apps.snapshots.recorded_workload import recorded_moments, recorded_start
from maar.apps.snapshots.recording import Recording, RecordingEngine
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.metadata import Condition, Metadata, Object
from maar.core.model.node import Node, NodeStatus
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources
from maar.core.policy.configuration import DEFAULT
from maar.core.simulation.cluster import succeeded
from maar.core.simulation.jobs import JobArrivals, TraceJob, objects_of
from maar.core.simulation.virtual_time import Arrival, Simulation
from maar.core.simulation.workloads import JobMix, synthetic_jobs
from maar.core.traces.recorded_moments import RecordedMoment
from maar.core.traces.recordings import RecordedWorkload
from maar.core.traces.skips import TraceError

START = 1_700_000_000.0


def node(name: str, cpu: int) -> Node:
    """A node with so many CPUs."""
    size = Resources({"cpu": cpu * 1000, "memory": cpu * 2**30, "pods": 110})
    ready = (Condition(type="Ready", status="True"),)
    return Node(metadata=Metadata(name=name), status=NodeStatus(allocatable=size, conditions=ready))


def queue(name: str, weight: int = 1) -> Queue:
    """A queue with a weight."""
    return Queue(metadata=QueueMetadata(name=name), spec=QueueSpec(weight=weight))


def job(name: str, *, pods: int = 1, estimate: float | None = None) -> list[Object]:
    """A group and its pods of one CPU each, as they are submitted."""
    drawn = TraceJob(name, 0.0, "team", "default", pods, Resources({"cpu": 1000}), 0.0, estimate)
    return objects_of(drawn)


def on(pod: Object, name: str, since: float) -> Pod:
    """A pod that runs on a node since a time."""
    assert isinstance(pod, Pod)
    status = msgspec.structs.replace(
        pod.status, phase="Running", start_time=datetime.fromtimestamp(since, UTC)
    )
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=name), status=status)


def upserted(*objects: Object) -> list[Event]:
    """Events of objects that are there."""
    return [Upserted(object=one) for one in objects]  # type: ignore[arg-type]


def workload(*moments: RecordedMoment) -> RecordedWorkload:
    """The workload of some moments."""
    return RecordedWorkload(lambda: moments)


def names(arrivals: Iterable[Arrival]) -> list[tuple[float, list[str]]]:
    """When what arrives, from the start of the recording on."""
    return [(one.time - START, [each.metadata.name for each in one.objects]) for one in arrivals]


def simulated(
    objects: Iterable[Object],
    arrivals: Iterator[Arrival],
    run_time: Callable[[Pod], float | None],
    recording: Recording | None = None,
) -> dict[str, list[float]]:
    """What became of every group, by its key; it may be recorded."""
    simulation = Simulation(objects, run_time, start=START)
    if recording is not None:
        simulation.engine = simulation.cluster.engine = RecordingEngine(recording=recording)
    simulation.submit_all(arrivals)
    for _ in simulation.run():
        pass
    times = simulation.times()
    columns = (times.submitted, times.admitted, times.started, times.ended, times.evictions)
    return {key: [float(column[row]) for column in columns] for row, key in enumerate(times.group)}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_becomes_of_every_group_again(seed: int, tmp_path: Path) -> None:
    mix = JobMix(
        jobs=30, cluster_cpu=16_000, largest_job_cpu=16_000, largest_pod_cpu=4_000, load=1.5,
        queues={"default": 1.0, "other": 2.0}, namespaces=2,
    )  # fmt: skip
    jobs = JobArrivals(synthetic_jobs(mix, Random(seed), START))
    cluster = [*(node(f"n{index}", 4) for index in range(4)), queue("default"), queue("other", 3)]
    file = tmp_path / "recording"
    recording = Recording(file)
    before = simulated(cluster, jobs.arrivals(), jobs.run_time, recording)
    recording.close()

    lines = file.read_bytes().splitlines(keepends=True)
    again = RecordedWorkload(lambda: recorded_moments(lines))
    after = simulated(again.objects, again.arrivals(), again.run_time)
    assert sum(row[-1] for row in before.values()) > 0  # evictions, without which it would be too easy
    assert before.keys() == after.keys()
    for key, row in before.items():
        np.testing.assert_allclose(after[key], row, atol=2e-6)
    assert again.totals.ended == again.totals.pods == sum(one.pods for one in jobs.jobs)
    assert recorded_start(lines) == (DEFAULT, "volcano")


def test_a_pod_runs_for_as_long_as_it_ran() -> None:
    group, pod = job("a")
    running = on(pod, "n", START + 5)
    found = workload(
        RecordedMoment(START, upserted(node("n", 1))),
        RecordedMoment(START + 4, upserted(group, pod)),
        RecordedMoment(START + 6, upserted(running)),
        RecordedMoment(START + 30, upserted(succeeded(running))),
        RecordedMoment(START + 31, [Deleted(kind="Pod", key="team/a-0")]),
    )
    assert names(found.arrivals()) == [(4, ["a", "a-0"])]
    assert isinstance(pod, Pod)
    assert found.run_time(pod) == 25
    assert [one.metadata.name for one in found.objects] == ["n"]
    assert found.totals.pods == found.totals.ended == 1


def test_what_was_cut_short_by_an_eviction_does_not_count_and_is_no_second_arrival() -> None:
    group, pod = job("a")
    found = workload(
        RecordedMoment(START, upserted(node("n", 1), group, pod)),
        RecordedMoment(START + 1, upserted(on(pod, "n", START))),
        RecordedMoment(START + 50, [Deleted(kind="Pod", key="team/a-0")], frozenset({"team/a-0"})),
        RecordedMoment(START + 51, upserted(pod)),
        RecordedMoment(START + 60, upserted(on(pod, "n", START + 60))),
        RecordedMoment(START + 70, upserted(succeeded(on(pod, "n", START + 60)))),
    )
    assert names(found.arrivals()) == [(0, ["a", "a-0"])]
    assert isinstance(pod, Pod)
    assert found.run_time(pod) == 10


def test_a_pod_that_was_deleted_while_it_ran_ended_then() -> None:
    group, pod = job("a")
    found = workload(
        RecordedMoment(START, upserted(group, on(pod, "n", START - 100))),
        RecordedMoment(START + 50, [Deleted(kind="Pod", key="team/a-0")]),
    )
    assert isinstance(pod, Pod)
    assert found.run_time(pod) == 150


def test_what_has_not_ended_is_counted() -> None:
    first, running = job("a")
    second, waiting = job("b", estimate=70)
    third, unknown = job("c")
    fourth, withdrawn = job("d")
    found = workload(
        RecordedMoment(START, upserted(first, second, third, fourth, running, waiting, unknown, withdrawn)),
        RecordedMoment(START + 10, upserted(on(running, "n", START + 10))),
        RecordedMoment(START + 40, [Deleted(kind="Pod", key="team/d-0")]),
    )
    totals = found.totals
    assert (totals.pods, totals.ended, totals.still_running) == (3, 0, 1)
    assert (totals.never_started, totals.withdrawn) == (2, 1)
    times = [found.run_time(pod) for pod in (running, waiting, unknown) if isinstance(pod, Pod)]
    assert times == [30, 70, None]
    assert names(found.arrivals()) == [(0, ["a", "b", "c", "a-0", "b-0", "c-0"])]


def test_what_is_there_at_the_start_stays_as_it_is_and_what_comes_later_has_no_status() -> None:
    first, old = job("old")
    second, new = job("new")
    assert isinstance(second, PodGroup)
    admitted = msgspec.structs.replace(second.status, phase="Running")
    found = workload(
        RecordedMoment(START, upserted(node("n", 2), first, on(old, "n", START - 5))),
        RecordedMoment(START + 1, upserted(msgspec.structs.replace(second, status=admitted))),
        RecordedMoment(START + 1, upserted(on(new, "n", START + 1))),
    )
    present, later = found.arrivals()
    pods = {one.metadata.name: one for one in (*present.objects, *later.objects) if isinstance(one, Pod)}
    assert pods["old-0"].spec.node_name == "n"
    assert not pods["new-0"].spec.node_name
    assert pods["new-0"].status.phase == "Pending"
    (group,) = (one for one in later.objects if isinstance(one, PodGroup))
    assert not group.status.phase


def test_a_group_that_comes_again_under_its_name_is_another_one() -> None:
    group, pod = job("a")
    moments = [RecordedMoment(START, upserted(node("n", 1)))]
    for begin, seconds in ((START + 10, 5), (START + 100, 8)):
        running = on(pod, "n", begin)
        moments += [
            RecordedMoment(begin, upserted(group, pod)),
            RecordedMoment(begin, upserted(running)),
            RecordedMoment(begin + seconds, upserted(succeeded(running))),
            RecordedMoment(
                begin + 50, [Deleted(kind="Pod", key="team/a-0"), Deleted(kind="PodGroup", key="team/a")]
            ),
        ]
    found = workload(*moments)
    assert names(found.arrivals()) == [(10, ["a", "a-0"]), (100, ["a-2", "a-0-2"])]
    pods = [one for arrival in found.arrivals() for one in arrival.objects if isinstance(one, Pod)]
    assert [one.metadata.annotations[GROUP_ANNOTATION] for one in pods] == ["a", "a-2"]
    assert [found.run_time(one) for one in pods] == [5, 8]


def test_nodes_and_queues_change_when_they_changed() -> None:
    changed = msgspec.structs.replace(queue("q"), metadata=QueueMetadata(name="q", resource_version="7"))
    found = workload(
        RecordedMoment(START, upserted(node("n", 1), queue("q"))),
        RecordedMoment(START + 1, upserted(changed)),  # only its version
        RecordedMoment(START + 2, upserted(queue("q", 5), node("m", 2))),
        RecordedMoment(START + 3, [Deleted(kind="Node", key="n")]),
    )
    assert [one.metadata.name for one in found.objects] == ["n", "q"]
    assert names(found.arrivals()) == [(2, ["q", "m"]), (3, ["n"])]
    gone = [one for arrival in found.arrivals() for one in arrival.objects][-1]
    assert isinstance(gone, Node)
    assert gone.spec.unschedulable


def test_what_was_deleted_while_no_scheduler_ran_is_gone_when_the_next_starts() -> None:
    first, stays = job("a")
    second, leaves = job("b")
    running = [on(stays, "n", START), on(leaves, "n", START)]
    found = workload(
        RecordedMoment(START, upserted(node("n", 2), first, second, *running), restarts=True),
        RecordedMoment(START + 100, upserted(node("n", 2), first, running[0]), restarts=True),
        RecordedMoment(START + 200, upserted(succeeded(running[0]))),
    )
    assert [found.run_time(pod) for pod in running] == [200, 100]
    assert len(names(found.arrivals())) == 1


def test_a_recording_without_a_decision_says_so() -> None:
    with pytest.raises(TraceError, match="no decision in the recording"):
        workload()
