"""The laws of the cycle and of eviction (docs/specification/laws.md) on random clusters."""

from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import datetime
from itertools import islice
from typing import Final

import pytest

from maar.core.model.pod_group import PodGroup
from properties.cluster_manifests import HOSTNAME, NOW, GroupPlan, pod_group, pods_of
from properties.cluster_manifests import node as ready_node
from properties.cluster_recipe import Reach, Recipe, Style
from properties.cluster_trials import ENOUGH_EVICTIONS, Case, Trial, by_engine, planned
from properties.clusters import Cluster, grow, recipes
from properties.cycle_histories import Cycle, Future, History, finite_work, lived
from properties.cycle_outcomes import Outcome, request, within
from properties.definitions import asked
from properties.equal_work import POD, crowded_leaf, equal_work, small_recipes
from properties.eviction_attempts import Attempt
from properties.how_many import cases
from properties.kept_recipes import BROKE_A_LAW
from properties.law_checkers import (
    OF_HISTORIES,
    OF_PLANS,
    c4_the_same_plan,
    e6_reclaim_is_short,
    e7_no_entitled_group_waits,
    f11_namespaces_are_level,
    kept_throughout,
)

REACHES: Final = {Reach.MODEL: cases(300), Reach.BEYOND: cases(200)}
HISTORIES: Final = cases(30)
RECLAIM_ALONE: Final = {"actions": "enqueue, allocate, backfill, reclaim"}
PREEMPT_ALONE: Final = {"actions": "enqueue, allocate, backfill, preempt"}


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


@pytest.mark.parametrize("reach", REACHES, ids=lambda reach: reach.name)
@pytest.mark.parametrize("law", OF_PLANS)
def test_law(law: str, reach: Reach, trial: Trial) -> None:
    kept = BROKE_A_LAW.get((law, reach), [])
    trial_counts = trial.of(
        lambda case: OF_PLANS[law](case.outcome), recipes(reach), REACHES[reach], kept=kept
    )
    trial_counts.require(ENOUGH_EVICTIONS)


def test_c4_the_order_in_which_objects_are_learnt_does_not_matter(trial: Trial) -> None:
    def check(case: Case) -> Iterator[str]:
        yield from c4_the_same_plan(case.cycle, planned(case.cluster.shuffled(case.rng)))

    trial.of(check, recipes(Reach.BEYOND), cases(100)).require(ENOUGH_EVICTIONS)


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


def test_e6_preempt_alone_ends_and_groups_trade_places_rarely_and_once(trial: Trial) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        history = resubmitting(case.cluster, PREEMPT_ALONE)
        seen["histories"] += 1
        seen["trades"] += any(OF_HISTORIES["E6 trades"](history))
        yield from OF_HISTORIES["E6"](history)
        yield from OF_HISTORIES["E6 lasting trades"](history)

    trial.of(check, recipes(Reach.MODEL, Style.RANKED, Style.CROWDED, Style.MIXED), HISTORIES)
    assert seen["trades"] <= seen["histories"] / 10, f"groups trade places, and not rarely: {seen}"


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
        yield from e7_no_entitled_group_waits(resubmitting(case.cluster).last, POD)

    trial.of(check, small_recipes(), 2 * HISTORIES, equal_work).require(ENOUGH_EVICTIONS)


# Every checker notices a plan that was spoiled for it.

Spoiler = Callable[[Outcome], Iterator[Cycle]]


def with_changes(outcome: Outcome, **changes: object) -> Cycle:
    """Return the plan with some of its parts replaced."""
    return {**deepcopy(dict(outcome.cycle)), **changes}


def overfull_node(outcome: Outcome) -> Iterator[Cycle]:
    """Bind a pod where there is no room."""
    for group in outcome.reading.groups:
        for pod in outcome.bound.waiting(group):
            for node in outcome.reading.usable_nodes:
                idle = outcome.physically.idle(node.metadata.name)
                if any(idle[resource] < units for resource, units in asked(pod.request).items()):
                    yield with_changes(outcome, binds={**outcome.binds, pod.key: node.metadata.name})


