"""The laws of plans and of reasons on random clusters in which room is held."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from maar.core.model.reasons import Reason
from properties.cluster_recipe import Reach
from properties.cluster_trials import Case, Trial
from properties.clusters import recipes
from properties.held_room_checkers import waiting_long
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

CLUSTERS: Final = {Reach.MODEL: 60, Reach.BEYOND: 40}
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
    assert min(seen[reason] for reason in OF_HELD_ROOM) >= CLUSTERS[reach] // 20, seen


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
            if becomes_of(cured, group, refusal, pods) != "starts":
                yield f"R1 {refusal.reason}: {group} waits all the same: {refusal}"
            cluster = carried_out(case.cluster, plan, group)
            larger = (other_nodes(cluster, group, refusal, pods), nodes_for(cluster, pods))
            starts = any(becomes_of(one, group, refusal, pods, CYCLES) == "starts" for one in larger)
            if refusal.more_nodes_help and not starts:
                yield f"R2 {refusal.reason}: {group} does not start with more nodes: {refusal}"

    assert not set(OF_HELD_ROOM) & set(NO_NODES_FOR)
    trial.of(check, recipes(reach), CLUSTERS[reach], waiting_long)
    assert min(seen[reason] for reason in OF_HELD_ROOM) > 0, seen
