"""Fair shares through the public interface: worked examples, the rules, and hostile input."""

from typing import Any

import pytest

from maar import BadQueueDemandError, QueueDemand, QueueTree, fair_shares, share_out
from maar.core.fairshare import LARGEST_AMOUNT


def deserved(total: dict[str, object], queues: dict[str, dict[str, object]]) -> dict[str, dict[str, str]]:
    shares = fair_shares(total, queues)
    return {name: shares[name].deserved.quantities() for name in queues}


def test_the_first_seed_shares_9_cpus_and_27gi_by_weights_2_and_4() -> None:
    queues: dict[str, dict[str, object]] = {
        "q1": {"weight": 2, "request": {"cpu": 5, "memory": "10Gi"}},
        "q2": {"weight": 4, "request": {"cpu": 10, "memory": "20Gi"}},
    }
    assert deserved({"cpu": 9, "memory": "27Gi"}, queues) == {
        "q1": {"cpu": "3", "memory": "9Gi"},
        "q2": {"cpu": "6", "memory": "18Gi"},
    }


def test_reservations_hold_jointly_where_each_alone_would_leak() -> None:
    queues: dict[str, dict[str, object]] = {
        "reserved": {"guarantee": {"cpu": 8}},
        "b": {"weight": 9, "request": {"cpu": 10}},
        "c": {"weight": 9, "request": {"cpu": 10}},
    }
    assert deserved({"cpu": 10}, queues) == {"reserved": {"cpu": "8"}, "b": {"cpu": "1"}, "c": {"cpu": "1"}}


def test_deserved_is_never_below_the_guarantee() -> None:
    shares = fair_shares(
        {"cpu": 10}, {"a": {"guarantee": {"cpu": 6}}, "b": {"weight": 50, "request": {"cpu": 90}}}
    )
    assert shares["a"].deserved["cpu"] == 6_000
    assert shares["a"].binding == {"cpu": "guarantee"}


