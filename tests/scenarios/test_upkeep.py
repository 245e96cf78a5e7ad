"""Every scenario of upkeep comes to rest as it promises, in whatever order, and after any restart."""

import pytest

from support.fields import BadScenarioError
from support.scenario_upkeep import UpkeepScenario, all_upkeep_scenarios, read

SCENARIOS = [pytest.param(one, id=one.title) for one in all_upkeep_scenarios()]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_upkeep_scenario(scenario: UpkeepScenario) -> None:
    assert scenario.complaints() == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_restart_and_the_order_of_events_change_nothing(scenario: UpkeepScenario) -> None:
    assert scenario.complaints(restarting=True, backwards=True) == []


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ({"queue": {}, "expect": {"commands": 0}}, "x.queue: unknown key; is queues meant?"),
        ({"expect": {"stat": {}}}, "x.expect.stat: unknown key; is state meant?"),
        ({"expect": {"state": {"q": "Open"}}}, "x.expect.state.q: there is no such"),
        ({"expect": {}}, "x.expect: nothing is expected"),
        ({"statuses": {"q": {}}, "expect": {"commands": 0}}, "x.statuses.q: there is no such queue"),
        ({"expect": {"commands": 0}, "then": [{"change": {"groups/a/j": None}, "expect": {"commands": 0}}]},
         "x.then[0].change.groups/a/j: there is no such object"),
    ],
)  # fmt: skip
def test_what_a_scenario_says_wrong_is_refused_with_its_path(lines: dict[str, object], problem: str) -> None:
    with pytest.raises(BadScenarioError) as refusal:
        read({"title": "a title", "rule": "5.2.1", **lines}, "x")
    assert problem in str(refusal.value)


def test_a_world_that_differs_is_complained_about() -> None:
    lines = {
        "title": "a title",
        "rule": "5.2.1",
        "nodes": {"n": {"cpu": 4}},
        "queues": {"a": {"request": {"cpu": 4}}},
        "namespaces": {"x": {"queue": "a"}},
        "running": {"a/j": {"cpu": 1}},
        "bare": {"p": {"cpu": 1}},
        "expect": {
            "state": {"a": "Closed"},
            "used": {"a": {"cpu": 2}},
            "quotas": {"x": {"cpu": 1}, "y": {}},
            "made": {"q": {}},
            "phases": {"a/j": "Pending"},
            "says": {"a/j": {"Scheduled": False}},
            "events": {},
            "commands": 1,
            "quiet": True,
        },
    }
    found = read(lines, "x").complaints()
    for reported in (
        "step 1: state: a: 'Open', expected 'Closed'",
        "step 1: used: a: cpu 1, expected 2",
        "step 1: quotas: in ['x'], expected in ['x', 'y']",
        "step 1: made: q: it has no group",
        "step 1: phases: a/j: Running, expected Pending",
        "step 1: commands: 0, expected 1",
    ):
        assert reported in found
    assert len(found) >= 10
