"""Answers about Jobs of batch/v1 that Maar has suspended: they wait like others; those of users do not."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from maar.core.answers.explain.ask import Explainer, GroupExplanation
from maar.core.answers.explain.subject import find_subject
from maar.core.answers.future import Present
from maar.core.answers.plan.ask import plan_data
from maar.core.answers.starts.ask import planned_starts
from maar.core.answers.whatif.ask import what_if
from maar.core.answers.whatif.changes import DeleteObject
from maar.core.engine import Engine
from maar.core.model.events import Upserted
from maar.core.model.kinds import from_json
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.core.model.workload import SUSPENDED_FOR_ANNOTATION
from maar.core.views.objects import Seen
from support.batch_job_world import KINDS, BatchJobWorld
from support.embedded import opened


@pytest.fixture
def world(tmp_path: Path) -> Iterator[BatchJobWorld]:
    """A gang of 8 is suspended for one of 4 that runs for an hour."""
    with opened(tmp_path) as embedded:
        made = BatchJobWorld(embedded)
        for node in ("n1", "n2"):
            made.node(node, 4)
        for queue in ("a", "b"):
            made.queue(queue)
        made.job("large", "b", 8, 8)
        made.rounds(3)
        made.job("small", "a", 4, 4, notes={EXPECTED_RUN_TIME: "1h"})
        made.rounds(6)
        assert (made.running("large"), made.running("small")) == (0, 4)
        yield made


def present(world: BatchJobWorld) -> Present:
    """Everything that is stored, as commands read it."""
    stored = [(kind, one) for plural, kind in KINDS.items() for one in world.embedded.cluster.all(plural)]
    objects = tuple(from_json(kind, json.dumps(one).encode()) for kind, one in stored)
    return Present(objects, now=world.embedded.clock.now)


def explained(world: BatchJobWorld, job: str) -> GroupExplanation:
    known = present(world)
    subject = find_subject(known.objects, "job", f"default/{job}")
    assert subject is not None
    return Explainer(known, subject).explanation()


def test_its_planned_start_is_the_end_of_what_runs_with_as_many_pods_as_it_has(world: BatchJobWorld) -> None:
    known = present(world)
    starts = planned_starts(known)
    start = starts[world.group("large").key]
    assert start.certainty == "exact"
    assert start.because == ""
    assert start.time is not None
    assert 3600 - 10 <= start.time - known.now <= 3600
    scheduler = planned_starts(replace(known, objects=tuple(Seen.of(world.engine.tables).objects())))
    assert scheduler == starts


def test_it_is_explained_as_a_group_that_waits_in_its_place(world: BatchJobWorld) -> None:
    found = explained(world, "large")
    assert (found.state, found.phase) == ("waits", "Pending")
    assert found.message.startswith(f"its pods were evicted for {world.group('small').key}, and Maar has")
    assert found.pods is not None
    assert (found.pods.placed, found.pods.least) == (0, 8)
    assert found.order is not None
    assert found.order.place == 1


def test_a_what_if_starts_all_of_its_pods_once(world: BatchJobWorld) -> None:
    group = world.group("large").key
    answer = what_if(present(world), [DeleteObject("job/default/small")], first_starts=5)
    row = answer.jobs.group.index(group)
    jobs = answer.jobs
    assert (jobs.running_before[row], jobs.waiting_before[row]) == (0, 8)
    assert (jobs.running_after[row], jobs.waiting_after[row]) == (8, 0)


def test_a_plan_from_a_snapshot_resumes_it_as_the_scheduler_does(world: BatchJobWorld) -> None:
    world.embedded.cluster.delete("jobs.batch", "default", "small")
    for _ in range(2):
        world.embedded.settle()
        world.kubelets()
    world.embedded.settle()
    other = Engine()
    other.feed(Upserted(object=one) for one in present(world).objects)  # type: ignore[arg-type]  # all are known kinds
    other.feed(())
    seen = Seen.of(other.tables)
    again = Engine()
    again.feed(Upserted(object=one) for one in seen.objects())  # type: ignore[arg-type]
    now = world.embedded.clock.now
    plan, expected = again.decide(now), other.decide(now)
    assert plan_data(plan) == plan_data(expected)
    assert [one.pod_group for one in plan.resumptions] == [world.group("large").key]


def test_one_that_a_user_suspended_waits_for_nobody(world: BatchJobWorld) -> None:
    group = world.group("large").key
    world.edit_job("large", {"metadata": {"annotations": {SUSPENDED_FOR_ANNOTATION: None}}})
    world.rounds(3)
    assert group not in planned_starts(present(world))
    assert group not in world.schedule().pod_groups
    found = explained(world, "large")
    assert found.pod_group == ""
    assert found.message == (
        "it is suspended (spec.suspend), and not by Maar, so it has no place in its queue; "
        "resume it: maar job resume large"
    )