def test_real_capability_is_the_capability_or_what_other_reservations_leave() -> None:
    shares = fair_shares(
        {"cpu": 10},
        {
            "team": {"capability": {"cpu": 9}},
            "a": {"parent": "team", "guarantee": {"cpu": 4}},
            "b": {"parent": "team", "capability": {"cpu": 7}, "guarantee": {"cpu": 1}},
            "c": {"parent": "team", "capability": {"cpu": 2}},
        },
    )
    real = {name: shares[name].real_capability["cpu"] // 1000 for name in ("team", "a", "b", "c")}
    assert real == {"team": 9, "a": 8, "b": 5, "c": 2}


def test_the_sum_of_deserved_is_never_more_than_the_total() -> None:
    shares = fair_shares(
        {"nvidia.com/gpu": 7},
        {name: {"request": {"nvidia.com/gpu": 7}, "guarantee": {"nvidia.com/gpu": 2}} for name in "abcde"},
    )
    assert sum(shares[name].deserved["nvidia.com/gpu"] for name in "abcde") == 7
    assert [shares[name].guarantee["nvidia.com/gpu"] for name in "abcde"] == [2, 2, 1, 1, 1]
    assert [name for name in "abcde" if shares[name].reduced] == ["c", "d", "e"]


def test_odd_units_go_to_the_older_queue_then_by_name() -> None:
    def gpus(**created: float) -> dict[str, int]:
        queues: dict[str, Any] = {
            name: {"request": {"gpu": 9}, "created": when} for name, when in created.items()
        }
        shares = fair_shares({"gpu": 4}, queues)
        return {name: shares[name].deserved["gpu"] for name in created}

    assert gpus(a=3.0, b=2.0, c=1.0) == {"a": 1, "b": 1, "c": 2}
    assert gpus(c=0.0, b=0.0, a=0.0) == {"a": 2, "b": 1, "c": 1}


def test_a_percentage_is_of_the_whole_cluster_at_any_depth_and_the_larger_guarantee_holds() -> None:
    shares = fair_shares(
        {"cpu": 40},
        {
            "team": {},
            "train": {"parent": "team", "percentage": {"cpu": "12.5"}},
            "batch": {"parent": "team", "percentage": {"cpu": 10}, "guarantee": {"cpu": 6}},
            "rest": {"weight": 9, "request": {"cpu": 40}},
        },
    )
    assert shares["train"].guarantee["cpu"] == 5_000
    assert shares["batch"].guarantee["cpu"] == 6_000
    assert shares["rest"].deserved["cpu"] == 29_000


def test_weights_compete_level_by_level() -> None:
    shares = fair_shares(
        {"cpu": 60},
        {
            "a": {"weight": 2},
            "b": {"weight": 1, "request": {"cpu": 90}},
            "a1": {"parent": "a", "weight": 1, "request": {"cpu": 90}},
            "a2": {"parent": "a", "weight": 3, "request": {"cpu": 90}},
        },
    )
    assert {name: shares[name].deserved["cpu"] // 1000 for name in shares} == {
        "root": 60, "a": 40, "b": 20, "a1": 10, "a2": 30,
    }  # fmt: skip
    assert shares.tree.weights() == {"root": {"a": 2, "b": 1}, "a": {"a1": 1, "a2": 3}}
    assert shares.tree.leaves == ("b", "a1", "a2")
    assert shares.tree.path("a2") == ("a2", "a", "root")
    assert shares["a"].request["cpu"] == 180_000


def test_the_certificate_names_what_binds() -> None:
    shares = fair_shares(
        {"cpu": 10},
        {
            "content": {"request": {"cpu": 1}},
            "capped": {"request": {"cpu": 9}, "capability": {"cpu": 2}},
            "idle": {"guarantee": {"cpu": 2}},
            "hungry": {"request": {"cpu": 9}},
            "team": {},
            "alone": {"parent": "team", "request": {"cpu": 9}},
        },
    )
    bound = {name: shares[name].binding.get("cpu") for name in shares}
    assert bound == {
        "root": None,
        "content": "request",
        "capped": "capability",
        "idle": "guarantee",
        "hungry": "fair share",
        "team": "fair share",
        "alone": "parent",
    }


def test_share_and_held_follow_what_leaves_use() -> None:
    shares = fair_shares(
        {"cpu": 10, "gpu": 0},
        {
            "team": {"guarantee": {"cpu": 5}},
            "a": {"parent": "team", "guarantee": {"cpu": 2}, "request": {"cpu": 8}, "used": {"cpu": 1}},
            "b": {"parent": "team", "request": {"cpu": 8}, "used": {"cpu": 4}},
            "c": {"request": {"cpu": 1}, "used": {"cpu": 1, "gpu": 1}},
            "d": {},
        },
    )
    reserved = {name: shares[name].reserved["cpu"] // 1000 for name in ("team", "a", "b", "c", "d")}
    assert reserved == {"team": 6, "a": 2, "b": 4, "c": 1, "d": 0}
    assert shares["team"].share == pytest.approx(5 / 9)
    assert shares["c"].share == float("inf")
    assert shares["d"].share == 0.0


def test_an_answer_prints_as_a_tree() -> None:
    shares = fair_shares(
        {"cpu": 9, "memory": "27Gi"},
        {
            "q1": {"weight": 2, "request": {"cpu": 5, "memory": "10Gi"}},
            "team": {"weight": 4},
            "q2": {"parent": "team", "request": {"cpu": 10, "memory": "20Gi"}},
        },
    )
    assert str(shares).splitlines() == [
        "queue     weight  cpu                  memory",
        "root              9                    27Gi",
        "├─ q1     2       3 of 5, fair share   9Gi of 10Gi, fair share",
        "└─ team   4       6 of 10, fair share  18Gi of 20Gi, fair share",
        "   └─ q2  1       6 of 10, parent      18Gi of 20Gi, parent",
    ]
    assert (
        str(shares["q1"]) == "q1 deserves cpu 3, memory 9Gi (bound: cpu by fair share, memory by fair share)"
    )


@pytest.mark.parametrize(
    ("queues", "sentence"),
    [
        ({"a": {"weight": 0}}, "queue a: weight 0 is out of range: a weight is 1 to 65535"),
        ({"a": {"weight": -3}}, "queue a: weight -3 is out of range"),
        ({"a": {"weight": 65_536}}, "queue a: weight 65536 is out of range"),
        ({"a": {"weight": 1.5}}, "queue a: weight 1.5 is not a whole number"),
        ({"a": {"weight": True}}, "queue a: weight True is not a whole number"),
        ({"a": {"wieght": 2}}, "queue a: 'wieght' is not known; a queue has parent, weight"),
        ({"a": {"parent": "a"}}, "queue a is its own parent: give it another one"),
        ({"a": {"parent": "b"}, "b": {"parent": "a"}}, "queues are their own ancestors (a -> b -> a)"),
        ({"a": {"parent": "gone"}}, "queue a has a parent that does not exist: create queue gone"),
        ({"a": {"request": {"cpu": "2c"}}}, "queue a: request of cpu: '2c' is not a quantity"),
        ({"a": {"guarantee": {"cpu": -1}}}, "queue a: guarantee of cpu: '-1' is negative"),
        ({"a": {"percentage": {"cpu": 101}}}, "queue a: percentage of cpu: '101' is not a percentage"),
        ({"a": {"capability": 3}}, "queue a: capability: 3 is no map of resources to quantities"),
        ({"a": {"used": {"cpu": 1}}, "b": {"parent": "a"}}, "queue a: used is given for leaves"),
    ],
)  # fmt: skip
def test_what_cannot_take_part_is_refused_with_what_to_do(queues: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadQueueDemandError) as refusal:
        fair_shares({"cpu": 1}, queues)
    assert sentence in str(refusal.value)


def test_a_name_cannot_be_there_twice() -> None:
    with pytest.raises(BadQueueDemandError, match="queue a is there twice"):
        QueueTree.of([QueueDemand(name="a"), QueueDemand(name="a")])


def test_queues_that_do_not_lead_to_the_root_are_set_aside_and_harm_nobody() -> None:
    claims = [
        QueueDemand(name="good", request={"cpu": 10}),
        QueueDemand(name="x", parent="y", guarantee={"cpu": 9}),
        QueueDemand(name="y", parent="x"),
        QueueDemand(name="below", parent="x"),
        QueueDemand(name="orphan", parent="gone", guarantee={"cpu": 9}),
        QueueDemand(name="self", parent="self"),
    ]
    shares = share_out(QueueTree.of(claims), {"cpu": 10})
    assert shares["good"].deserved["cpu"] == 10
    assert set(shares.set_aside) == {"x", "y", "below", "orphan", "self"}
    assert "x -> y -> x" in shares.set_aside["below"]
    assert "queue gone" in shares.set_aside["orphan"]


def test_a_long_chain_under_a_missing_parent_is_set_aside_quickly() -> None:
    claims = [QueueDemand(name=f"q{index}", parent=f"q{index + 1}") for index in range(20_000)]
    assert len(QueueTree.of(claims).set_aside) == 20_000


def test_resources_that_the_cluster_does_not_have_come_out_as_nothing() -> None:
    shares = fair_shares(
        {"cpu": 4}, {"a": {"request": {"gpu": 3}, "guarantee": {"tpu": 2}}, "b": {"capability": {"npu": 0}}}
    )
    assert shares["a"].deserved == {"cpu": 0, "gpu": 0, "npu": 0, "tpu": 0}
    assert shares["a"].reduced
    assert shares["a"].binding["gpu"] == "parent"


def test_amounts_near_two_to_the_63_share_exactly_and_never_overflow() -> None:
    huge = 2**63 - 1
    claims = [
        QueueDemand(
            name=f"q{index:03}", weight=1 + 65_534 * (index % 2), request={"x": huge}, capability={"x": huge}
        )
        for index in range(1_000)
    ]
    shares = share_out(QueueTree.of(claims), {"x": huge})
    amounts = [shares[f"q{index:03}"].deserved["x"] for index in range(1_000)]
    assert sum(amounts) == LARGEST_AMOUNT
    assert min(amounts) >= 0
    assert amounts[1] // amounts[0] in (65_534, 65_535)
    assert shares["root"].request["x"] == LARGEST_AMOUNT


def test_huge_guarantees_are_scaled_down_in_proportion() -> None:
    claims = [QueueDemand(name=f"q{index}", guarantee={"x": 2**62 - 1}) for index in range(3)]
    claims.append(QueueDemand(name="small", guarantee={"x": 1}))
    shares = share_out(QueueTree.of(claims), {"x": 10})
    assert [shares[f"q{index}"].deserved["x"] for index in range(3)] == [4, 3, 3]
    assert shares["small"].deserved["x"] == 0


def test_a_tree_two_hundred_deep_shares_down_to_its_leaf() -> None:
    claims = [QueueDemand(name="q0")] + [
        QueueDemand(name=f"q{index}", parent=f"q{index - 1}") for index in range(1, 199)
    ]
    claims.append(QueueDemand(name="leaf", parent="q198", request={"cpu": 7}))
    shares = share_out(QueueTree.of(claims), {"cpu": 5})
    assert shares["leaf"].deserved["cpu"] == 5
    assert len(shares.tree.path("leaf")) == 201
    assert str(shares).count("\n") == 201


def test_nothing_to_share_and_nobody_to_share_it_are_answers_too() -> None:
    assert dict(fair_shares({}, {})["root"].deserved) == {}
    assert dict(fair_shares({}, {"a": {}})["a"].deserved) == {}
    assert fair_shares({"cpu": 3}, {})["root"].deserved["cpu"] == 3_000


def test_asking_for_more_claims_more_where_soft_guarantees_of_inner_queues_do_not_fit() -> None:
    """The exception of laws F6 and F8: team claims what its queues ask for, and gets half of that."""

    def deserved(asked: int, *gone: str) -> str:
        soft = {"soft_guarantee": {"gpu": 100}, "request": {"gpu": 100}}
        queues: dict[str, dict[str, object]] = {
            "team": {},
            "a": {"parent": "team", "soft_guarantee": {"gpu": 100}, "request": {"gpu": asked}},
            "b": {"parent": "team", **soft},
            "other": {"soft_guarantee": {"gpu": 1000}, "request": {"gpu": 1000}},
        }
        queues = {name: queue for name, queue in queues.items() if name not in gone}
        return str(fair_shares({"gpu": 575}, queues)["a"].deserved)

    assert (deserved(50), deserved(100), deserved(50, "b")) == ("gpu 38", "gpu 48", "gpu 27")
