"""Jobs of batch/v1 that are suspended and resumed while programs are killed, or do not work for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.batch_job_world import BatchJobWorld
from support.embedded import opened

FOR = "maar.sh/suspended-for"
HALF_S = 31.0  # more than half of the time for which room is promised


@contextmanager
def two_nodes() -> Iterator[BatchJobWorld]:
    """A gang of 2 has the cluster of two CPUs, of which half belongs to another queue."""
    with TemporaryDirectory() as folder, opened(Path(folder)) as embedded:
        world = BatchJobWorld(embedded)
        for node in ("n1", "n2"):
            world.node(node, 1)
        for queue in ("a", "b"):
            world.queue(queue)
        world.job("large", "b", 2, 2)
        world.rounds(2)
        assert world.running("large") == 2
        yield world


def there_and_back(world: BatchJobWorld) -> None:
    """The gang is suspended for another job, and resumed when that has gone."""
    uid = world.group("large").metadata.uid
    world.job("small", "a", 1)
    world.rounds(6)
    assert (world.running("small"), world.running("large")) == (1, 0)
    assert world.get("large")["spec"]["suspend"] is True
    world.embedded.cluster.delete("jobs.batch", "default", "small")
    world.rounds(6)
    job = world.get("large")
    assert world.running("large") == 2
    assert job["spec"]["suspend"] is False
    assert FOR not in job["metadata"].get("annotations", {})
    assert job["status"].get("failed", 0) == 0
    assert world.group("large").metadata.uid == uid  # its place is kept


@pytest.mark.parametrize("program", ["scheduler", "controllers"])
def test_a_program_may_be_killed_before_any_of_its_writes(program: str) -> None:
    """One after the other, until it has no more writes than that."""
    number = kills = 0
    while kills == number:
        number += 1
        with two_nodes() as world:
            before = world.writes[program]
            world.killed_at = (program, before + number)
            there_and_back(world)
            kills += world.writes[program] >= before + number
    assert kills >= {"scheduler": 8, "controllers": 5}[program]


def suspended_and_promised(world: BatchJobWorld, *others: str) -> None:
    """The gang is suspended, and its room has just been promised; others of its size come after it."""
    world.job("small", "a", 1)
    world.rounds(6)
    for name in others:
        world.job(name, "b", 2, 2)
    world.embedded.cluster.delete("jobs.batch", "default", "small")
    for _ in range(4):
        world.embedded.settle()
        world.control()
        world.kubelets()
    world.schedule()
    assert world.resumed == [world.group("large").key]


def test_room_that_nobody_takes_within_the_minute_goes_to_others() -> None:
    with two_nodes() as world:
        suspended_and_promised(world, "other")
        world.control()
        assert world.get("large")["spec"]["suspend"] is False
        world.schedule()  # the Job's controller makes no pods
        assert world.running("other") == 0
        group = world.group("large").key
        world.embedded.clock.now += 2 * HALF_S
        world.control()
        world.schedule()
        assert group not in world.engine.tables.groups  # as that of any Job without pods
        assert world.running("other") == 2


def test_controllers_that_come_back_after_the_minute_resume_by_a_new_promise() -> None:
    with two_nodes() as world:
        suspended_and_promised(world)
        world.embedded.clock.now += 2 * HALF_S
        world.control()
        assert world.get("large")["spec"]["suspend"] is True  # what was promised has ended
        world.rounds(4)
        assert len(world.resumed) == 2
        assert world.running("large") == 2


def test_a_promise_that_half_of_the_minute_has_gone_of_is_kept() -> None:
    with two_nodes() as world:
        suspended_and_promised(world)
        world.embedded.clock.now += HALF_S
        world.control()
        assert world.get("large")["spec"]["suspend"] is False
        world.rounds(3)
        assert world.running("large") == 2
        assert len(world.resumed) == 1
