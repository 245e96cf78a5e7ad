"""Every scenario of cron jobs and job flows comes to rest as it promises, also after any restart."""

import pytest

from support.fields import BadScenarioError
from support.scenario_made_jobs import MadeJobsScenario, all_made_jobs_scenarios, read

SCENARIOS = [pytest.param(one, id=one.title) for one in all_made_jobs_scenarios()]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_made_jobs_scenario(scenario: MadeJobsScenario) -> None:
    assert scenario.complaints() == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_restart_and_the_order_of_events_change_nothing(scenario: MadeJobsScenario) -> None:
    assert scenario.complaints(restarting=True, backwards=True) == []


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ({"cronjob": {}, "expect": {"jobs": {}}}, "x.cronjob: unknown key; is cronjobs meant?"),
        ({"expect": {"job": {}}}, "x.expect.job: unknown key; is jobs meant?"),
        ({"expect": {}}, "x: nothing is expected"),
    ],
)
def test_what_a_scenario_says_wrong_is_refused_with_its_path(lines: dict[str, object], problem: str) -> None:
    with pytest.raises(BadScenarioError) as refusal:
        read({"title": "a title", "rule": "5.6.1", **lines}, "x")
    assert problem in str(refusal.value)


def test_a_world_that_differs_is_complained_about() -> None:
    lines = {
        "title": "a title",
        "rule": "5.6.1",
        "cronjobs": {"c": {"schedule": "0 * * * *"}},
        "templates": {"a": {}},
        "flows": {"f": {"a": {}}},
        "expect": {
            "jobs": {"c@12:00": ""},
            "flow": {"f": "Running"},
            "made": {"a": []},
            "cron": {"c": {"last": "12:00"}},
            "specs": {"f-a": {"spec.queue": "q"}},
            "events": {"c": ["SuccessfulCreate"]},
        },
    }
    found = read(lines, "x").complaints()
    assert [one.split(": ")[1] for one in found] == ["jobs", "flow", "made", "cron", "specs", "events"]
