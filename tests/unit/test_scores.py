"""Scores of nodes: what each prefers, the numbers it gives, and that company does not change them."""

import numpy as np
import pytest

from maar.core.fairshare.water_fill import Ints
from maar.core.policy.columns import NodeColumns
from maar.core.policy.grammar import NodeOrderWeights
from maar.core.policy.scores import (
    BalancedResource,
    BinPack,
    LeastRequested,
    MostRequested,
    NodeAffinityPreference,
    TaintPreference,
    UsageScore,
    static_score,
)
from maar.core.tables.axis import ResourceAxis
from support.rows import Rows

GPU = "nvidia.com/gpu"
Amounts = tuple[int, int, int, int]  # cpu, memory, pods, GPUs


def axis() -> ResourceAxis:
    made = ResourceAxis()
    made.column({GPU: 0})
    return made


def columns(*amounts: Amounts) -> Ints:
    return np.array(amounts, np.int64).T


def scored(score: UsageScore, used: Amounts, allocatable: Amounts, request: Amounts) -> float:
    answer = score(columns(used), columns(allocatable), np.array(request), axis())
    assert answer.shape == (1,)
    return float(answer[0])


@pytest.mark.parametrize(
    ("score", "used", "allocatable", "request_", "expected"),
    [
        (LeastRequested(), (0, 0, 0, 0), (4000, 8, 110, 0), (1000, 2, 1, 0), 75),
        (LeastRequested(), (1000, 0, 0, 0), (4000, 8, 110, 0), (1000, 2, 1, 0), 62.5),
        (LeastRequested(weight=3), (1000, 0, 0, 0), (4000, 8, 110, 0), (1000, 2, 1, 0), 187.5),
        (LeastRequested(), (4000, 0, 0, 0), (4000, 8, 110, 0), (1000, 0, 1, 0), 50),
        (LeastRequested(), (0, 0, 0, 0), (4000, 0, 110, 0), (1000, 0, 1, 0), 75),
        (LeastRequested(), (0, 0, 0, 0), (0, 0, 110, 8), (0, 0, 1, 1), 0),
        (LeastRequested(), (0, 0, 9, 7), (4000, 8, 110, 8), (0, 0, 1, 1), 100),
        (MostRequested(), (1000, 0, 0, 0), (4000, 8, 110, 0), (1000, 2, 1, 0), 37.5),
        (MostRequested(), (9000, 0, 0, 0), (4000, 8, 110, 0), (1000, 8, 1, 0), 100),
        (MostRequested(weight=0), (1000, 0, 0, 0), (4000, 8, 110, 0), (1000, 2, 1, 0), 0),
        (BalancedResource(), (0, 0, 0, 0), (4000, 8, 110, 0), (1000, 2, 1, 0), 75),
        (BalancedResource(), (2000, 0, 0, 0), (4000, 8, 110, 0), (0, 4, 1, 0), 87.5),
        (BalancedResource(), (0, 0, 0, 0), (4000, 8, 110, 0), (4000, 0, 1, 0), 50),
        (BalancedResource(), (2000, 0, 0, 0), (4000, 8, 110, 0), (0, 0, 1, 1), 0),
        (BalancedResource(), (0, 0, 0, 0), (4000, 0, 110, 0), (4000, 0, 1, 0), 75),
        (BalancedResource(weight=2), (0, 0, 0, 0), (4000, 8, 110, 0), (1000, 2, 1, 0), 150),
        (BinPack(), (1000, 0, 0, 0), (4000, 8, 110, 8), (1000, 2, 1, 2), 37.5),
        (BinPack(), (1000, 0, 0, 0), (4000, 8, 110, 8), (1000, 0, 1, 2), 50),
        (BinPack(weight=10), (1000, 0, 0, 0), (4000, 8, 110, 8), (1000, 0, 1, 2), 500),
        (BinPack(resources={"cpu": 5, "memory": 1, GPU: 2}), (1000, 0, 0, 2), (4000, 8, 110, 8),
         (1000, 4, 1, 2), 100 * (5 * 0.5 + 1 * 0.5 + 2 * 0.5) / 8),
        (BinPack(resources={GPU: 2}), (0, 0, 0, 0), (4000, 8, 110, 8), (1000, 4, 1, 0), 0),
        (BinPack(resources={"example.com/none": 2}), (0, 0, 0, 0), (4000, 8, 110, 8), (1000, 4, 1, 0), 0),
        (BinPack(resources={"cpu": 1, GPU: 1}), (0, 0, 0, 0), (4000, 8, 110, 0), (2000, 0, 1, 1), 25),
        (BinPack(), (3000, 0, 0, 0), (4000, 8, 110, 0), (2000, 4, 1, 0), 25),
        (BinPack(resources={"cpu": 0, "memory": 0}), (0, 0, 0, 0), (4000, 8, 110, 8), (1000, 4, 1, 0), 0),
    ],
)  # fmt: skip
def test_a_node_is_scored_by_what_it_has_in_use_with_the_pod(
    score: UsageScore, used: Amounts, allocatable: Amounts, request_: Amounts, expected: float
) -> None:
    assert scored(score, used, allocatable, request_) == pytest.approx(expected, rel=1e-12)


def test_a_resource_seen_only_after_the_columns_were_made_counts_as_not_asked_for() -> None:
    grown = axis()
    grown.column({"example.com/late": 1})
    score = BinPack(resources={"cpu": 1, "example.com/late": 5})
    answer = score(columns((0, 0, 0, 0)), columns((4000, 8, 110, 8)), np.array((1000, 0, 1, 0)), grown)
    assert answer.tolist() == [25.0]


@pytest.mark.parametrize(
    "score",
    [
        LeastRequested(0.7),
        MostRequested(1.3),
        BalancedResource(1.1),
        BinPack(3.7, {"cpu": 3, "memory": 7, GPU: 11}),
    ],
)
def test_a_node_scores_the_same_to_the_last_bit_alone_and_among_others(score: UsageScore) -> None:
    dice = np.random.default_rng(7)
    allocatable = dice.integers(0, 2**40, (4, 1003)) * dice.integers(0, 2, (4, 1003))
    used = (allocatable * dice.random((4, 1003))).astype(np.int64)
    request = np.array([1234, 2**33 + 7, 1, 3])
    together = score(used, allocatable, request, axis())
    for node in range(used.shape[1]):
        alone = score(used[:, [node]], allocatable[:, [node]], request, axis())
        assert alone.tobytes() == together[[node]].tobytes()
    some = np.array([5, 900, 17, 17, 333])
    assert score(used[:, some], allocatable[:, some], request, axis()).tobytes() == together[some].tobytes()


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
    assert NodeAffinityPreference(weight=1)(shape, rows.nodes).tolist() == expected
    assert [float(NodeAffinityPreference(1)(shape, [node])[0]) for node in rows.nodes] == expected


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
    assert TaintPreference()(shape, rows.nodes).tolist() == expected


def test_nodeorder_adds_up_what_nodes_say_of_themselves_by_its_weights() -> None:
    rows = Rows()
    rows.node("a1", {"zone": "a"}, ["spot:PreferNoSchedule"])
    rows.node("b1", {"zone": "b"})
    affinity = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference(9, "zone", "a")]}
    }
    shape = rows.pod(spec={"affinity": affinity}).shape
    weights = NodeOrderWeights(node_affinity=5, taint_toleration=1)
    assert static_score(shape, rows.nodes, weights).tolist() == [500, 100]
    assert static_score(shape, NodeColumns.of(rows.nodes), weights).tolist() == [500, 100]
