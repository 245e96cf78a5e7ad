"""Every scenario is run through the planner; its title is the promise."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from support.scenario import Scenario, all_scenarios

ALL = all_scenarios()
SCENARIOS = [pytest.param(one, id=one.title) for one in ALL]
PLANNED = [pytest.param(one, id=one.title) for one in ALL if not one.refused]
WITH_VICTIMS = [pytest.param(one, id=one.title) for one in ALL if one.has_victims]
QUIET_FOR = 5
RECLAIM_ENDS_AFTER = 3

Plan = Callable[..., dict[str, Any]]
Cycle = Mapping[str, Any]


@pytest.fixture(scope="session")
def plan() -> Plan:
    """The planner that `maar plan` prints."""
    from support import planning  # noqa: PLC0415 - scenarios can be read before there is a planner

    return planning.plan


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: Scenario, plan: Plan) -> None:
    if scenario.refused:
        with pytest.raises(ValueError, match=scenario.refused[0]) as refusal:
            planned(plan, scenario)
        assert [part for part in scenario.refused if part not in str(refusal.value)] == [], str(refusal.value)
        return
    cycles = planned(plan, scenario)
    for number, expectation in sorted(scenario.expectations.items()):
        assert expectation.complaints(cycles[number]) == [], f"in cycle {number + 1}"
    assert reasons_astray(scenario, cycles[0]) == []


@pytest.mark.parametrize("scenario", WITH_VICTIMS)
def test_evictions_end_when_victims_come_back(scenario: Scenario, plan: Plan) -> None:
    groups = len(scenario.cluster.names.groups)
    cycles = planned(plan, scenario, cycles=groups + QUIET_FOR, resubmit_victims=True)
    assert [cycle["evictions"] for cycle in cycles[groups:]] == [[]] * QUIET_FOR


@pytest.mark.parametrize("scenario", WITH_VICTIMS)
@pytest.mark.parametrize("action", ["reclaim", "preempt"])
def test_one_evicting_action_alone_never_closes_a_circle(scenario: Scenario, action: str, plan: Plan) -> None:
    configuration = {**(scenario.configuration or {}), "actions": f"enqueue, allocate, backfill, {action}"}
    cycles = planned(plan, scenario, configuration=configuration, cycles=10, resubmit_victims=True)
    names = scenario.cluster.names
    evicted_for = {
        (names.groups[names.group_of[one["pod"]]], one["for"])
        for cycle in cycles
        for one in cycle["evictions"]
    }
    assert not has_circle(evicted_for)
    if action == "reclaim":
        assert not any(cycle["evictions"] for cycle in cycles[RECLAIM_ENDS_AFTER:])
        assert not {victim for victim, _ in evicted_for} & {beneficiary for _, beneficiary in evicted_for}


@pytest.mark.parametrize("scenario", PLANNED)
def test_the_order_of_objects_does_not_matter(scenario: Scenario, plan: Plan) -> None:
    backwards = plan(scenario.cluster.objects()[::-1], scenario.configuration, scenario.now)
    assert backwards["cycles"] == planned(plan, scenario, cycles=1)


def planned(plan: Plan, scenario: Scenario, **changed: object) -> list[Cycle]:
    """The cycles of the scenario's plan, asked for as it says or with changes."""
    asked = {
        "configuration": scenario.configuration,
        "now": scenario.now,
        "cycles": scenario.cycles,
        "resubmit_victims": scenario.resubmit,
    }
    cycles: list[Cycle] = plan(scenario.cluster.objects(), **asked | changed)["cycles"]
    return cycles


def reasons_astray(scenario: Scenario, cycle: Cycle) -> list[str]:
    """Groups with pods that wait and no reason, groups in work that wait for nothing and have one."""
    names = scenario.cluster.names
    found = []
    for group, key in names.groups.items():
        bound = sum(names.group_of.get(pod) == group for pod in cycle["binds"])
        waits, outcome = scenario.cluster.waiting[group] > bound, cycle["podGroups"][key]
        if waits and not outcome["reason"]:
            found.append(f"{group} waits without a reason")
        if not waits and outcome["reason"] and outcome["phase"] in ("Running", "Completed"):
            found.append(f"{group} waits for nothing: {outcome['reason']}")
        if bool(outcome["reason"]) != bool(outcome["message"]):
            found.append(f"{group} has a reason without a message, or the other way round")
    return found


def has_circle(edges: set[tuple[str, str]]) -> bool:
    """Whether somebody was evicted, directly or through others, for himself."""
    while edges:
        targets = {target for _, target in edges}
        inner = {(source, target) for source, target in edges if source in targets}
        if inner == edges:
            return True
        edges = inner
    return False


def test_a_circle_is_seen() -> None:
    assert has_circle({("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")})
    assert not has_circle({("a", "b"), ("b", "c"), ("a", "c")})