def half_a_gang(outcome: Outcome) -> Iterator[Cycle]:
    """Bind one pod of a gang that lacks more."""
    for group in outcome.reading.groups:
        if outcome.bound.missing(group)[0] > 1:
            for pod in outcome.bound.waiting(group)[:1]:
                yield with_changes(outcome, binds={**outcome.binds, pod.key: any_node(outcome)})


def queue_beyond_its_capability(outcome: Outcome) -> Iterator[Cycle]:
    """Bind all that waits in a queue which may not have that much."""
    for leaf in outcome.reading.leaves:
        groups = [key for key, group in outcome.reading.groups.items() if group.spec.queue == leaf]
        pods = [pod for group in groups for pod in outcome.bound.waiting(group)]
        if pods and any(within(outcome.bound, leaf, request(pods), "real_capability")):
            binds = {**outcome.binds, **{pod.key: any_node(outcome) for pod in pods}}
            yield with_changes(outcome, binds=binds)


def silence(outcome: Outcome) -> Iterator[Cycle]:
    """Say of nobody why he waits."""
    groups = {
        key: {**reported, "reason": "", "message": ""} for key, reported in outcome.cycle["podGroups"].items()
    }
    if groups != outcome.cycle["podGroups"] and any(map(outcome.bound.waiting, outcome.reading.groups)):
        yield with_changes(outcome, podGroups=groups)


def other_weights(outcome: Outcome) -> Iterator[Cycle]:
    """Give every namespace another weight."""
    spoiled = with_changes(outcome)
    for queue in spoiled["queues"].values():
        for namespace in queue["namespaces"].values():
            namespace["weight"] += 1
    if spoiled != outcome.cycle:
        yield spoiled


def other_figures(outcome: Outcome) -> Iterator[Cycle]:
    """Let every queue deserve an odd milli-CPU."""
    spoiled = with_changes(outcome)
    for queue in spoiled["queues"].values():
        queue["deserved"]["cpu"] = "123457m"
    yield spoiled


def closed_gate(outcome: Outcome) -> Iterator[Cycle]:
    """Let nobody in who was outside."""
    reading, groups = outcome.reading, dict(outcome.cycle["podGroups"])
    for key, spec in reading.groups.items():
        has_pods = any(pod.key in outcome.binds for pod in reading.pods_of[key])
        is_in = outcome.phase(key) == "Inqueue" and reading.phase(key) == "Pending" and not has_pods
        if is_in and spec.spec.min_resources is None:
            yield with_changes(outcome, podGroups={**groups, key: {**groups[key], "phase": "Pending"}})


def idleness(outcome: Outcome) -> Iterator[Cycle]:
    """Bind nobody although somebody could be."""
    owners = {outcome.reading.group_of[pod] for pod in outcome.binds}
    if len(outcome.binds) == len(owners) == 1 and not outcome.evictions and not outcome.nominations:
        [owner] = owners
        groups = {**outcome.cycle["podGroups"], owner: {"phase": "Inqueue", "reason": "", "message": ""}}
        yield with_changes(outcome, binds={}, podGroups=groups)


def broken_promises(outcome: Outcome) -> Iterator[Cycle]:
    """Evict, and promise the room to nobody."""
    if outcome.promises:
        yield with_changes(outcome, nominations={})


def one_victim_more(outcome: Outcome, action: str = "") -> Iterator[Cycle]:
    """Evict somebody who need not go."""
    last = next((one for one in reversed(outcome.evictions) if one.action != "cleanup"), None)
    gone = {one.pod for one in outcome.evictions}
    for pod in outcome.after.holders if last and (not action or last.action == action) else ():
        if (
            last
            and pod in outcome.reading.group_of
            and outcome.reading.pods[pod].spec.node_name
            and pod not in gone
        ):
            more = {"pod": pod, "for": last.beneficiary, "action": last.action}
            yield with_changes(outcome, evictions=[*outcome.cycle["evictions"], more])


