"""Explanations: the water level is the kernel's, and every kind of bound has its words."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from maar.core.answers.tree.why import Step, explain_queue
from maar.core.answers.tree.why_sentences import explanation_data, loan_limit, protection, sentence, water
from maar.core.answers.tree.why_text import queue_explanation_lines
from maar.core.fairshare import fair_shares
from maar.core.tables.rows import MinRuntime

amounts = st.integers(0, 40)
children = st.lists(
    st.fixed_dictionaries(
        {"weight": st.integers(1, 9), "guarantee": amounts, "request": amounts},
        optional={"capability": amounts, "soft_guarantee": amounts},
    ),
    min_size=1,
    max_size=6,
)


def step(total: int, **queues: dict[str, object]) -> Step:
    """How a total of GPUs is shared out; `it` is the queue in question."""
    fields = {"guarantee", "soft_guarantee", "request", "capability"}
    gpus = {
        name: {key: {"gpu": value} if key in fields else value for key, value in queue.items()}
        for name, queue in queues.items()
    }
    explained = explain_queue(fair_shares({"gpu": total}, gpus), "it")
    return explained.steps["gpu"][-1]


@given(total=st.integers(0, 100), siblings=children)
def test_at_the_water_level_everybody_gets_what_the_kernel_gives_to_the_unit(
    total: int, siblings: list[dict[str, object]]
) -> None:
    names = ["it", *(f"q{number}" for number in range(1, len(siblings)))]
    found = step(total, **dict(zip(names, siblings, strict=True)))
    for one in found.siblings:
        if found.level is None:
            assert one.deserved == one.ceiling
        else:
            exact = min(max(found.level * one.weight, Fraction(one.floor)), Fraction(one.ceiling))
            assert abs(one.deserved - exact) < 1
    assert sentence(found)
    assert water(found)


def test_minimum_run_times_and_the_queues_that_set_them() -> None:
    shares = fair_shares({"gpu": 4}, {"it": {}})
    times = {"reclaim": MinRuntime(5400.0, "it"), "preempt": MinRuntime(600.0, "root")}
    explained = explain_queue(shares, "it", times)
    assert protection(explained) == (
        "its pods are protected for 10m0s from preempt (spec.preemptMinRuntime of queue root) and for "
        "1h30m0s from reclaim (spec.reclaimMinRuntime of this queue)"
    )
    assert explanation_data(explained)["minRuntimes"] == {
        "preempt": {"seconds": 600.0, "queue": "root"},
        "reclaim": {"seconds": 5400.0, "queue": "it"},
    }
    without = explain_queue(shares, "it", {"preempt": MinRuntime(0.0, "it")})
    assert not protection(without)
    assert "minRuntimes" not in explanation_data(without)


def test_a_guarantee_covers_no_group_that_is_larger_than_what_the_queue_deserves() -> None:
    def limit(used: int) -> str:
        queues = {"it": {"guarantee": {"gpu": 2}, "request": {"gpu": 4}, "used": {"gpu": used}}}
        explained = explain_queue(fair_shares({"gpu": 4}, {**queues, "other": {"request": {"gpu": 2}}}), "it")
        assert explanation_data(explained).get("loans", "") == loan_limit(explained)
        return loan_limit(explained)

    assert limit(2) == ""
    assert limit(4) == (
        "it uses more than it deserves; a pod group that alone is larger than what the queue deserves runs "
        "on loan and gives way as a whole, which may leave the queue below its guarantee of gpu 2"
    )


def test_a_request_that_is_met() -> None:
    found = step(10, it={"request": 4}, other={"request": 3})
    assert (
        sentence(found) == "it gets 4 of the 10 that root has, bound by its request: it gets all it asks for"
    )
    assert water(found) == "nothing runs short under root: 3 is left over"


def test_nothing_asked_for() -> None:
    assert (
        sentence(step(10, it={}))
        == "it gets 0 of the 10 that root has, bound by its request: it asks for none"
    )


def test_a_capability() -> None:
    assert sentence(step(10, it={"request": 8, "capability": 5})) == (
        "it gets 5 of the 10 that root has, bound by its capability: it asks for 8; its capability is 5"
    )


def test_a_guarantee_beyond_what_is_asked_for() -> None:
    assert sentence(step(10, it={"request": 1, "guarantee": 5}, other={"request": 9})) == (
        "it gets 5 of the 10 that root has, bound by its guarantee: it asks for 1; "
        "its guarantee of 5 is held for it all the same"
    )


def test_a_guarantee_beyond_the_fair_part() -> None:
    found = step(10, it={"request": 9, "guarantee": 7}, other={"request": 9})
    assert sentence(found) == (
        "it gets 7 of the 10 that root has, bound by its guarantee: it asks for 9; "
        "its guarantee of 7 is no less than its fair part: weight 1 x water level 3 gives 3"
    )


def test_a_soft_guarantee_beyond_the_fair_part() -> None:
    found = step(10, it={"request": 9, "soft_guarantee": 7}, other={"request": 9})
    assert sentence(found) == (
        "it gets 7 of the 10 that root has, bound by its soft guarantee: it asks for 9; "
        "its soft guarantee of 7 is no less than its fair part: weight 1 x water level 3 gives 3"
    )
    assert water(found) == "the water level under root is 3 per weight"


def test_soft_guarantees_that_do_not_all_fit() -> None:
    found = step(10, it={"request": 30, "soft_guarantee": 15}, other={"request": 9, "soft_guarantee": 5})
    assert sentence(found) == (
        "it gets 8 of the 10 that root has, bound by its soft guarantee: it asks for 30; its soft guarantee "
        "of 15 is met in part, as all under root are: they do not all fit"
    )
    assert water(found) == (
        "the soft guarantees under root do not all fit: each holds to the same part of it"
    )


def test_the_soft_guarantees_of_the_queues_below() -> None:
    found = explain_queue(
        fair_shares(
            {"gpu": 10},
            {
                "it": {},
                "below": {"parent": "it", "request": {"gpu": 9}, "soft_guarantee": {"gpu": 7}},
                "other": {"request": {"gpu": 9}},
            },
        ),
        "it",
    ).steps["gpu"][-1]
    assert sentence(found) == (
        "it gets 7 of the 10 that root has, bound by its soft guarantee: it asks for 9 for the queues "
        "below it; the soft guarantees below it, 7, are no less than its fair part: weight 1 x water "
        "level 3 gives 3"
    )


def test_who_comes_after_the_soft_guarantees_of_others() -> None:
    found = step(10, it={"request": 9}, other={"request": 9, "soft_guarantee": 8})
    assert sentence(found) == (
        "it gets 2 of the 10 that root has, bound by its parent: it asks for 9; "
        "8 is guaranteed, or softly guaranteed, to others; it gets more when the cluster has more"
    )


def test_the_table_of_siblings_has_soft_guarantees_where_there_are_some() -> None:
    def printed(**other: object) -> str:
        shares = fair_shares(
            {"gpu": 10}, {"it": {"request": {"gpu": 9}}, "other": {"request": {"gpu": 9}, **other}}
        )
        lines = queue_explanation_lines(explain_queue(shares, "it"))
        return "\n".join("".join(part.text for part in line) for line in lines)

    assert " SOFT " not in printed()
    assert "WEIGHT  GUARANTEE  SOFT  REQUEST" in printed(soft_guarantee={"gpu": 8})


def test_a_fair_share_among_many() -> None:
    others: dict[str, dict[str, object]] = {name: {"request": 9} for name in "abcd"}
    assert sentence(step(10, it={"request": 9, "weight": 4}, **others)) == (
        "it gets 5 of the 10 that root has, bound by its fair share: it asks for 9; weight 4 x water level "
        "1.25 gives 5; it gets more with more weight, or when a, b, c and others want less"
    )


def test_a_parent_whose_rest_is_guaranteed_to_others() -> None:
    found = step(10, it={"request": 9}, other={"guarantee": 8})
    assert sentence(found) == (
        "it gets 2 of the 10 that root has, bound by its parent: it asks for 9; "
        "8 is guaranteed to others; it gets more when the cluster has more"
    )


def test_a_parent_that_has_no_more() -> None:
    found = step(10, team={"capability": 3}, it={"parent": "team", "request": 9}, other={"request": 9})
    assert sentence(found) == (
        "it gets 3 of the 3 that team has, bound by its parent: it asks for 9; it has all of it; "
        "it gets more when team does"
    )


def test_guarantees_that_leave_nothing() -> None:
    found = step(10, it={"request": 1}, other={"guarantee": 12})
    assert water(found) == "guarantees take all that root has"
