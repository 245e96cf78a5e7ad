"""M1: plans are the same with and without a memory. M2: no decision writes to the tables."""

from collections.abc import Iterable
from random import Random
from typing import Final

import pytest

from maar.core.cycle import Memory, decide, settle
from maar.core.engine import Brevity, Engine
from maar.core.model.events import Event
from maar.core.model.plan import Plan
from maar.core.model.writes import Write
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.reporting.plan import plan_of
from properties.crowds import ContestedCrowd, Crowd, configuration
from properties.how_many import cases
from support.frozen import WrittenToError, frozen

CROWDS: Final = cases(60)
CYCLES: Final = 12


class WithAndWithoutMemory(Engine):
    """An engine with a memory and one without, fed alike; every plan is that of both."""

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(configuration)
        self.without = Engine(configuration, memory=None)

    def feed(self, events: Iterable[Event]) -> None:
        """Feed both."""
        events = list(events)
        super().feed(events)
        self.without.feed(events)

    def decide(self, now: float, *, is_brief: Brevity = False) -> Plan:
        """Decide with both."""
        plan = super().decide(now, is_brief=is_brief)
        assert self.without.decide(now, is_brief=is_brief) == plan
        return plan

    def assume(self, write: Write) -> None:
        """Assume it in both."""
        super().assume(write)
        self.without.assume(write)

    def forget(self, write: Write) -> None:
        """Forget it in both."""
        super().forget(write)
        self.without.forget(write)


@pytest.mark.parametrize("kind", [Crowd, ContestedCrowd], ids=["any", "contested"])
@pytest.mark.parametrize("number", range(CROWDS))
def test_m1_memory_changes_no_plan(seed: int, number: int, kind: type[Crowd]) -> None:
    rng = Random(f"{seed} remembers {number}")
    crowd = kind(rng, configuration(rng))
    crowd.cluster.engine = WithAndWithoutMemory(crowd.configuration)
    crowd.cluster.engine.feed(crowd.events())
    for _ in crowd.live(CYCLES):
        for later in (0.5, 3.0, 60.0, 0.5):  # nothing has changed but the time
            crowd.cluster.engine.decide(crowd.time + later)


@pytest.mark.parametrize("number", range(CROWDS))
def test_m2_no_decision_writes_to_the_tables(seed: int, number: int) -> None:
    rng = Random(f"{seed} frozen {number}")
    crowd = (Crowd if number % 2 else ContestedCrowd)(rng, configuration(rng, counts_use=False))
    memory, tables = Memory(), crowd.cluster.engine.tables
    for _ in crowd.live(CYCLES // 2):
        settle(tables, crowd.configuration, crowd.time)
        with frozen(tables):
            plan_of(decide(tables, crowd.configuration, crowd.time, memory))


def test_frozen_tables_refuse_every_change(seed: int) -> None:
    tables = Crowd(Random(f"{seed} refusing"), DEFAULT).cluster.engine.tables
    tables.settle()
    group, queue, node = next(iter(tables.groups.values())), tables.rows[0], tables.node_list[0]
    with frozen(tables):
        with pytest.raises(WrittenToError):
            tables.groups.clear()
        with pytest.raises(WrittenToError):
            tables.budget = []
        with pytest.raises(WrittenToError):
            tables.budget.append(1)
        with pytest.raises(WrittenToError):
            group.placed = 3
        with pytest.raises(WrittenToError):
            group.pods.clear()
        with pytest.raises(WrittenToError):
            queue.used[0] += 1
        with pytest.raises(WrittenToError):
            node.labels["a"] = "b"
        with pytest.raises(WrittenToError):
            queue.members["a"] += 1
    tables.budget.append(1)
