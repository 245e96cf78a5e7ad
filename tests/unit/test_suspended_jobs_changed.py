"""Jobs of batch/v1 that Maar has suspended after pods have ended, and what others do to them meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.batch_job_world import GROUPS, JOBS, BatchJobWorld
from support.embedded import opened

FOR = "maar.sh/suspended-for"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[BatchJobWorld]:
    """A gang of 8 has eight CPUs, of which half belong to another queue."""
    with opened(tmp_path) as embedded:
        made = BatchJobWorld(embedded)
        for node in ("n1", "n2"):
            made.node(node, 4)
        for queue in ("a", "b"):
            made.queue(queue)
        made.job("large", "b", 8, 8)
        made.rounds(3)
        assert made.running("large") == 8
        yield made


def succeed(world: BatchJobWorld, count: int) -> list[str]:
    """So many pods of the gang end well; their names."""
    names = [one["metadata"]["name"] for one in world.pods("large")][:count]
    for name in names:
        world.embedded.edit("pods", name, "status", status={"phase": "Succeeded"})
    world.rounds(1)
    return names


def suspend(world: BatchJobWorld) -> None:
    """The other queue takes its half."""
    world.job("small", "a", 4, 4)
    world.rounds(5)
    assert world.running("small") == 4
    assert world.get("large")["spec"]["suspend"] is True


def end_of_the_other(world: BatchJobWorld) -> None:
    world.embedded.cluster.delete(JOBS, "default", "small")
    world.rounds(5)


def test_it_is_resumed_though_pods_that_succeeded_were_deleted_meanwhile(world: BatchJobWorld) -> None:
    names = succeed(world, 3)
    suspend(world)
    for name in names:  # as the collector of ended pods does
        world.embedded.cluster.delete("pods", "default", name)
    world.rounds(2)
    end_of_the_other(world)
    assert world.running("large") == 5
    assert world.get("large")["status"].get("failed", 0) == 0


def test_it_asks_for_no_room_for_pods_that_have_succeeded(world: BatchJobWorld) -> None:
    succeed(world, 3)
    suspend(world)
    world.job("rest", "a", 3, 3)
    world.rounds(2)
    end_of_the_other(world)
    assert (world.running("rest"), world.running("large")) == (3, 5)


def test_a_pod_that_is_tried_again_needs_no_room_for_those_that_have_succeeded(world: BatchJobWorld) -> None:
    succeed(world, 7)
    world.job("others", "a", 7, 7)
    world.rounds(3)
    (last,) = world.pods("large")
    world.embedded.edit("pods", last["metadata"]["name"], "status", status={"phase": "Failed"})
    world.rounds(1)
    world.embedded.clock.now += 60  # the Job's controller waits before it tries again
    world.rounds(4)
    assert (world.running("others"), world.running("large")) == (7, 1)


def test_what_is_left_of_a_job_whose_minimum_has_succeeded_needs_room_for_one_pod(tmp_path: Path) -> None:
    with opened(tmp_path) as embedded:
        world = BatchJobWorld(embedded)
        world.node("n1", 4)
        world.queue("a")
        world.job("first", "a", 2, 2, completions=4)
        world.rounds(3)
        for pod in world.pods("first"):
            world.embedded.edit("pods", pod["metadata"]["name"], "status", status={"phase": "Succeeded"})
        world.job("second", "a", 3, 3)
        world.schedule()  # before there are other pods of the first
        world.rounds(4)
        assert (world.running("second"), world.running("first")) == (3, 1)


def test_its_group_is_made_again_when_somebody_deletes_it(world: BatchJobWorld) -> None:
    suspend(world)
    world.embedded.cluster.delete(GROUPS, "default", world.group("large").metadata.name)
    world.rounds(2)
    end_of_the_other(world)
    assert world.running("large") == 8
    assert FOR not in world.get("large")["metadata"].get("annotations", {})


def test_its_group_keeps_the_priority_class_that_admission_gives_its_pods(tmp_path: Path) -> None:
    with opened(tmp_path) as embedded:
        world = BatchJobWorld(embedded)
        embedded.make("priorityclasses.scheduling.k8s.io", "usual", "", value=7, globalDefault=True)
        world.node("n1", 2)
        for queue in ("a", "b"):
            world.queue(queue)
        world.job("large", "b", 2, 2)
        world.rounds(3)
        assert world.group("large").spec.priority_class_name == "usual"
        world.job("small", "a", 1)
        world.rounds(5)
        assert world.get("large")["spec"]["suspend"] is True
        assert world.group("large").spec.priority_class_name == "usual"


def test_who_resumes_it_has_it_wait_for_room_as_any_other(world: BatchJobWorld) -> None:
    suspend(world)
    world.edit_job("large", {"spec": {"suspend": False}})
    world.rounds(4)
    job = world.get("large")
    assert (job["spec"]["suspend"], FOR in job["metadata"].get("annotations", {})) == (False, False)
    assert (world.running("large"), len(world.pods("large"))) == (0, 8)
    end_of_the_other(world)
    assert world.running("large") == 8


def test_it_stays_suspended_where_somebody_has_suspended_it_first(world: BatchJobWorld) -> None:
    world.job("small", "a", 4, 4)
    world.embedded.settle()
    world.control()
    assert world.schedule().evictions
    world.edit_job("large", {"spec": {"suspend": True}})  # before the controllers do
    world.rounds(4)
    assert world.running("small") == 4
    end_of_the_other(world)
    assert world.running("large") == 0
    assert world.get("large")["spec"]["suspend"] is True


def test_it_comes_back_when_the_group_that_it_was_evicted_for_has_gone_at_once(world: BatchJobWorld) -> None:
    world.job("small", "a", 4, 4)
    world.embedded.settle()
    world.control()
    assert world.schedule().evictions
    world.embedded.cluster.delete(JOBS, "default", "small")
    world.rounds(6)
    assert world.running("large") == 8
    assert FOR not in world.get("large")["metadata"].get("annotations", {})


@pytest.mark.parametrize(("pods", "running"), [(6, 0), (8, 8), (12, 8)])
def test_it_is_resumed_with_the_parallelism_that_somebody_has_set(
    world: BatchJobWorld, pods: int, running: int
) -> None:
    suspend(world)
    uid = world.group("large").metadata.uid
    world.edit_job("large", {"spec": {"parallelism": pods}})
    world.rounds(2)
    end_of_the_other(world)
    assert world.group("large").metadata.uid == uid
    assert world.running("large") == running, "its minimum stays 8"


def test_it_is_resumed_without_the_indexes_that_have_failed_for_good(tmp_path: Path) -> None:
    with opened(tmp_path) as embedded:
        world = BatchJobWorld(embedded)
        world.node("n1", 4)
        for queue in ("a", "b"):
            world.queue(queue)
        world.job("large", "b", 4, 4, completionMode="Indexed", backoffLimitPerIndex=0)
        world.rounds(3)
        pod = world.pods("large")[0]["metadata"]["name"]
        world.embedded.edit("pods", pod, "status", status={"phase": "Failed"})
        world.rounds(2)
        world.job("small", "a", 2, 2)
        world.rounds(5)
        assert (world.running("small"), world.running("large")) == (2, 0)
        end_of_the_other(world)
        assert world.running("large") == 3
        assert not world.condition("large", "Failed")
