"""Filters that only look at the node and the pod: selectors, node affinity, taints, and their words."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest

from maar.core.model.metadata import LabelSelector
from maar.core.policy.filters import allowed_by_all, obstacles, shape_filters
from maar.core.policy.grammar import Predicates
from maar.core.policy.selectors import match_selector
from maar.core.tables.node_columns import NodeColumns
from support.rows import Rows

ALL = Predicates()
Spec = dict[str, object]


def expression(key: str, operator: str, *values: str) -> dict[str, object]:
    return {"key": key, "operator": operator, "values": list(values)}


def affinity(*terms: Mapping[str, object]) -> Spec:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def asking(*expressions: dict[str, object]) -> Spec:
    return affinity({"matchExpressions": list(expressions)})


def tolerating(**toleration: str) -> Spec:
    return {"tolerations": [toleration]}


def allowed(rows: Rows, spec: Spec, switches: Predicates = ALL) -> str:
    """The names of the nodes that are left, after checking that every way of asking agrees."""
    shape = rows.pod(spec=spec).shape
    columns, filters = NodeColumns(rows.nodes), shape_filters(switches)
    mask = allowed_by_all(shape, NodeColumns(rows.nodes), filters)
    assert (allowed_by_all(shape, columns, filters) == mask).all()
    assert (allowed_by_all(shape, columns, filters) == mask).all(), "columns are read again as they were"
    excluded = [flags for flags, _ in obstacles(shape, columns, filters)]
    assert (sum(excluded, np.zeros(len(mask), np.int64)) == ~mask).all(), "each node is excluded once"
    return " ".join(node.name for node, fine in zip(rows.nodes, mask, strict=True) if fine)


@pytest.fixture
def rows() -> Rows:
    """Four nodes in two zones."""
    rows = Rows()
    rows.node("a1", {"zone": "a", "gpus": "0"})
    rows.node("a2", {"zone": "a", "gpus": "8", "disk": "ssd"})
    rows.node("b1", {"zone": "b", "gpus": "many"})
    rows.node("x1")
    return rows


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "a1 a2 b1 x1"),
        ({"nodeSelector": {"zone": "a"}}, "a1 a2"),
        ({"nodeSelector": {"zone": "a", "disk": "ssd"}}, "a2"),
        ({"nodeSelector": {"zone": ""}}, ""),
        (asking(expression("zone", "In", "a", "c")), "a1 a2"),
        (asking(expression("zone", "In")), ""),
        (asking(expression("zone", "NotIn", "a")), "b1 x1"),
        (asking(expression("disk", "Exists")), "a2"),
        (asking(expression("disk", "DoesNotExist")), "a1 b1 x1"),
        (asking(expression("gpus", "Gt", "0")), "a2"),
        (asking(expression("gpus", "Lt", "1")), "a1"),
        (asking(expression("gpus", "Lt", "007")), "a1"),
        (asking(expression("gpus", "Gt", "-1")), "a1 a2"),
        (asking(expression("gpus", "Gt", "none")), ""),
        (asking(expression("gpus", "Gt", "0", "1")), ""),
        (asking(expression("gpus", "Gt", "99999999999999999999")), ""),
        (asking(expression("zone", "Near", "a")), ""),
        (asking(expression("zone", "In", "a"), expression("disk", "DoesNotExist")), "a1"),
        (affinity(), ""),
        (affinity({}), ""),
        (affinity({}, {"matchExpressions": [expression("zone", "In", "b")]}), "b1"),
        (
            affinity(
                {"matchExpressions": [expression("zone", "In", "b")]},
                {"matchExpressions": [expression("disk", "Exists")]},
            ),
            "a2 b1",
        ),
        (affinity({"matchFields": [expression("metadata.name", "In", "x1")]}), "x1"),
        (affinity({"matchFields": [expression("metadata.name", "NotIn", "x1")]}), "a1 a2 b1"),
        (affinity({"matchFields": [expression("metadata.name", "Exists")]}), ""),
        (affinity({"matchFields": [expression("spec.unschedulable", "In", "x1")]}), ""),
        (
            affinity(
                {
                    "matchFields": [expression("metadata.name", "In", "a1")],
                    "matchExpressions": [expression("zone", "In", "b")],
                }
            ),
            "",
        ),
        ({"nodeSelector": {"zone": "a"}} | asking(expression("gpus", "Exists")), "a1 a2"),
        ({"nodeSelector": {"zone": "b"}} | asking(expression("disk", "Exists")), ""),
    ],
)
def test_a_node_must_meet_the_selector_and_one_term_of_the_affinity(
    rows: Rows, spec: Spec, expected: str
) -> None:
    assert allowed(rows, spec) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "none soft"),
        (tolerating(key="gpu", value="true"), "none soft"),
        (tolerating(key="gpu", operator="Equal", value="true", effect="NoSchedule"), "none soft"),
        (tolerating(key="gpu", operator="Exists"), "none soft gpu"),
        (tolerating(key="gpu", operator="Exists", effect="NoSchedule"), "none soft"),
        (tolerating(key="gpu", operator="Equal", value="false"), "none soft"),
        (tolerating(operator="Exists"), "none soft gpu level both"),
        (tolerating(operator="Exists", effect="NoExecute"), "none soft"),
        (tolerating(key="level", operator="Lt", value="10"), "none soft level"),
        (tolerating(key="level", operator="Lt", value="5"), "none soft"),
        (tolerating(key="level", operator="Gt", value="4"), "none soft level"),
        (tolerating(key="level", operator="Gt", value="5"), "none soft"),
        (tolerating(key="level", operator="Gt", value="04"), "none soft"),
        (tolerating(key="level", operator="Gt", value="few"), "none soft"),
        (tolerating(key="gpu", operator="Lt", value="9"), "none soft"),
        (tolerating(key="level", operator="Like", value="5"), "none soft"),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}, {"key": "level", "value": "5"}]},
         "none soft gpu level both"),
    ],
)  # fmt: skip
def test_every_taint_that_keeps_out_must_be_tolerated(spec: Spec, expected: str) -> None:
    rows = Rows()
    rows.node("none")
    rows.node("soft", taints=["busy:PreferNoSchedule"])
    rows.node("gpu", taints=["gpu=true:NoSchedule", "gpu=yes:NoExecute"])
    rows.node("level", taints=["level=5:NoSchedule"])
    rows.node("both", taints=["level=5:NoSchedule", "gpu=true:NoExecute"])
    assert allowed(rows, spec) == expected


def test_nodes_that_are_not_ready_or_cordoned_take_nothing_whatever_is_tolerated() -> None:
    rows = Rows()
    rows.node("fine")
    rows.node("ill", ready=False)
    rows.node("cordoned", unschedulable=True)
    assert allowed(rows, tolerating(operator="Exists")) == "fine"


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        (Predicates(), ""),
        (Predicates(node_affinity=False), "plain"),
        (Predicates(taint_toleration=False), "tainted"),
        (Predicates(node_affinity=False, taint_toleration=False), "plain tainted"),
    ],
)
def test_what_is_switched_off_is_not_asked(switches: Predicates, expected: str) -> None:
    rows = Rows()
    rows.node("plain", {"zone": "b"})
    rows.node("tainted", {"zone": "a"}, ["gpu:NoSchedule"])
    assert allowed(rows, {"nodeSelector": {"zone": "a"}}, switches) == expected


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        (None, {}, False),
        ({}, {}, True),
        ({}, {"app": "web"}, True),
        ({"matchLabels": {"app": "web"}}, {"app": "web", "tier": "1"}, True),
        ({"matchLabels": {"app": "web", "tier": "2"}}, {"app": "web", "tier": "1"}, False),
        ({"matchExpressions": [expression("app", "In", "web", "api")]}, {"app": "api"}, True),
        ({"matchExpressions": [expression("app", "In", "web")]}, {}, False),
        ({"matchExpressions": [expression("app", "NotIn", "web")]}, {}, True),
        ({"matchExpressions": [expression("app", "NotIn", "web")]}, {"app": "web"}, False),
        ({"matchExpressions": [expression("app", "Exists")]}, {"app": ""}, True),
        ({"matchExpressions": [expression("app", "DoesNotExist")]}, {"app": ""}, False),
        ({"matchExpressions": [expression("tier", "Gt", "0")]}, {"tier": "1"}, False),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [expression("app", "NotIn", "web")]},
         {"app": "web"}, False),
    ],
)  # fmt: skip
def test_a_label_selector_means_what_meets_all_of_it(
    selector: dict[str, Any] | None, labels: dict[str, str], *, expected: bool
) -> None:
    read = None if selector is None else msgspec.convert(selector, LabelSelector)
    assert match_selector(read, labels) is expected


@pytest.mark.parametrize(
    ("spec", "labels", "taints", "expected"),
    [
        ({}, {}, [], ""),
        ({}, {}, ["gpu=true:NoSchedule"], "have taint gpu=true:NoSchedule"),
        ({}, {}, ["down:NoExecute"], "have taint down:NoExecute"),
        ({"nodeSelector": {"zone": "a"}}, {"zone": "b"}, [],
         "do not match the node selector zone=a"),
        (asking(expression("zone", "In", "a", "b", "c", "d"), expression("disk", "Exists")), {}, [],
         "do not match the node affinity zone in (a, b, c, ...) and disk exists"),
        (affinity({"matchFields": [expression("metadata.name", "NotIn", "n")]}), {}, [],
         "do not match the node affinity metadata.name not in (n)"),
        (affinity({}), {}, [], "do not match the node affinity"),
    ],
)  # fmt: skip
def test_a_clause_names_the_first_thing_that_keeps_the_pod_off(
    spec: Spec, labels: dict[str, str], taints: list[str], expected: str
) -> None:
    rows = Rows()
    node = rows.node("n", labels, taints)
    found = obstacles(rows.pod(spec=spec).shape, NodeColumns([node]), shape_filters(ALL))
    assert [clause for _, clause in found] == ([expected] if expected else [])


def test_a_clause_tells_nodes_that_are_ill_from_nodes_that_are_cordoned() -> None:
    rows = Rows()
    nodes = [rows.node("ill", ready=False, unschedulable=True), rows.node("cordoned", unschedulable=True)]
    found = [
        (flags.tolist(), clause)
        for flags, clause in obstacles(rows.pod().shape, NodeColumns(nodes), shape_filters(ALL))
    ]
    assert found == [([True, False], "are not ready"), ([False, True], "are unschedulable")]


def test_no_nodes_give_an_empty_mask() -> None:
    rows = Rows()
    shape = rows.pod(spec={"nodeSelector": {"zone": "a"}}).shape
    assert allowed_by_all(shape, NodeColumns([]), shape_filters(ALL)).shape == (0,)
