"""The laws of the gate and of gangs on loan (E8, E10) on random clusters."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

import pytest

from maar.core.cycle.evicting.loans import LoanedPods, Loans
from maar.core.cycle.gate.gate_preempt import GatePreempt
from maar.core.cycle.gate.held_up import HeldUp
from properties.cluster_manifests import NOW, GroupPlan, pod_group, pods_of
from properties.cluster_reading import Reading
from properties.cluster_recipe import Reach, Recipe, Style
from properties.cluster_trials import ENOUGH_EVICTIONS, Case, Trial, by_engine
from properties.clusters import Cluster, recipes
from properties.cycle_histories import Future, History, finite_work, lived
from properties.cycle_outcomes import Outcome
from properties.full_clusters import full_cluster
from properties.gate_checkers import (
    e8_the_gate_opens_for_preempt,
    e10_loans_give_way,
    e10_no_circle_leads_through_a_loan,
)
from properties.how_many import cases
from properties.loans import loaned
from properties.test_cycle_laws import resubmitting

EXAMPLES: Final = cases(60)
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
    trial.of(check, recipes(Reach.MODEL), EXAMPLES, full_cluster).require(ENOUGH_EVICTIONS)


def test_e10_loans_give_way_and_no_circle_leads_through_one(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        history = resubmitting(case.cluster)
        if not history.cycles[-1]["evictions"]:
            yield from e10_loans_give_way(history.last)
        yield from e10_no_circle_leads_through_a_loan(history)

    trial.of(check, recipes(Reach.MODEL, *CONTESTED), EXAMPLES)
    trial.of(check, recipes(Reach.MODEL), EXAMPLES, full_cluster).require(ENOUGH_EVICTIONS)


def test_g1_nobody_waits_for_who_can_never_start(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        yield from unserved(*with_the_impossible(finite_work(case.cluster), case.rng))

    trial.of(check, recipes(Reach.MODEL), EXAMPLES)
    trial.of(check, recipes(Reach.MODEL), EXAMPLES, full_cluster)


def with_the_impossible(cluster: Cluster, rng: Random) -> tuple[Cluster, set[str]]:
    """A cluster with groups of one pod that no node is large enough for, let in or not; and their keys."""
    reading, documents, keys = Reading(cluster.objects), list(cluster.documents), set[str]()
    largest = max(node.status.allocatable.get("cpu", 0) for node in reading.nodes.values())
    for number in range(rng.randint(1, 3)):
        request = {"cpu": largest + 1}
        plan = GroupPlan(
            name=f"impossible-{number}",
            namespace="alpha",
            queue=rng.choice(sorted(reading.leaves)),
            request=request,
            min_member=1,
            min_resources=request,
            age=rng.randrange(9000),
        )
        documents += [pod_group(plan, rng.choice(("Pending", "Inqueue"))), *pods_of(plan)]
        keys.add(f"alpha/{plan.name}")
    return Cluster(documents), keys


def unserved(cluster: Cluster, impossible: set[str]) -> Iterator[str]:
    """Who never starts of those that could."""
    history = lived(cluster, by_engine(), Future(runs_for=2), 10 + 4 * len(cluster.documents))
    last = Reading(history.clusters[-1].objects)
    for key in last.groups.keys() - impossible:
        if last.at_first.waiting(key):
            yield f"group {key} never started: {history.cycles[-1]['podGroups'][key]['message']}"


# The checkers notice what breaks their law.


def clusters(count: int) -> Iterator[Cluster]:
    """Full clusters of all sizes."""
    for seed in range(count):
        recipe = Recipe(seed, 1 + seed % 3, seed, 4 + seed % 9, 1, Style.RANKED, Reach.MODEL)
        yield full_cluster(recipe)


def test_e8_notices_a_gate_that_never_opens_for_preempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GatePreempt, "would_make_room", lambda *_: False)
    noticed = sum(
        any(e8_the_gate_opens_for_preempt(lived(cluster, by_engine(), Future(), 3), by_engine()))
        for cluster in clusters(30)
    )
    assert noticed >= 5


def test_g1_notices_a_gate_that_counts_who_can_never_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HeldUp, "for_ever", lambda *_: False)
    monkeypatch.setattr(HeldUp, "for_now", lambda *_: False)
    made = [with_the_impossible(finite_work(cluster), Random(7)) for cluster in clusters(30)]
    assert sum(any(unserved(*one)) for one in made) >= 3


def test_e10_notices_loans_that_do_not_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loans, "of", lambda loans, _: LoanedPods(loans.state, {}))
    noticed = sum(any(e10_loans_give_way(resubmitting(cluster).last)) for cluster in clusters(60))
    assert noticed >= 3


def test_e10_notices_a_circle_through_a_loan() -> None:
    noticed = 0
    for cluster in clusters(30):
        cycle = by_engine()(cluster, NOW)
        reading = Outcome.of(cluster.objects, cycle).reading
        for one in [one for one in cycle["evictions"] if one["action"] == "reclaim"]:
            victim = reading.group_of[one["pod"]]
            if one["pod"] not in loaned(reading.at_first, reading.budget.keys()):
                continue
            evicted = reading.pods_of[one["for"]][0].key
            back = {"pod": evicted, "for": victim, "action": "preempt"}
            there, again = ({**cycle, "binds": {}, "evictions": [it]} for it in (one, back))
            assert not list(e10_no_circle_leads_through_a_loan(History([cluster], [there])))
            noticed += any(e10_no_circle_leads_through_a_loan(History([cluster] * 2, [there, again])))
    assert noticed >= 5
