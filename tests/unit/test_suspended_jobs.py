"""Jobs of batch/v1 are evicted by suspending them, and resumed when their turn comes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.batch_job_world import BatchJobWorld
from support.embedded import opened

FOR = "maar.sh/suspended-for"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[BatchJobWorld]:
    with opened(tmp_path) as embedded:
        made = BatchJobWorld(embedded)
        made.node("n1", 4)
        made.node("n2", 4)
        made.queue("a")
        made.queue("b")
        yield made


def reclaimed(world: BatchJobWorld) -> None:
    """A gang of 8 has lost the cluster to one of 4 that its queue takes back."""
    world.job("large", "b", 8, 8)
    world.rounds(3)
    assert world.running("large") == 8
    world.job("small", "a", 4, 4)
    world.rounds(4)
    assert world.running("small") == 4


def test_a_gang_that_is_reclaimed_is_suspended_and_nothing_counts_as_failed(world: BatchJobWorld) -> None:
    reclaimed(world)
    job = world.get("large")
    assert job["spec"]["suspend"] is True
    assert job["metadata"]["annotations"][FOR] == world.group("small").key
    assert world.pods("large") == []
    assert job["status"].get("failed", 0) == 0
    assert world.condition("large", "Suspended")
    assert not world.condition("large", "Failed")
    assert ("SuspendedByMaar", "default/large") in world.events


def test_its_group_stays_and_waits_with_its_reason_for_its_turn(world: BatchJobWorld) -> None:
    world.job("large", "b", 8, 8)
    world.rounds(3)
    before = world.group("large")
    world.job("small", "a", 4, 4)
    world.rounds(6)
    group = world.group("large")
    assert group.metadata.uid == before.metadata.uid
    assert group.status.phase == "Pending"
    outcome = world.plan.pod_groups[group.key]
    assert outcome.message.startswith(
        f"its pods were evicted for {world.group('small').key}, and Maar has suspended their Job, which is "
        "resumed when its turn comes; "
    )


def test_it_is_resumed_when_its_turn_comes_and_runs_on_the_promised_nodes(world: BatchJobWorld) -> None:
    reclaimed(world)
    world.embedded.cluster.delete("jobs.batch", "default", "small")
    world.rounds(4)
    job = world.get("large")
    assert world.running("large") == 8
    assert job["spec"]["suspend"] is False
    assert FOR not in job["metadata"].get("annotations", {})
    assert job["status"].get("failed", 0) == 0
    assert world.resumed == [world.group("large").key]
    assert ("ResumedByMaar", "default/large") in world.events


@pytest.mark.parametrize("second", ["a", "b"], ids=["in one queue", "in two queues"])
def test_of_half_gangs_that_wait_for_each_other_one_is_suspended(world: BatchJobWorld, second: str) -> None:
    names, nodes = ("first", "second"), ("n1", "n2")
    for name, queue, cpu in (("first", "a", "2"), ("second", second, "4")):  # two of each on each node
        for node in nodes:
            world.embedded.edit(
                "nodes", node, "status", "", status={"allocatable": {"cpu": cpu, "pods": "9"}}
            )
        world.job(name, queue, 4, 4)
        world.rounds(3)
    pods = {
        pod["metadata"]["name"]: pod["spec"].get("nodeName") for name in names for pod in world.pods(name)
    }
    assert sorted(pods.values()) == ["n1"] * 4 + ["n2"] * 4
    world.embedded.edit("nodes", "n2", "", "", spec={"unschedulable": True})
    for pod in [pod for pod, node in pods.items() if node == "n2"]:
        world.embedded.cluster.delete("pods", "default", pod)
    world.rounds(12, seconds=20)
    assert sorted(map(world.running, names)) == [0, 4]
    assert world.get(min(names, key=world.running))["spec"]["suspend"] is True
    world.embedded.edit("nodes", "n2", "", "", spec={"unschedulable": False})
    world.rounds(6)
    assert [world.running(name) for name in names] == [4, 4]
    assert [world.get(name)["status"].get("failed", 0) for name in names] == [2, 2], "those that were deleted"
