"""Every scenario of admission is reviewed; its title is the promise."""

import pytest

from support.admission_scenario import AdmissionScenario, all_admission_scenarios, read
from support.fields import BadScenarioError

SCENARIOS = [pytest.param(one, id=one.title) for one in all_admission_scenarios()]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_admission_scenario(scenario: AdmissionScenario) -> None:
    assert scenario.complaints() == []


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ({"crate": {}, "accepted": True}, "x.crate: unknown key; is create meant?"),
        ({"queues": {"a": {"wieght": 2}}}, "x.queues.a.wieght: unknown key; is weight meant?"),
        ({"states": {"a": "Open"}}, "queues/a: there is no such object in the scenario"),
        ({"create": {"queues/a": {}}}, "x.refused: say `accepted: true` or what is refused"),
    ],
)
def test_what_a_scenario_says_wrong_is_refused_with_its_path(lines: dict[str, object], problem: str) -> None:
    with pytest.raises(BadScenarioError) as refusal:
        read({"title": "a title", "rule": "queue-weight", **lines}, "x")
    assert problem in str(refusal.value)


def test_a_verdict_that_differs_is_complained_about() -> None:
    lines = {
        "title": "a title",
        "rule": "queue-weight",
        "create": {"queues/a": {"weight": 0}},
        "refused": {"queue-state": "spec.state"},
        "says": "nothing of the kind",
        "becomes": {"spec.weight": 1},
    }
    refused, reported, stored = read(lines, "x").complaints()
    assert refused.startswith(
        "refused: [('queue-weight', 'spec.weight')], expected [('queue-state', 'spec.state')]"
    )
    assert reported.startswith("nobody says 'nothing of the kind', but [queue-weight] spec.weight is 0")
    assert stored == "spec.weight: 0, expected 1"
