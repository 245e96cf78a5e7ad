"""What the job controller promises, scenario by scenario; a restart at any moment changes nothing."""

import pytest

from support.scenario_jobs import JobScenario, all_job_scenarios

SCENARIOS = all_job_scenarios()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.title)
def test_a_job_goes_its_way(scenario: JobScenario) -> None:
    assert scenario.complaints() == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.title)
def test_and_the_same_way_when_the_controller_is_started_anew_all_the_time(scenario: JobScenario) -> None:
    assert scenario.complaints(restarting=True) == []
