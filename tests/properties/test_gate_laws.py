"""The laws of the gate and of gangs on loan (E8, E10) on random clusters."""

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from properties.cluster_manifests import NOW, GroupPlan, pod_group, pods_of, priority_class
from properties.cluster_manifests import node as ready_node
from properties.cluster_recipe import Reach, Style
from properties.cluster_trials import Case, Trial
from properties.clusters import Cluster, recipes
from properties.cycle_histories import Future, History, lived
from properties.gate_checkers import (
    e8_the_gate_opens_for_preempt,
    e10_loans_give_way,
    e10_no_circle_leads_through_a_loan,
)
from properties.test_cycle_laws import by_engine, resubmitting

EXAMPLES: Final = 60
CONTESTED: Final = (Style.RANKED, Style.CROWDED, Style.MIXED, Style.LENT)


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


def test_e8_the_gate_opens_for_whom_preempt_would_act(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        history = lived(case.cluster, by_engine(), Future(), 3)
        yield from e8_the_gate_opens_for_preempt(history, by_engine())

    trial.of(check, recipes(Reach.MODEL, *CONTESTED), EXAMPLES)


def test_e10_loans_give_way_and_no_circle_leads_through_one(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        history = resubmitting(case.cluster)
        if not history.cycles[-1]["evictions"]:
            yield from e10_loans_give_way(history.last)
        yield from e10_no_circle_leads_through_a_loan(history)

    trial.of(check, recipes(Reach.MODEL, *CONTESTED), EXAMPLES)


# The checkers notice what breaks their law.


def full_cluster(low_members: int) -> Cluster:
    """A node that a job of low priority fills, and an important one at the gate."""
    low = GroupPlan(name="low", namespace="alpha", request={"cpu": 1000}, size=4, min_member=low_members)
    high = GroupPlan(
        name="high", namespace="alpha", request={"cpu": 1000}, size=2, min_member=2, priority_class="high"
    )
    running = pods_of(low)
    for pod in running:
        pod["spec"]["nodeName"], pod["status"]["phase"] = "n", "Running"
    group = pod_group(high, "Pending")
    group["spec"]["minResources"] = {"cpu": "2"}
    documents = [ready_node("n", {"cpu": 4000, "pods": 20}, {}), priority_class("high", 10)]
    return Cluster([*documents, pod_group(low, "Running"), *running, group, *pods_of(high)])


def test_e8_notices_a_gate_that_stays_shut() -> None:
    cluster = full_cluster(low_members=4)
    opens = by_engine()(cluster, NOW)
    assert [one["for"] for one in opens["evictions"]] == ["alpha/high"] * 4
    held = {"phase": "Pending", "reason": "", "message": ""}
    shut = {
        **opens,
        "evictions": [],
        "nominations": {},
        "podGroups": {**opens["podGroups"], "alpha/high": held},
    }
    history = History([cluster] * 2, [shut] * 2)
    assert list(e8_the_gate_opens_for_preempt(history, by_engine()))
