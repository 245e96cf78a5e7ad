"""The language of scenarios is strict, and the page of rules is made from it."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.fields import BadScenarioError
from support.scenario import read

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ({"node": {}, "expect": {}}, "x.node: unknown key; is nodes meant?"),
        ({"queues": {"a": {"wieght": 2}}}, "x.queues.a.wieght: unknown key; is weight meant?"),
        ({"queues": {"a": {"weight": "two"}}}, "x.queues.a.weight: expected int"),
        ({"nodes": {"n": {"cpu": "2c"}}}, "x.nodes.n.cpu: "),
        ({"pending": {"a/j": {"tasks": {"t": {"cpus": 1}}}}}, "x.pending.a/j.tasks.t.cpus: unknown key"),
        ({"pending": {"j": {}}}, "x.pending.j: write queue/name, once"),
        ({"running": {"a/j": {"cpu": 1}}}, "its running pods do not fit"),
        ({"budgets": {"b": {"of": "a/j"}}}, "x.budgets.b.of: no such pod group"),
        ({"expect": {"deserves": {}}}, "x.expect.deserves: unknown key; is deserved meant?"),
        ({"expect": {"binds": {"a/j": 1}}}, "x.expect.binds.a/j: there is no such"),
        ({"expect": {"deserved": {"q": {"cpu": 1}}}}, "x.expect.deserved.q: there is no such"),
        ({"pending": {"a/j": {}}, "expect": {"waits": {"a/j": "Tired"}}}, "'Tired' is not a reason"),
        ({"config": {"action": "allocate"}}, "x.config.action: unknown key; is actions meant?"),
        ({"last": {"quiet": True}}, "x.last: say after how many `cycles`"),
        ({}, "x: nothing is expected"),
    ],
)
def test_what_a_scenario_says_wrong_is_refused_with_its_path(lines: dict[str, object], problem: str) -> None:
    with pytest.raises(BadScenarioError) as refusal:
        read({"title": "a title", "rule": "3.1.1", **lines}, "x")
    assert problem in str(refusal.value)


def test_a_cycle_that_differs_is_complained_about() -> None:
    lines = {
        "title": "a title",
        "rule": "3.1.1",
        "nodes": {"n": {"cpu": 4}},
        "running": {"a/j": {"pods": 2, "cpu": 1}},
        "pending": {"a/k": {"pods": 2, "cpu": 1}},
        "expect": {"used": {"default": {"cpu": 2}}, "binds": {"a/k": 2}, "phases": {"a/k": "Running"}},
    }
    cycle = {
        "queues": {"default": {"used": {"cpu": "1"}}},
        "binds": {"default/a-k-1": "n"},
        "evictions": [{"pod": "default/a-j-1", "for": "default/a-k", "action": "preempt"}],
        "podGroups": {"default/a-k": {"phase": "Inqueue", "reason": "", "message": ""}},
    }
    assert read(lines, "x").expectations[0].complaints(cycle) == [
        "evicted: a/j: ['a/j-1'], expected 0",
        "used: default: cpu 1, expected 2",
        "binds: a/k: {'a/k-1': 'n'}, expected 2",
        "phases: a/k: Inqueue, expected Running",
    ]


def test_the_page_of_rules_is_current_and_every_rule_has_a_scenario() -> None:
    command = [sys.executable, str(ROOT / "tools" / "rule_map.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
