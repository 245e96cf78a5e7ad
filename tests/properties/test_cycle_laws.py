"""The laws of the cycle and of eviction (laws.md) on random clusters."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

import pytest

from maar.core.views.planning import plan
from properties.cluster_growth import Reach, Style
from properties.cluster_trials import ENOUGH_EVICTIONS, Case, Trial, planned
from properties.clusters import Cluster, recipes
from properties.cycle_histories import Cycle, Future, History, Planner, finite_work, lived
from properties.equal_work import POD, crowded_leaf, equal_work, small_recipes
from properties.law_checkers import (
    OF_HISTORIES,
    OF_PLANS,
    c4_the_same_plan,
    e6_reclaim_is_short,
    e7_nobody_entitled_waits,
    f11_namespaces_are_level,
    kept_throughout,
)

REACHES: Final = {Reach.MODEL: 200, Reach.BEYOND: 150}
HISTORIES: Final = 30
RECLAIM_ALONE: Final = {"actions": "enqueue, allocate, backfill, reclaim"}
PREEMPT_ALONE: Final = {"actions": "enqueue, allocate, backfill, preempt"}


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


@pytest.mark.parametrize("reach", REACHES, ids=lambda reach: reach.name)
@pytest.mark.parametrize("law", OF_PLANS)
def test_law(law: str, reach: Reach, trial: Trial) -> None:
    census = trial.of(lambda case: OF_PLANS[law](case.outcome), recipes(reach), REACHES[reach])
    census.require(ENOUGH_EVICTIONS)


def test_c4_the_order_in_which_objects_are_learnt_does_not_matter(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        yield from c4_the_same_plan(case.cycle, planned(case.cluster.shuffled(case.dice)))

    trial.of(check, recipes(Reach.BEYOND), 100).require(ENOUGH_EVICTIONS)


def by_engine(configuration: object = None) -> Planner:
    """Return one cycle of the engine as a planner."""

    def planner(cluster: Cluster, now: datetime) -> Cycle:
        decided = plan(cluster.objects, configuration, now)["cycles"]
        assert isinstance(decided, list)
        cycle: Cycle = decided[0]
        return cycle

    return planner


def resubmitting(cluster: Cluster, configuration: object = None, *, lingers: bool = False) -> History:
    """Let a cluster live, its victims coming back, for as many cycles as law 6 looks at."""
    groups = sum(document["kind"] == "PodGroup" for document in cluster.documents)
    return lived(cluster, by_engine(configuration), Future(lingers=lingers), groups + 6)


@pytest.mark.parametrize("lingers", [False, True], ids=["victims go at once", "victims linger"])
def test_e6_evictions_end_and_every_cycle_is_lawful(trial: Trial, *, lingers: bool) -> None:
    def check(case: Case) -> Iterator[str]:
        history = resubmitting(case.cluster, lingers=lingers)
        yield from OF_HISTORIES["E6"](history)
        yield from kept_throughout(history)

    trial.of(check, recipes(Reach.MODEL), HISTORIES)


def test_e6_reclaim_alone_ends_soon_and_nobody_trades_places(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        history = resubmitting(case.cluster, RECLAIM_ALONE)
        yield from OF_HISTORIES["E6"](history)
        yield from OF_HISTORIES["E6 trades"](history)
        yield from e6_reclaim_is_short(history)

    trial.of(check, recipes(Reach.MODEL, Style.LENT, Style.MIXED, Style.STARVED), HISTORIES)


def test_e6_preempt_alone_ends_and_nobody_trades_places(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        history = resubmitting(case.cluster, PREEMPT_ALONE)
        yield from OF_HISTORIES["E6"](history)
        yield from OF_HISTORIES["E6 trades"](history)

    trial.of(check, recipes(Reach.MODEL, Style.RANKED, Style.CROWDED, Style.MIXED), HISTORIES)


def test_c7_with_finite_jobs_everything_that_can_ever_fit_runs(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        cluster = finite_work(case.cluster)
        cycles = 10 + 4 * len(cluster.documents)
        yield from OF_HISTORIES["C7"](lived(cluster, by_engine(), Future(runs_for=2), cycles))

    trial.of(check, recipes(Reach.MODEL), HISTORIES)


def test_f11_namespaces_of_a_saturated_leaf_are_level(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        yield from f11_namespaces_are_level(resubmitting(case.cluster).last, "leaf", POD["cpu"])

    trial.of(check, small_recipes(), HISTORIES, crowded_leaf)


def test_e7_once_quiet_nobody_entitled_waits(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        yield from e7_nobody_entitled_waits(resubmitting(case.cluster).last, POD)

    trial.of(check, small_recipes(), 2 * HISTORIES, equal_work).require(ENOUGH_EVICTIONS)