def from_the_worse_off(outcome: Outcome) -> Iterator[Cycle]:
    """Reclaim from a queue that is not overused."""
    for spoiled in one_victim_more(outcome, "reclaim"):
        last = spoiled["evictions"][-1]
        leaf, own = outcome.reading.leaf_of(last["pod"]), outcome.reading.groups[last["for"]].spec.queue
        if leaf and leaf != own and not outcome.bound.is_overused(leaf, outcome.bound.used[leaf]):
            yield spoiled


def beyond_deserved(outcome: Outcome) -> Iterator[Cycle]:
    """Promise a beneficiary of reclaim all that it waits for."""
    for eviction in outcome.evictions:
        group = eviction.beneficiary or ""
        pods = outcome.after.waiting(group) if eviction.action == "reclaim" else []
        leaf = outcome.reading.groups[group].spec.queue if pods else ""
        if pods and any(within(outcome.after, leaf, request(pods), "deserved")):
            promised = {pod.key: any_node(outcome) for pod in pods}
            yield with_changes(outcome, nominations={**outcome.nominations, **promised})


def protected_victim(outcome: Outcome) -> Iterator[Cycle]:
    """Evict a protected pod."""
    for spoiled in one_victim_more(outcome):
        if outcome.reading.is_protected(outcome.reading.pods[spoiled["evictions"][-1]["pod"]]):
            yield spoiled


def hasty_cleanup(outcome: Outcome) -> Iterator[Cycle]:
    """Clean up a group that runs."""
    for spoiled in one_victim_more(outcome):
        spoiled["evictions"][-1] |= {"action": "cleanup", "for": None}
        if outcome.after.is_ready(outcome.reading.group_of[spoiled["evictions"][-1]["pod"]]):
            yield spoiled


def any_node(outcome: Outcome) -> str:
    """Return a ready node."""
    return next(name for name, node in outcome.reading.nodes.items() if node.is_ready)


SPOILERS: Final[dict[str, Spoiler]] = {
    "C1": overfull_node,
    "C2": half_a_gang,
    "C3": queue_beyond_its_capability,
    "C6": silence,
    "C8": other_weights,
    "figures": other_figures,
    "enqueue": closed_gate,
    "allocate": idleness,
    "E1": broken_promises,
    "E2": one_victim_more,
    "E3": from_the_worse_off,
    "E4": beyond_deserved,
    "E5": protected_victim,
    "cleanup": hasty_cleanup,
}


@pytest.mark.parametrize("law", OF_PLANS)
def test_the_checker_notices_a_spoiled_plan(law: str) -> None:
    tried = 0
    for seed in range(60):
        outcome = Case.of(
            grow(Recipe(seed, 3, 4, 14, 3, list(Style)[seed % len(Style)], Reach.MODEL))
        ).outcome
        for cycle in islice(SPOILERS[law](outcome), 3):
            spoiled = Outcome(outcome.reading, cycle)
            assert list(OF_PLANS[law](spoiled)), f"{law} finds nothing wrong with {cycle}"
            tried += 1
    assert tried >= 3, f"only {tried} plans could be spoiled"


@pytest.mark.parametrize(("cpu", "is_noticed"), [(0, False), (500, True)])
def test_only_company_that_allocate_brings_makes_a_turn(cpu: int, *, is_noticed: bool) -> None:
    """A guest waits beside its hosts: had backfill brought them, allocate left no turn undone."""
    near = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "host"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    host = GroupPlan(name="host", namespace="alpha", request={"cpu": cpu} if cpu else {})
    guest = GroupPlan(
        name="guest", namespace="alpha", request={"cpu": 1000}, pod_extras={"affinity": affinity}
    )
    documents = [ready_node("n", {"cpu": 4000, "pods": 9}, {})]
    for one in (host, guest):
        documents += [pod_group(one, "Inqueue"), *pods_of(one)]
    outcome = Case.of(Cluster(documents)).outcome
    waits = Outcome(outcome.reading, with_changes(outcome, binds={"alpha/host-0": "n"}))
    assert any(OF_PLANS["allocate"](waits)) == is_noticed


