"""The engine in virtual time, in worlds that are small enough to be computed by hand."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest

from maar.core.answers.plan.ask import plan_data
from maar.core.engine import Brevity
from maar.core.model.kinds import to_json
from maar.core.model.metadata import Condition, Metadata, Object
from maar.core.model.node import Node, NodeStatus
from maar.core.model.plan import Plan
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Guarantee, Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.core.simulation.jobs import JobArrivals, TraceJob
from maar.core.simulation.virtual_time import Arrival, Simulation
from maar.core.simulation.workloads import GpuMix, JobMix, synthetic_jobs

START = 1_700_000_000.0


def node(name: str, cpu: int) -> Node:
    """A node with so many CPUs."""
    size = Resources({"cpu": cpu * 1000, "pods": 110})
    ready = (Condition(type="Ready", status="True"),)
    return Node(metadata=Metadata(name=name), status=NodeStatus(allocatable=size, conditions=ready))


def job(
    name: str,
    runs: Iterable[float],
    cpu: int = 1,
    *,
    queue: str = "default",
    priority: str = "",
    least: int = 0,
) -> list[Object]:
    """A group of pods, each with its run time as a label; a gang unless fewer are enough."""
    run_times = list(runs)
    one = Container(resources=ResourceRequirements(requests=Resources({"cpu": cpu * 1000})))
    spec = PodSpec(containers=(one,), priority_class_name=priority, scheduler_name="volcano")
    group_spec = PodGroupSpec(min_member=least or len(run_times), queue=queue, priority_class_name=priority)
    group = PodGroup(metadata=Metadata(name=name, namespace="team"), spec=group_spec)
    pods = [
        Pod(
            metadata=Metadata(
                name=f"{name}-{index}",
                namespace="team",
                labels={"runs-for": str(seconds)},
                annotations={GROUP_ANNOTATION: name},
            ),
            spec=spec,
        )
        for index, seconds in enumerate(run_times)
    ]
    return [group, *pods]


def run_time(pod: Pod) -> float | None:
    """What the label says; a pod without it never ends."""
    text = pod.metadata.labels.get("runs-for")
    return float(text) if text else None


def finished(simulation: Simulation) -> dict[str, tuple[float, float]]:
    """Run to the end; gives by job when it started and ended, from the start on."""
    for _ in simulation.run():
        pass
    times = simulation.times()
    rows = zip(times.group, times.started - START, times.ended - START, strict=True)
    return {key.removeprefix("team/"): (started, ended) for key, started, ended in rows}


def test_on_one_node_jobs_run_in_the_order_in_which_they_come() -> None:
    simulation = Simulation([node("n", 1)], run_time, start=START)
    for index, (comes, runs) in enumerate([(0, 100), (10, 50), (20, 5), (400, 1)]):
        simulation.submit(START + comes, job(f"j{index}", [runs]))
    assert finished(simulation) == {"j0": (0, 100), "j1": (100, 150), "j2": (150, 155), "j3": (400, 401)}
    times = simulation.times()
    assert (times.submitted - START).tolist() == [0, 10, 20, 400]
    assert times.pods.tolist() == [1, 1, 1, 1]
    assert times.queue == ["default"] * 4
    assert not times.evictions.any()


def test_a_gang_waits_until_all_of_it_has_room_and_ends_with_its_last_pod() -> None:
    simulation = Simulation([node("a", 2), node("b", 2)], run_time, start=START)
    simulation.submit(START, job("first", [30, 60], cpu=2))
    simulation.submit(START + 1, job("gang", [10, 20, 40], cpu=1))
    simulation.submit(START + 2, job("small", [100], cpu=1))
    # Room for two pods comes at 30, of which the smaller job takes one; the rest of it at 60.
    assert finished(simulation) == {"first": (0, 60), "small": (30, 130), "gang": (60, 100)}


def test_pods_of_a_gang_that_have_ended_still_count_towards_it() -> None:
    simulation = Simulation([node("n", 2)], run_time, start=START)
    simulation.submit(START, job("gang", [10, 100]))
    simulation.submit(START + 1, job("next", [10]))
    assert finished(simulation) == {"gang": (0, 100), "next": (10, 20)}
    assert simulation.times().evictions.tolist() == [0, 0]


def test_surplus_pods_start_one_by_one_and_the_group_ends_with_the_last() -> None:
    simulation = Simulation([node("n", 1)], run_time, start=START)
    simulation.submit(START, job("elastic", [10, 10, 10], least=1))
    assert finished(simulation) == {"elastic": (0, 30)}


def test_an_evicted_pod_loses_its_work_and_starts_anew() -> None:
    high = PriorityClass(metadata=Metadata(name="high"), value=10)
    simulation = Simulation([node("n", 1), high], run_time, start=START)
    simulation.submit(START, job("long", [100]))
    simulation.submit(START + 40, job("urgent", [10], priority="high"))
    assert finished(simulation) == {"urgent": (40, 50), "long": (0, 150)}
    times = simulation.times()
    assert dict(zip(times.group, times.evictions, strict=True)) == {"team/long": 1, "team/urgent": 0}
    assert dict(zip(times.group, times.wasted, strict=True)) == {"team/long": 40.0, "team/urgent": 0.0}


def test_room_that_reclaim_frees_is_used_at_the_same_moment() -> None:
    queues = [Queue(metadata=QueueMetadata(name=name), spec=QueueSpec(weight=1)) for name in ("a", "b")]
    simulation = Simulation([node("n", 2), *queues], run_time, start=START)
    simulation.submit(START, [one for index in range(2) for one in job(f"a{index}", [100], queue="a")])
    simulation.submit(START + 30, job("b0", [100], queue="b"))
    assert finished(simulation) == {"a0": (0, 100), "b0": (30, 130), "a1": (0, 200)}
    assert simulation.times().wasted.tolist() == [0.0, 30.0, 0.0]


def test_a_pod_that_never_ends_keeps_its_room() -> None:
    simulation = Simulation([node("n", 1), *job("service", [5])], lambda _: None, start=START)
    simulation.submit(START + 1, job("behind", [5]))
    (started, ended), behind = finished(simulation).values()
    assert started == 0
    assert np.isnan(ended)
    assert np.isnan(behind[0])
    assert simulation.time == START + 1


def test_pods_that_run_already_end_by_their_start_time() -> None:
    group, pod = job("old", [100])
    assert isinstance(pod, Pod)
    started = datetime.fromtimestamp(START - 70, UTC)
    status = msgspec.structs.replace(pod.status, phase="Running", start_time=started)
    running = msgspec.structs.replace(
        pod, spec=msgspec.structs.replace(pod.spec, node_name="n"), status=status
    )
    simulation = Simulation([node("n", 1), group, running], run_time, start=START)
    simulation.submit(START, job("next", [1]))
    assert finished(simulation) == {"old": (0, 30), "next": (30, 31)}


def test_pods_start_with_the_time_at_which_they_are_bound() -> None:
    simulation = Simulation([node("n", 1)], run_time, start=START)
    simulation.submit(START, job("first", [1.25]))
    simulation.submit(START + 0.1, job("second", [7.0]))
    for time, plan in simulation.run(START + 3):
        for bind in plan.binds:
            assert simulation.engine.tables.pods[bind.pod].started == time == simulation.time
    assert simulation.time == START + 1.25
    assert simulation.cluster.groups["team/second"].status.phase == "Running"


def test_a_plan_that_asks_for_it_is_decided_again_at_that_time() -> None:
    simulation = Simulation([node("n", 1), *job("only", [100])], run_time, start=START)
    decide, asked = simulation.engine.decide, [START + 7.5, START + 8.25]

    def decided(now: float, *, is_brief: Brevity = False) -> Plan:
        later = next((one for one in asked if one > now), None)
        return msgspec.structs.replace(decide(now, is_brief=is_brief), decide_again_at=later)

    simulation.engine.decide = decided  # type: ignore[method-assign]
    moments = [time - START for time, _ in simulation.run()]
    assert moments == [0, 7.5, 8.25, 100]


def test_a_grace_period_that_is_over_is_decided_on_though_nothing_else_happens() -> None:
    guarantee = Guarantee(resource=Resources({"cpu": 2000}))
    reserved = Queue(metadata=QueueMetadata(name="a"), spec=QueueSpec(guarantee=guarantee))
    starving, others = job("starving", [1e6] * 3, queue="b"), job("others", [1e6] * 3, queue="b")
    on_nodes = [on(one, "n") if one.key == "team/starving-0" else one for one in starving]
    on_nodes += [on(one, "n") for one in others]
    objects = [node("n", 4), reserved, Queue(metadata=QueueMetadata(name="b")), *on_nodes]
    simulation = Simulation(objects, run_time, start=START)
    evicted = [
        (time, one.pod, one.action)
        for time, plan in simulation.run(until=START + 3600)
        for one in plan.evictions
    ]
    assert evicted == [(START + 60.000001, "team/starving-0", "cleanup")]


def on(one: Object, name: str) -> Object:
    """A pod that runs on a node; anything else as it is."""
    if not isinstance(one, Pod):
        return one
    spec = msgspec.structs.replace(one.spec, node_name=name)
    return msgspec.structs.replace(
        one, spec=spec, status=msgspec.structs.replace(one.status, phase="Running")
    )


def test_every_moment_is_decided_until_nothing_changes() -> None:
    simulation = Simulation([node("n", 1), *job("a", [10]), *job("b", [10])], run_time, start=START)
    plans = [(time - START, [one.pod for one in plan.binds]) for time, plan in simulation.run()]
    assert plans == [(0, ["team/a-0"]), (0, []), (10, ["team/b-0"]), (20, [])]
    assert simulation.decisions == len(plans)


def test_a_run_can_be_left_and_gone_on_with() -> None:
    whole = Simulation([node("n", 1), *job("a", [10]), *job("b", [10])], run_time, start=START)
    expected = [plan_data(plan) for _, plan in whole.run()]
    parts = Simulation([node("n", 1), *job("a", [10]), *job("b", [10])], run_time, start=START)
    found = [plan_data(next(parts.run())[1]) for _ in expected]
    assert found == expected
    assert list(parts.run()) == []


@pytest.mark.parametrize("kept", [0.0, 15.0])
def test_groups_that_have_ended_are_removed(kept: float) -> None:
    simulation = Simulation([node("n", 1)], run_time, start=START, keep_finished=kept)
    for index in range(50):
        simulation.submit(START + 10 * index, job(f"j{index:02}", [5]))
    most, phases = 0, set[str]()
    for _ in simulation.run():
        known = simulation.engine.tables
        most = max(most, len(known.groups), len(known.pods), len(simulation.cluster.pods))
        phases |= {one.status.phase for one in simulation.cluster.groups.values()}
    assert most == (2 if kept else 1)
    assert ("Completed" in phases) == bool(kept)
    assert (simulation.times().ended - START).tolist() == [10 * index + 5 for index in range(50)]


def test_what_arrives_too_late_or_twice_is_refused() -> None:
    simulation = Simulation([node("n", 1)], run_time, start=START)
    with pytest.raises(ValueError, match="submit them in order of time"):
        simulation.submit(START - 1, job("early", [1]))
    simulation.submit(START, [*job("once", [1]), *job("once", [1])])
    with pytest.raises(ValueError, match="pod team/once-0 arrives a second time"):
        next(simulation.run())


def test_arrivals_are_made_when_they_are_due() -> None:
    made = []

    def arrivals() -> Iterable[Arrival]:
        for index in range(5):
            made.append(index)
            yield Arrival(START + 10 * index, job(f"j{index}", [1]))

    simulation = Simulation([node("n", 1)], run_time, start=START)
    simulation.submit_all(arrivals())
    for _ in simulation.run(START + 20):
        pass
    assert made == [0, 1, 2, 3]


def synthetic(seed: int, **changes: Any) -> list[TraceJob]:  # noqa: ANN401 - fields of any type
    """Some jobs for four nodes of four CPUs."""
    mix = JobMix(jobs=20, cluster_cpu=16_000, largest_job_cpu=16_000, largest_pod_cpu=4_000)
    return synthetic_jobs(replace(mix, **changes), Random(seed), START)


def history(seed: int) -> bytes:
    """All plans of a simulated workload, and what became of the jobs."""
    workload = JobArrivals(synthetic(seed, queues={"default": 1.0, "other": 2.0}, namespaces=3))
    other = Queue(metadata=QueueMetadata(name="other"))
    simulation = Simulation([*(node(f"n{n}", 4) for n in range(4)), other], workload.run_time, start=START)
    simulation.submit_all(workload.arrivals())
    plans = [(time, plan) for time, plan in simulation.run()]
    return to_json((plans, [list(map(str, column)) for column in simulation.times()]))


def test_the_same_input_gives_the_same_bytes() -> None:
    assert history(3) == history(3)
    assert history(3) != history(4)


def work(jobs: Iterable[TraceJob], resource: str = "cpu") -> float:
    """What jobs use of a resource, times seconds."""
    return sum(one.total.get(resource, 0) * one.run_time for one in jobs)


def test_a_workload_asks_for_exactly_the_part_of_the_cluster_that_is_wanted() -> None:
    jobs = synthetic(1, jobs=500, load=1.05)
    length = jobs[-1].time - START
    assert work(jobs) / length / 16_000 == pytest.approx(1.05, abs=0.001)
    assert [one.time for one in jobs] == sorted(one.time for one in jobs)


def test_jobs_of_a_workload_are_gangs_of_equal_pods_of_all_sizes() -> None:
    jobs = synthetic(2, jobs=500)
    assert {one.total["cpu"] for one in jobs} == {1000, 2000, 4000, 8000, 16_000}
    assert {(one.pods, one.requests["cpu"]) for one in jobs if one.total["cpu"] == 16_000} == {(4, 4000)}
    arrival = next(JobArrivals(jobs).arrivals())
    group, *pods = arrival.objects
    assert isinstance(group, PodGroup)
    assert group.spec.min_member == len(pods) == jobs[0].pods


def test_jobs_of_a_workload_may_ask_for_gpus_and_have_priorities() -> None:
    gpus = GpuMix(cluster=16, share=0.25, largest_job=16, largest_pod=4, cpu_per_gpu=500)
    jobs = synthetic(3, jobs=2000, gpus=gpus, priorities={0: 3.0, 100: 1.0}, load=0.8)
    with_gpus = [one for one in jobs if gpus.resource in one.requests]
    assert len(with_gpus) / 2000 == pytest.approx(0.25, abs=0.03)
    assert {one.total[gpus.resource] for one in with_gpus} == {1, 2, 4, 8, 16}
    assert {one.requests[gpus.resource] for one in with_gpus} == {1, 2, 4}
    assert all(one.requests["cpu"] == 500 * one.requests[gpus.resource] for one in with_gpus)
    assert sum(one.priority == 100 for one in jobs) / 2000 == pytest.approx(0.25, abs=0.03)
    length = jobs[-1].time - START
    loads = work(jobs) / length / 16_000, work(jobs, gpus.resource) / length / 16
    assert max(loads) == pytest.approx(0.8, abs=0.001)
    pod = list(next(JobArrivals(jobs).arrivals()).objects)[-1]
    assert isinstance(pod, Pod)
    assert pod.spec.priority == jobs[0].priority


@pytest.mark.parametrize("kind", ["exact", "bound", "none"])
def test_estimates_are_exact_or_upper_bounds_or_missing(kind: str) -> None:
    jobs = synthetic(2, estimates=kind)
    workload = JobArrivals(jobs)
    for job_drawn, arrival in zip(jobs, workload.arrivals(), strict=True):
        pod = list(arrival.objects)[-1]
        assert isinstance(pod, Pod)
        stated = pod.metadata.annotations.get(EXPECTED_RUN_TIME)
        true = workload.run_time(pod)
        assert true == job_drawn.run_time
        if kind == "none":
            assert stated is None
        else:
            assert stated is not None
            seconds = float(stated.removesuffix("s"))
            assert seconds == true if kind == "exact" else seconds > true
