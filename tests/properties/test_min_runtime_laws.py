"""Law E9 on random clusters whose queues set minimum run times, and the other laws on the same ones."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from maar.core.answers.plan.ask import plans
from maar.core.model.durations import seconds
from maar.core.model.plan import Plan
from maar.core.model.reasons import Reason
from maar.core.policy.configuration import DEFAULT, Configuration, parse
from maar.core.policy.grammar import ACTIONS
from properties.cluster_manifests import NOW
from properties.cluster_recipe import Reach, Recipe, Style
from properties.cluster_trials import Case, Trial, by_engine, planned
from properties.clusters import Cluster, recipes
from properties.cycle_histories import STEP, Future, lived
from properties.cycle_outcomes import Outcome
from properties.equal_work import POD, equal_work, small_recipes
from properties.eviction_checkers import explained
from properties.how_many import cases
from properties.law_checkers import OF_PLANS, e7_no_entitled_group_waits, kept_throughout
from properties.run_times import (
    LENGTHS,
    SHORT_LENGTHS,
    after,
    e9_minimum_run_times_hold,
    groups_of,
    timed,
    timed_in_seconds,
    waits_since,
    with_run_times,
    without_run_times,
)

REACHES: Final = {Reach.MODEL: cases(150), Reach.BEYOND: cases(100)}
HISTORIES: Final = cases(30)
LOUD: Final = (Style.LENT, Style.RANKED, Style.CROWDED)
LONGEST: Final = timedelta(seconds=seconds(LENGTHS[-1]))
QUIET: Final = seconds(SHORT_LENGTHS[-1]) + 2  # cycles without a change, of a second each, that end a history
WITHOUT_CLEANUP: Final = parse({"actions": ", ".join(ACTIONS[: ACTIONS.index("cleanup")])})
OUT_AND_IN: Final = ("Pending", "Inqueue")
FEW_EVICTIONS: Final = 0.15  # of the clusters: many victims are too young


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


@pytest.mark.parametrize("reach", REACHES, ids=lambda reach: reach.name)
def test_e9_nobody_is_evicted_before_the_minimum_run_time(reach: Reach, trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        yield from e9_minimum_run_times_hold(case.outcome)

    trial.of(check, recipes(reach), REACHES[reach], timed).require(FEW_EVICTIONS)


@pytest.mark.parametrize("law", OF_PLANS)
def test_the_other_laws_hold_with_minimum_run_times(law: str, trial: Trial) -> None:
    trial.of(lambda case: OF_PLANS[law](case.outcome), recipes(Reach.MODEL), REACHES[Reach.MODEL], timed)


def test_e9_who_has_waited_for_the_longest_time_is_served_as_if_there_were_none(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        """Groups that are ready and want one more pod have no such right, and may come first."""
        patient = waiting_for(case.cluster, LONGEST)
        ours, theirs = planned(patient), planned(without_run_times(patient))
        story = explained(Outcome(case.outcome.reading, theirs))
        if any(attempt.moment.is_ready(attempt.group) for attempt in story.attempts):
            return
        if ours["evictions"] != theirs["evictions"]:
            yield f"it evicts {ours['evictions']}, without minimum run times {theirs['evictions']}"

    trial.of(check, recipes(Reach.MODEL), REACHES[Reach.MODEL], timed)


def test_e9_once_all_pods_are_old_enough_minimum_run_times_change_nothing(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        old = after(started(case.cluster), LONGEST)
        ours, theirs = planned(old), planned(without_run_times(old))
        if ours != theirs:
            yield f"the plan is {ours}, without minimum run times {theirs}"

    trial.of(check, recipes(Reach.BEYOND), REACHES[Reach.BEYOND], timed)


def test_the_time_of_the_reason_is_when_somebody_is_evicted_and_not_before(trial: Trial) -> None:
    """R1 for time that passes, in a cluster in which nothing else happens; and the plan says when it is.

    A group at the gate is let in then, for preempt to act: for one that lacks pods when it has them. Another
    that waited for the same victims may come before it. Cleanup may want a decision before.
    """
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        history = lived(started(case.cluster), by_engine(), Future(resubmits=False), 8)
        cluster, now = history.clusters[-1], NOW + (len(history.clusters) - 1) * STEP
        plan = decided(cluster, now)
        times = [
            (one.refusal.until, key)
            for key, one in plan.pod_groups.items()
            if one.refusal is not None and one.refusal.until is not None
        ]
        if not times or plan.evictions or plan.binds or plan.nominations:
            return
        until, group = min(times)
        seen["cases"] += 1
        again = decided(cluster, now, WITHOUT_CLEANUP).decide_again_at
        if again != until or plan.decide_again_at is None or plan.decide_again_at > until:
            yield f"{group} waits until {until}, and the plan is made again at {plan.decide_again_at}"
        then = datetime.fromtimestamp(until, UTC)
        later, before = decided(cluster, then), decided(cluster, then - timedelta(seconds=1))
        if not let_in(plan, later) and not any(one.action != "cleanup" for one in later.evictions):
            yield f"{group} waits until {then}, and nobody is evicted or let in then"
        if group in let_in(plan, before) or any(one.beneficiary == group for one in before.evictions):
            yield f"{group} waits until {then}, and is let in or somebody is evicted for it before"

    trial.of(check, recipes(Reach.MODEL, *LOUD), REACHES[Reach.MODEL], timed)
    assert seen["cases"] >= REACHES[Reach.MODEL] // 19, (
        f"only {seen['cases']} clusters waited for nothing but the time"
    )


def test_e9_nobody_waits_longer_than_the_longest_minimum_run_time(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        plan = decided(case.cluster, NOW)
        for key, one in plan.pod_groups.items():
            if one.refusal is None or one.refusal.reason != Reason.VICTIMS_PROTECTED_UNTIL:
                continue
            reading, until = case.outcome.reading, one.refusal.until or 0.0
            since = None if case.outcome.after.is_ready(key) else waits_since(reading, key)
            latest = (max(since, NOW - LONGEST) if since else NOW) + LONGEST
            if until > latest.timestamp():
                yield f"{key} waits until {until}, later than {latest}"

    trial.of(check, recipes(Reach.MODEL, *LOUD), cases(200), timed)


@pytest.mark.parametrize("lingers", [False, True], ids=["victims go at once", "victims linger"])
def test_e6_evictions_end_once_pods_are_old_enough(trial: Trial, *, lingers: bool) -> None:
    """E6 besides those that wait for a minimum run time: each of these may cost that time."""

    def check(case: Case) -> Iterator[str]:
        cycles = 6 * len(groups_of(case.cluster)) + 6
        history = lived(case.cluster, by_engine(), Future(lingers=lingers), cycles, QUIET)
        evicting = [number for number, cycle in enumerate(history.cycles) if cycle["evictions"]]
        if evicting and evicting[-1] >= cycles - 6:
            yield f"cycles {evicting} evict, with {len(groups_of(case.cluster))} groups"
        yield from kept_throughout(history)
        for number, outcome in enumerate(history.outcomes):
            yield from e9_minimum_run_times_hold(outcome, NOW + number * STEP)

    trial.of(check, recipes(Reach.MODEL), HISTORIES, timed_in_seconds)


def test_e7_once_pods_are_old_enough_nobody_entitled_waits(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        cycles = 6 * len(groups_of(case.cluster)) + 6
        last = lived(case.cluster, by_engine(), Future(), cycles, QUIET).last
        yield from e7_no_entitled_group_waits(last, POD)

    counts = trial.of(check, small_recipes(), HISTORIES, timed_equal_work)
    counts.require(FEW_EVICTIONS)


def timed_equal_work(recipe: Recipe) -> Cluster:
    """Equal work in queues with minimum run times of a few cycles."""
    return with_run_times(equal_work(recipe), recipe, SHORT_LENGTHS)


def test_the_checker_notices_pods_that_are_evicted_too_early() -> None:
    noticed = 0
    for seed in range(60):
        recipe = Recipe(seed, 3, 4, 14, 3, LOUD[seed % len(LOUD)], Reach.MODEL)
        cluster = timed(recipe)
        hasty = planned(without_run_times(cluster))
        noticed += any(e9_minimum_run_times_hold(Outcome.of(cluster.objects, hasty)))
    assert noticed >= 10


def decided(cluster: Cluster, now: datetime, configuration: Configuration = DEFAULT) -> Plan:
    """What the engine decides in one cycle."""
    return next(plans(cluster.objects, configuration, now))


def let_in(before: Plan, after: Plan) -> set[str]:
    """The groups that have been let in from one plan to another."""
    known = before.pod_groups
    return {key for key, one in after.pod_groups.items() if (known[key].phase, one.phase) == OUT_AND_IN}


def waiting_for(cluster: Cluster, time: timedelta) -> Cluster:
    """The cluster in which all groups have waited for so long; nobody starves for long enough for cleanup."""
    since = (NOW - time).isoformat()
    documents = []
    for document in cluster.documents:
        if document["kind"] == "PodGroup":
            condition = {"type": "Unschedulable", "status": "True", "lastTransitionTime": since}
            status = {**document.get("status", {}), "conditions": [condition]}
            documents.append({**document, "status": status})
        else:
            documents.append(document)
    return Cluster(documents)


def started(cluster: Cluster) -> Cluster:
    """The cluster in which all pods on nodes have a start time."""
    documents = []
    for document in cluster.documents:
        if document["kind"] == "Pod" and "nodeName" in document["spec"]:
            status = {"startTime": NOW.isoformat(), **document["status"]}
            documents.append({**document, "status": status})
        else:
            documents.append(document)
    return Cluster(documents)