@pytest.mark.parametrize("where", ["n0", "n1"])
def test_a_promise_counts_as_kept_only_where_it_can_be(where: str) -> None:
    """Of a node that is closed, or another: nobody has to go for it, so that it is no lawful promise."""
    nodes = [ready_node(name, {"cpu": 4000, "pods": 9}, {}) for name in ("n0", "n1")]
    nodes[0]["spec"]["unschedulable"] = True
    plan = GroupPlan(name="heir", namespace="alpha", request={"cpu": 1000})
    [pod] = pods_of(plan)
    pod["status"]["nominatedNodeName"] = "n0"
    outcome = Case.of(Cluster([*nodes, pod_group(plan, "Inqueue"), pod])).outcome
    assert outcome.binds == {"alpha/heir-0": "n1"}
    spoiled = with_changes(outcome, binds={}, nominations={"alpha/heir-0": where})
    assert any(OF_PLANS["E1"](Outcome(outcome.reading, spoiled)))


@pytest.mark.parametrize(("gone", "is_crippled"), [(1, True), (2, False)])
def test_a_pod_that_has_succeeded_makes_no_gang_of_what_is_left(gone: int, *, is_crippled: bool) -> None:
    gang = GroupPlan(name="gang", namespace="alpha", size=3, min_member=2)
    pods = pods_of(gang)
    for pod in pods[:2]:
        pod["spec"]["nodeName"], pod["status"]["phase"] = "n", "Running"
    pods[2]["status"]["phase"] = "Succeeded"
    documents = [ready_node("n", {"cpu": 4000, "pods": 9}, {}), pod_group(gang, "Running"), *pods]
    moment = Case.of(Cluster(documents)).outcome.reading.at_first
    victims = [f"alpha/gang-{number}" for number in range(gone)]
    assert any(Attempt(moment, "preempt", "alpha/gang", [], {}, victims).cripples()) == is_crippled


def idle_planner(cluster: Cluster, now: datetime) -> Cycle:
    """Return the engine's plan without anything in it that happens."""
    nothing: Cycle = {"binds": {}, "evictions": [], "nominations": {}}
    return {**by_engine()(cluster, now), **nothing}


@pytest.mark.parametrize("law", ["C7", "F11", "E7"])
def test_the_checker_notices_that_nothing_is_done(law: str) -> None:
    noticed = 0
    for seed in range(12):
        recipe = Recipe(seed, 2, 4, 10, 2, Style.LENT, Reach.MODEL)
        if law == "C7":
            history = lived(finite_work(grow(recipe)), idle_planner, Future(runs_for=2), 10)
            noticed += any(OF_HISTORIES["C7"](history))
        elif law == "F11":
            last = lived(crowded_leaf(recipe), idle_planner, Future(), 2).last
            noticed += any(f11_namespaces_are_level(last, "leaf", POD["cpu"]))
        else:
            last = lived(equal_work(recipe), idle_planner, Future(), 2).last
            noticed += any(e7_no_entitled_group_waits(last, POD))
    assert noticed >= 3


def test_the_checkers_notice_groups_that_trade_places_for_ever() -> None:
    cluster = crowded_leaf(Recipe(1, 1, 1, 1, 2, Style.LENT, Reach.MODEL))
    groups = [one.key for one in cluster.objects if isinstance(one, PodGroup)]
    cycle = by_engine()(cluster, NOW)

    def evicting(victim: str, beneficiary: str) -> Cycle:
        eviction = {"pod": f"{victim}-0", "for": beneficiary, "action": "reclaim"}
        return {**cycle, "binds": {}, "nominations": {}, "evictions": [eviction]}

    there, back = evicting(groups[0], groups[1]), evicting(groups[1], groups[0])
    cycles = [there, back] * len(groups)
    history = History([cluster] * len(cycles), cycles)
    assert list(OF_HISTORIES["E6"](history))
    assert list(OF_HISTORIES["E6 trades"](history))
    assert list(OF_HISTORIES["E6 lasting trades"](history))
    assert len(list(e6_reclaim_is_short(history))) == 2
    assert list(c4_the_same_plan(there, back))
    for cycles in ([there, back], [there, there, back]):
        once = History([cluster] * len(cycles), cycles)
        assert list(OF_HISTORIES["E6 trades"](once))
        assert not list(OF_HISTORIES["E6 lasting trades"](once))
