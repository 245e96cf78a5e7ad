"""Pods on nodes are counted for the affinity of others only where that concerns a pod that waits."""

from typing import Any, Final, NoReturn

import pytest

from maar.core.cycle.placing import node_chooser
from support.planning import plan
from support.scenario import read

CLUSTER: Final[dict[str, object]] = {
    "title": "t",
    "rule": "4.predicates.1",
    "nodes": {"n": {"count": 2, "cpu": 8, "labels": {"disk": "ssd"}}},
    "queues": {"a": {}},
    "running": {"a/web": {"pods": 1, "cpu": 1, "apart": True}},
    "expect": {"binds": {}},
}
OF_TWO_SHAPES: Final = {
    "affinity": {"disk": ["ssd"]},
    "min": 3,
    "tasks": {"x": {"pods": 2, "cpu": 1}, "y": {"pods": 1, "cpu": 2}},
}


class CountedError(Exception):
    """The pods on nodes were counted."""


def counted(*_: object) -> NoReturn:
    raise CountedError


def binds(pending: object) -> dict[str, str]:
    scenario = read({**CLUSTER, "pending": pending}, "t")
    decided: Any = plan(scenario.cluster.objects(), now=scenario.now)["cycles"]
    found: dict[str, str] = decided[0]["binds"]
    return found


def test_nothing_is_counted_for_pods_that_no_term_selects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_chooser, "Neighbours", counted)
    assert len(binds({"a/plain": {"pods": 2, "cpu": 1}, "a/gang": OF_TWO_SHAPES})) == 5


def test_pods_are_counted_for_one_with_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_chooser, "Neighbours", counted)
    with pytest.raises(CountedError):
        binds({"a/apart": {"pods": 1, "cpu": 1, "apart": True}})
