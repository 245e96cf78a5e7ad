"""What a cycle shares between groups that are alike, and keeps between cycles, changes no plan."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Final

import msgspec
import pytest

from maar.core.cycle import classes
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.group_states import GroupStates
from maar.core.engine import Engine
from maar.core.model.plan import GroupOutcome
from maar.core.model.reasons import Reason
from maar.core.policy.configuration import parse
from maar.core.reporting.group_status import says
from properties.clusters import configured
from properties.crowds import ContestedCrowd, Crowd, configuration
from properties.entitled_crowds import EntitledCrowd
from properties.how_many import cases

CROWDS: Final = cases(60)
CYCLES: Final = 12
HOLDING_ROOM: Final = parse(configured(["sla"], {"sla": {"sla-waiting-time": "0s", "depth": 2}}))


@pytest.mark.parametrize("kind", [Crowd, EntitledCrowd], ids=["any", "entitled"])
@pytest.mark.parametrize("number", range(CROWDS))
def test_an_engine_that_has_lived_decides_as_a_new_one(seed: int, number: int, kind: type[Crowd]) -> None:
    rng = Random(f"{seed} lived {number}")
    crowd = kind(rng, configuration(rng, counts_use=False))  # use is counted from when an engine starts
    for plan in crowd.live(CYCLES):
        new = Engine(crowd.configuration)
        new.feed(crowd.events())
        assert new.decide(crowd.time) == plan


@pytest.mark.parametrize("number", range(CROWDS // 2))
def test_a_brief_plan_decides_the_same_and_leaves_reasons_out(seed: int, number: int) -> None:
    rng = Random(f"{seed} brief {number}")
    usual = configuration(rng, counts_use=False)
    crowd = Crowd(rng, HOLDING_ROOM if number % 2 else usual)
    for plan in crowd.live(CYCLES):
        new = Engine(crowd.configuration)
        new.feed(crowd.events())
        brief = new.decide(crowd.time, is_brief=True)
        assert msgspec.structs.replace(brief, pod_groups={}) == msgspec.structs.replace(plan, pod_groups={})
        for key, outcome in plan.pod_groups.items():
            if key in brief.pod_groups:
                assert said(brief.pod_groups[key]) == said(outcome)
            elif key in crowd.cluster.groups:  # it stays as it is
                is_stated = says(crowd.cluster.groups[key].status, outcome)
                assert is_stated or (outcome.refusal is None and not outcome.message)
        assert brief.pod_groups.keys() <= plan.pod_groups.keys()


def said(outcome: GroupOutcome) -> tuple[object, ...]:
    """What the next decision may depend on."""
    reason = outcome.refusal.reason if outcome.refusal is not None else None
    return outcome.phase, outcome.is_unschedulable, reason is None, reason == Reason.PLANNED_START


@pytest.mark.parametrize("kind", [Crowd, ContestedCrowd, EntitledCrowd], ids=["any", "contested", "entitled"])
@pytest.mark.parametrize("number", range(CROWDS))
def test_groups_that_are_alike_fare_as_if_each_had_its_own_turns(
    seed: int, number: int, kind: type[Crowd]
) -> None:
    name = f"{seed} alike {number}"
    rng, other_rng = Random(name), Random(name)
    crowd = kind(rng, configuration(rng))
    with each_group_alone():
        lives = kind(other_rng, configuration(other_rng)).live(CYCLES)
    for plan in crowd.live(CYCLES):
        with each_group_alone():
            expected = next(lives)
        assert plan == expected


@contextmanager
def each_group_alone() -> Iterator[None]:
    """Let no group be like another."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(classes, "signature_of", lambda *_: None)
        yield


def test_crowds_are_worth_looking_at(seed: int) -> None:
    seen = Counter[str]()
    for number in range(CROWDS):
        rng = Random(f"{seed} seen {number}")
        crowd = Crowd(rng, configuration(rng))
        for plan in crowd.live(CYCLES):
            memory = crowd.cluster.engine.memory
            assert memory is not None
            seen["binds"] += bool(plan.binds)
            seen["evictions"] += bool(plan.evictions)
            seen["alike"] += any(len(one.rows) > 1 for one in memory.classes)
            seen["kept"] += bool(len(memory.answers("outcomes")))
    assert seen["binds"] > CROWDS
    assert seen["evictions"]
    assert seen["alike"] > CROWDS
    assert seen["kept"] > CROWDS


def test_evictions_of_contested_crowds_give_turns_back(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of a class failed before a group succeeded, and others of the class come after it."""
    seen, divide = Counter[str](), GroupStates.divide

    def noted(self: GroupStates, group: GroupState, place: int) -> GroupState | None:
        rest = divide(self, group, place)
        seen["several"] += place > group.cursor + 1 and rest is not None
        return rest

    monkeypatch.setattr(GroupStates, "divide", noted)
    for number in range(CROWDS):
        rng = Random(f"{seed} alike {number}")
        for plan in ContestedCrowd(rng, configuration(rng)).live(CYCLES):
            seen["evictions"] += bool(plan.evictions)
    assert seen["several"] > CROWDS / 4
    assert seen["evictions"] > CROWDS
