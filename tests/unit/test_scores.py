"""Scores of nodes: what each prefers, the numbers it gives, and that company does not change them."""

import random

import numpy as np
import pytest

from maar.core.policy.grammar import NodeOrderWeights
from maar.core.policy.scores import NodeAffinityPreference, TaintPreference, shape_scores
from maar.core.policy.scoring import UsageScore
from maar.core.tables.node_columns import NodeColumns
from support.rows import Rows

Amounts = tuple[int, int, int, int]  # cpu, memory, pods, GPUs
NOTHING = UsageScore(least=0, most=0, balanced=0, binpack=0)
LEAST, MOST = UsageScore(least=1, balanced=0, binpack=0), UsageScore(most=1, balanced=0, binpack=0)
BALANCED, PACKED = UsageScore(balanced=1, binpack=0), UsageScore(balanced=0, binpack=1)
GPUS = UsageScore(balanced=0, binpack=2, binpack_of=((0, 5.0), (1, 1.0), (3, 2.0)))


@pytest.mark.parametrize(
    ("score", "used", "allocatable", "request_", "expected"),
    [
        (LEAST, (0, 0, 0, 0), (4000, 8, 110, 0), (1000, 2, 1, 0), 75),
        (LEAST, (1000, 0, 0, 0), (4000, 8, 110, 0), (1000, 2, 1, 0), 62.5),
        (LEAST, (0, 0, 0, 0), (4000, 0, 110, 0), (1000, 0, 1, 0), 75),
        (MOST, (1000, 0, 0, 0), (4000, 8, 110, 0), (1000, 2, 1, 0), 37.5),
        (BALANCED, (0, 0, 0, 0), (4000, 8, 110, 0), (1000, 2, 1, 0), 100),
        (BALANCED, (0, 0, 0, 0), (4000, 8, 110, 0), (4000, 0, 1, 0), 50),
        (BALANCED, (0, 0, 0, 0), (4000, 0, 110, 0), (4000, 0, 1, 0), 100),
        (PACKED, (1000, 0, 0, 0), (4000, 8, 110, 8), (1000, 2, 1, 2), 37.5),
        (PACKED, (1000, 0, 0, 0), (4000, 8, 110, 8), (1000, 0, 1, 2), 50),
        (PACKED, (0, 0, 0, 0), (4000, 8, 110, 8), (0, 0, 1, 2), 0),
        (
            GPUS,
            (1000, 0, 0, 2),
            (4000, 8, 110, 8),
            (1000, 4, 1, 2),
            2 * 100 * (5 * 0.5 + 1 * 0.5 + 2 * 0.5) / 8,
        ),
        (NOTHING, (1000, 0, 0, 2), (4000, 8, 110, 8), (1000, 4, 1, 2), 0),
    ],
)
def test_a_node_is_scored_by_what_it_has_in_use_with_the_pod(
    score: UsageScore, used: Amounts, allocatable: Amounts, request_: Amounts, expected: float
) -> None:
    request = {row: amount for row, amount in enumerate(request_) if amount}
    assert score.scorer(request)(used, allocatable) == pytest.approx(expected)


def test_one_node_and_many_score_the_same_to_the_last_bit() -> None:
    rng = random.Random(7)
    for _ in range(300):
        least, most, balanced, binpack = (rng.choice((0.0, 1.0, 3.0)) for _ in range(4))
        score = UsageScore(least, most, balanced, binpack, ((0, 2.0), (1, 1.0), (3, 5.0)))
        nodes = [[rng.choice((0, rng.randint(1, 2**40))) for _ in range(4)] for _ in range(20)]
        used = [[rng.randint(0, amount) for amount in node] for node in nodes]
        request = {row: rng.randint(1, 2**30) for row in range(4) if rng.choice((True, False))}
        many = score.of_columns(np.array(used, np.int64).T, np.array(nodes, np.int64).T, request)
        alone = [score.scorer(request)(held, node) for held, node in zip(used, nodes, strict=True)]
        assert many.tolist() == alone


def preference(weight: int, key: str, *values: str) -> dict[str, object]:
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"weight": weight, "preference": {"matchExpressions": [expression]}}


@pytest.mark.parametrize(
    ("preferred", "expected"),
    [
        ([], [0, 0, 0]),
        ([preference(1, "zone", "a")], [100, 100, 0]),
        ([preference(80, "zone", "a"), preference(20, "disk", "ssd")], [80, 100, 0]),
        ([preference(50, "zone", "nowhere")], [0, 0, 0]),
        ([preference(50, "zone", "b"), {"weight": 50, "preference": {}}], [0, 0, 100]),
    ],
)
def test_a_node_scores_the_part_of_the_preferred_affinity_that_it_meets(
    preferred: list[dict[str, object]], expected: list[float]
) -> None:
    rows = Rows()
    rows.node("a1", {"zone": "a"})
    rows.node("a2", {"zone": "a", "disk": "ssd"})
    rows.node("b1", {"zone": "b"})
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    shape = rows.pod(spec={"affinity": affinity}).shape
    assert NodeAffinityPreference(weight=1)(shape, NodeColumns(rows.nodes)).tolist() == expected
    assert [
        float(NodeAffinityPreference(1)(shape, NodeColumns([node]))[0]) for node in rows.nodes
    ] == expected


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], [300, 0, -300, 300]),
        ([{"key": "spot", "operator": "Exists"}], [300, 300, 0, 300]),
        ([{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}], [300, 0, -300, 300]),
        ([{"operator": "Exists"}], [300, 300, 300, 300]),
    ],
)
def test_every_taint_that_asks_to_stay_away_costs_the_same(
    tolerations: list[dict[str, str]], expected: list[float]
) -> None:
    rows = Rows()
    rows.node("plain")
    rows.node("spot", taints=["spot:PreferNoSchedule"])
    rows.node("worse", taints=["spot:PreferNoSchedule", "old=yes:PreferNoSchedule"])
    rows.node("hard", taints=["gpu:NoSchedule"])
    shape = rows.pod(spec={"tolerations": tolerations}).shape
    assert TaintPreference()(shape, NodeColumns(rows.nodes)).tolist() == expected


def test_nodeorder_adds_up_what_nodes_say_of_themselves_by_its_weights() -> None:
    rows = Rows()
    rows.node("a1", {"zone": "a"}, ["spot:PreferNoSchedule"])
    rows.node("b1", {"zone": "b"})
    affinity = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference(9, "zone", "a")]}
    }
    shape = rows.pod(spec={"affinity": affinity}).shape
    weights = NodeOrderWeights(node_affinity=5, taint_toleration=1)
    assert np.sum(
        [one(shape, NodeColumns(rows.nodes)) for one in shape_scores(weights)], axis=0
    ).tolist() == [500, 100]
    columns = NodeColumns(rows.nodes)
    assert np.sum([one(shape, columns) for one in shape_scores(weights)], axis=0).tolist() == [500, 100]
