"""The drawing of a queue among its siblings: what is filled, to which level, and that names stay text."""

import re
from fractions import Fraction
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from maar.core.answers.tree.ask import queue_shares
from maar.core.answers.tree.water_level import CEILING, GUARANTEED, OTHERS, OWN, drawing, water_levels
from maar.core.answers.tree.why import Explanation, Sibling, Step, explain_queue, water_level
from maar.core.model.metadata import Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.queue import Guarantee, Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources
from maar.core.views.svg import BOTTOM, HEIGHT

CPU: Final = 1_000


def sibling(name: str, weight: int, ceiling: int, deserved: int, guarantee: int = 0) -> Sibling:
    return Sibling(
        name=name,
        weight=weight,
        guarantee=guarantee,
        floor=guarantee,
        request=ceiling,
        capability=None,
        ceiling=ceiling,
        deserved=deserved,
        binding="fair share",
    )


def step(chosen: str, budget: int, *siblings: Sibling) -> Step:
    return Step(
        resource="cpu",
        parent="root",
        budget=budget,
        siblings=siblings,
        chosen=next(one for one in siblings if one.name == chosen),
        is_leaf=True,
        level=water_level(budget, siblings),
    )


def rectangles(svg: str) -> list[tuple[str, str, float, float]]:
    """Class, title, top and height of every rectangle that has a title."""
    found = []
    for one in ET.fromstring(svg).iter("rect"):  # noqa: S314  # our own
        title = one.find("title")
        if title is not None:
            place = (float(one.get("y", "0")), float(one.get("height", "0")))
            found.append((one.get("class", ""), title.text or "", *place))
    return found


SHARED: Final = step(
    "b",
    9 * CPU,
    sibling("a", 1, 1 * CPU, 1 * CPU),
    sibling("b", 1, 9 * CPU, 2 * CPU),
    sibling("c", 2, 9 * CPU, 4 * CPU, guarantee=CPU),
    sibling("d", 1, 2 * CPU, 2 * CPU, guarantee=2 * CPU),
)


def test_those_that_rise_end_at_the_level_and_the_full_below_it() -> None:
    assert SHARED.level == 2 * CPU
    svg = drawing(SHARED).svg("1")
    [line] = re.findall(r'<polyline class="line s1"[^>]*points="([^"]*)"', svg)
    level = {float(point.partition(",")[2]) for point in line.split()}
    tops = {title[0]: top for look, title, top, _ in rectangles(svg) if look in (OWN, OTHERS)}
    assert level == {tops["b"]} == {tops["c"]}
    assert tops["a"] > tops["b"]


def test_filled_heights_are_amounts_for_each_of_weight() -> None:
    heights = dict[str, float]()
    for look, title, _, height in rectangles(drawing(SHARED).svg("1")):
        if look != CEILING:
            heights[title[0]] = heights.get(title[0], 0.0) + height
    for one in SHARED.siblings:
        expected = heights["a"] * float(Fraction(one.deserved, CPU) / one.weighs)
        assert heights[one.name] == pytest.approx(expected, abs=0.5)


def test_guarantees_are_below_what_is_shared() -> None:
    for look, title, top, height in rectangles(drawing(SHARED).svg("1")):
        if look == GUARANTEED:
            assert top + height == pytest.approx(HEIGHT - BOTTOM, abs=0.1), title


def test_of_many_siblings_few_are_drawn_and_the_queue_is_among_them() -> None:
    many = [sibling(f"queue-{number}", 1, 50 * CPU, 5 * CPU) for number in range(998)]
    small = sibling("small", 1, 1, 1)
    svg = drawing(step("small", 4_990 * CPU + 1, *many, small)).svg("1")
    assert sum(look == CEILING for look, _, _, _ in rectangles(svg)) == 12
    assert "small, weight 1" in svg
    assert "987 more are not drawn" in svg
    assert len(svg) < 20_000


def test_where_nothing_runs_short_there_is_no_level() -> None:
    assert "polyline" not in drawing(step("a", 9 * CPU, sibling("a", 1, CPU, CPU))).svg("1")


def test_names_full_of_html_stay_text() -> None:
    name = '</title><script>alert("x")</script>'
    svg = drawing(step(name, CPU, sibling(name, 1, CPU, CPU), sibling("b", 1, 9, 0))).svg("1")
    assert "<script" not in svg
    assert ET.fromstring(svg).tag == "svg"  # noqa: S314


def explanation_of(name: str) -> Explanation:
    queues = [
        Queue(
            metadata=QueueMetadata(name="a"),
            spec=QueueSpec(weight=2, guarantee=Guarantee(resource=Resources({"cpu": 4 * CPU}))),
        ),
        Queue(metadata=QueueMetadata(name="b")),
    ]
    node = Node(
        metadata=Metadata(name="n"), status=NodeStatus(allocatable=Resources({"cpu": 8 * CPU, "pods": 10}))
    )
    shared = queue_shares([*queues, node], 0.0)
    return explain_queue(shared.shares, name)


def test_every_resource_that_is_explained_has_a_drawing() -> None:
    assert list(water_levels(explanation_of("a"))) == list(explanation_of("a").steps)
    assert water_levels(explanation_of("root")) == {}
