"""The tables kept up to date event by event are the tables made anew, and rankings are every node scored."""

from collections import Counter
from random import Random
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from maar.core.cycle import decide, settle
from maar.core.cycle.placing.ranking import Ranking
from maar.core.cycle.placing.room import Room, When
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.plan import Plan
from maar.core.model.pod import Pod
from maar.core.policy.configuration import DEFAULT
from maar.core.policy.scoring import UsageScore
from maar.core.reporting.plan import plan_of
from maar.core.tables.axis import Needs
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.rows import NodeRow
from maar.core.tables.shapes import Shape
from maar.core.tables.tables import Tables
from properties.cluster_recipe import Reach
from properties.clusters import grow, recipes
from properties.how_many import cases

NOW = 1_780_000_000.0
HALF = 0.5


def appeared(one: Object) -> Upserted:
    return Upserted(object=cast("AnyObject", one))


def history(objects: list[Object], others: list[Object], rng: Random) -> list[Event]:
    """Events that end with just these objects: others come and go, and some of these go and come back.

    Most are told of once: what hangs on others has to follow when these change.
    """
    events: list[Event] = [appeared(one) for one in (*objects, *others)]
    rng.shuffle(events)
    gone = [*others, *rng.sample(objects, len(objects) // 3)]
    rng.shuffle(gone)
    events += [Deleted(kind=type(one).__name__, key=one.key) for one in gone]
    back = [*(one for one in gone if one in objects), *rng.sample(objects, len(objects) // 5)]
    return [*events, *(appeared(one) for one in rng.sample(back, len(back)))]


def with_stale_promises(objects: list[Object], rng: Random) -> list[Object]:
    """Some pods on nodes still carry the promise of another, as API servers of old leave it."""
    nodes = [one.key for one in objects if isinstance(one, Node)]

    def stale(one: Object) -> Object:
        if not isinstance(one, Pod) or not one.spec.node_name or not nodes or rng.random() < HALF:
            return one
        return replace(one, status=replace(one.status, nominated_node_name=rng.choice(nodes)))

    return [stale(one) for one in objects]


def table(tables: Tables) -> dict[str, object]:
    """Everything that is counted, without the order in which it was learnt."""
    names = tables.axis.names

    def amounts(column: list[int]) -> dict[str, int]:
        return {name: amount for name, amount in zip(names, column, strict=True) if amount}

    def named(needs: Needs | None) -> dict[str, int]:
        return {names[row]: amount for row, amount in needs or ()}

    return {
        "nodes": {
            name: (amounts(one.now), amounts(one.later), sorted(one.pods))
            for name, one in tables.nodes.items()
        },
        "queues": {
            name: [amounts(column) for column in (one.used, one.status_used, one.asked, one.admitted)]
            for name, one in tables.queues.items()
        },
        "namespaces": {
            (name, namespace): amounts(column)
            for name, one in tables.queues.items()
            for namespace, column in one.namespaces.items()
            if any(column)
        },
        "members": {name: dict(+one.members) for name, one in tables.queues.items()},
        "budget": (amounts(tables.budget), amounts(tables.capacity)),
        "pods": {
            key: (one.order, one.group.key if one.group else "", one.counted is not None)
            for key, one in tables.pods.items()
        },
        "groups": {
            key: (one.phase, one.placed, one.gated, one.standing_minimum, sorted(one.tolerations, key=str))
            for key, one in tables.groups.items()
        },
        "to start": {key: named(one.to_start) for key, one in tables.groups.items()},
        "shared nodes": sorted(name for name, one in tables.nodes.items() if one.is_shared),
        "tolerated": dict(tables.tolerated.groups),
        "waiting": sorted(tables.waiting),
        "short": sorted(tables.short),
        "outside": sorted(tables.not_enqueued),
        "not started": sorted(tables.not_started),
        "leaving": sorted(tables.leaving),
        "orphans": sorted(tables.orphans),
        "aside": tables.set_aside,
    }


@pytest.mark.parametrize("reach", list(Reach), ids=lambda reach: reach.name)
def test_tables_kept_up_to_date_are_the_tables_made_anew(reach: Reach) -> None:
    @settings(max_examples=cases(25))
    @given(recipe=recipes(reach), other=recipes(reach), seed=st.integers(0, 2**32))
    def holds(recipe: object, other: object, seed: int) -> None:
        rng = Random(seed)
        objects, others = grow(recipe).objects, grow(other).objects  # type: ignore[arg-type]
        keys = {(type(one), one.key) for one in objects}
        others = [one for one in others if (type(one), one.key) not in keys]
        objects = with_stale_promises(objects, rng)
        kept, fresh = Tables(), Tables()
        events = history(objects, others, rng)
        for start in range(0, len(events), 50):
            kept.feed(events[start : start + 50])
            kept.settle()
        fresh.feed([appeared(one) for one in objects])
        kept.settle()
        fresh.settle()
        assert table(kept) == table(fresh)
        assert planned(kept) == planned(fresh)

    holds()


def planned(tables: Tables) -> Plan:
    settle(tables, DEFAULT, NOW)
    return plan_of(decide(tables, DEFAULT, NOW))


def test_deciding_changes_nothing_and_decides_the_same_again() -> None:
    @settings(max_examples=cases(25))
    @given(recipe=recipes(Reach.BEYOND))
    def holds(recipe: object) -> None:
        tables = Tables()
        tables.feed([appeared(one) for one in grow(recipe).objects])  # type: ignore[arg-type]
        settle(tables, DEFAULT, NOW)
        before = table(tables)
        first = planned(tables)
        assert table(tables) == before
        assert planned(tables) == first

    holds()


def test_the_best_node_is_the_one_that_scoring_every_node_finds() -> None:
    runs = Counter[int]()

    @settings(max_examples=cases(60))
    @given(seed=st.integers(0, 2**32))
    def holds(seed: int) -> None:
        place_on_the_best_nodes(Random(seed), runs)

    holds()
    assert runs[2] > cases(60), runs
    assert runs[3] > cases(60) // 10, runs  # a run of three is rare


def place_on_the_best_nodes(rng: Random, runs: Counter[int]) -> None:
    """Place random pods on random nodes, and compare each ranking with one that is made anew."""
    count = rng.choice((1, 3, 20, 120))
    nodes = [
        NodeRow(
            f"n{index:03}",
            {},
            (),
            True,
            True,
            [rng.choice((0, 4, 8)), rng.choice((0, 8)), 5],
            [0] * 3,
            [0] * 3,
            [0] * 3,
            index,
        )
        for index in range(count)
    ]
    room, usage = (
        Room(NodeColumns(nodes), 3),
        UsageScore(rng.choice((0.0, 1.0)), 0.0, rng.choice((0.0, 1.0)), rng.choice((0.0, 1.0))),
    )
    shapes = [Shape(((0, rng.randint(1, 3)), (1, rng.randint(1, 3)), (2, 1))) for _ in range(4)]
    masks = [np.array([rng.random() < 0.8 for _ in nodes]) for _ in shapes]
    bonus = [np.array([rng.choice((0.0, 0.0, 50.0)) for _ in nodes]) for _ in shapes]
    when: When = "now" if rng.random() < HALF else "later"
    kept = [Ranking(shapes[which], room, when, usage, masks[which], bonus[which]) for which in range(4)]
    taken: list[tuple[int, Shape]] = []
    for _ in range(60):
        which = rng.randrange(4)
        found, run = kept[which].best_run(rng.randint(1, 3))
        runs[run] += 1
        for _ in range(run):  # of equal pods to this node
            assert found == Ranking(shapes[which], room, when, usage, masks[which], bonus[which]).best()
            if found >= 0:
                taken.append((found, shapes[which]))
                room.change(found, shapes[which].needs, 1, 1)
        for node, shape in rng.sample(taken, len(taken) // 4) if rng.random() < 0.1 else ():
            taken.remove((node, shape))
            room.change(node, shape.needs, -1, -1)
