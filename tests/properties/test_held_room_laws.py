"""The laws of plans and of reasons on random clusters in which room is held."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, cast

import pytest

from maar.apps.snapshots.configuration import from_recorded
from maar.apps.snapshots.files import read
from maar.apps.snapshots.plan import plans_from
from maar.apps.snapshots.taking import Taken
from maar.core.answers.plan.ask import plan_data, plans, whole
from maar.core.engine import Engine
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.reasons import Reason
from maar.core.policy.configuration import DEFAULT, parse
from maar.core.views.objects import Seen
from properties.cluster_manifests import NOW
from properties.cluster_recipe import Reach
from properties.cluster_trials import Case, Trial
from properties.clusters import WITH_SLA, Cluster, recipes
from properties.held_room_checkers import unstated, waiting_long
from properties.how_many import cases
from properties.law_checkers import OF_PLANS
from properties.test_reason_laws import (
    CURES,
    CYCLES,
    NO_NODES_FOR,
    becomes_of,
    carried_out,
    decided,
    left,
    nodes_for,
    other_nodes,
    waiting,
)

CLUSTERS: Final = {Reach.MODEL: max(cases(250), 150), Reach.BEYOND: cases(40)}  # room is held in few of them
LAWS: Final = ("C1", "C2", "C3", "C6")  # the others ask what queues use, and held room counts there
OF_HELD_ROOM: Final = (Reason.ROOM_HELD, Reason.PLANNED_START)


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


@pytest.mark.parametrize("reach", CLUSTERS, ids=lambda reach: reach.name)
def test_laws_hold_where_room_is_held(reach: Reach, trial: Trial) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        seen.update(one["reason"] for one in case.cycle["podGroups"].values())
        for law in LAWS:
            yield from (f"{law} {breach}" for breach in OF_PLANS[law](case.outcome))

    trial.of(check, recipes(reach), CLUSTERS[reach], waiting_long)
    assert seen[Reason.PLANNED_START] > 1, seen
    assert seen[Reason.ROOM_HELD] or reach is Reach.BEYOND, seen  # rare where little suits the pods


@pytest.mark.parametrize("reach", CLUSTERS, ids=lambda reach: reach.name)
def test_r1_and_r2_hold_for_the_reasons_of_held_room(reach: Reach, trial: Trial) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        [plan] = decided(case.cluster, 1)
        for group, refusal, pods in waiting(case):
            if refusal.reason not in OF_HELD_ROOM:
                continue
            seen[refusal.reason] += 1
            cured = CURES[refusal.cure](case.cluster, group, refusal, left(case, group, pods))
            if becomes_of(cured, group, refusal, pods) == "waits for the same":
                yield f"R1 {refusal.reason}: {group} waits all the same: {refusal}"
            cluster = carried_out(case.cluster, plan, group)
            larger = (other_nodes(cluster, group, refusal, pods), nodes_for(cluster, pods))
            starts = any(becomes_of(one, group, refusal, pods, CYCLES) == "starts" for one in larger)
            if refusal.more_nodes_help and not starts:
                yield f"R2 {refusal.reason}: {group} does not start with more nodes: {refusal}"

    assert not set(OF_HELD_ROOM) & set(NO_NODES_FOR)
    trial.of(check, recipes(reach), CLUSTERS[reach], waiting_long)
    assert seen[Reason.PLANNED_START] > 0, seen
    assert seen[Reason.ROOM_HELD] or reach is Reach.BEYOND, seen


def test_p4_without_the_plugin_nothing_is_held_whatever_is_written(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        """Nothing that is written for held room changes a plan; and no plan without it is changed."""
        unmarked = Cluster(
            [one if one["kind"] == "Node" else unstated(one) for one in case.cluster.documents]
        )
        without = [plan_data(plan) for plan in plans(case.cluster.objects, DEFAULT, NOW)]
        if without != [plan_data(plan) for plan in plans(unmarked.objects, DEFAULT, NOW)]:
            yield "annotations and conditions of held room change a plan without the plugin"
        if without != [plan_data(plan) for plan in plans(unmarked.objects, parse(WITH_SLA), NOW)]:
            yield "the plugin changes a plan in which nobody has a waiting time"

    trial.of(check, recipes(Reach.MODEL), CLUSTERS[Reach.MODEL] // 2, waiting_long)


def test_a_snapshot_with_held_room_gives_the_same_plan(trial: Trial, tmp_path: Path) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        engine, now = Engine(parse(case.cluster.configuration)), NOW.timestamp()
        engine.feed([Upserted(object=cast("AnyObject", one)) for one in case.cluster.objects])
        plan = engine.decide(now)
        taken = Taken(
            Seen.of(engine.tables), engine.configuration, now, whole(plan, engine.tables.groups.values())
        )
        found = read(taken.write(tmp_path))
        assert found is not None
        snapshot, objects = found
        [again] = plans_from(snapshot, objects, from_recorded(snapshot.configuration), snapshot.time)
        seen["heldRoom"] += "heldRoom" in plan_data(again)
        if json.dumps(plan_data(again)) != json.dumps(snapshot.plan):
            yield f"the plan was {snapshot.plan}, and then {plan_data(again)}"

    trial.of(check, recipes(Reach.MODEL), CLUSTERS[Reach.MODEL] // 2, waiting_long)
    assert seen["heldRoom"] > 1
