"""The queue tree: a line a queue, overuse seen as overuse, and the resource that is wanted most."""

import msgspec
import pytest

from maar.core.answers.tree.answer import is_settled, queue_tree
from maar.core.answers.tree.most_wanted import most_wanted
from maar.core.answers.tree.text import tree_lines
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec, QueueStatus
from maar.core.model.resources import Resources
from maar.core.views.drawing import Bar, Part, Row, bar, plain, table


def queue(name: str, parent: str = "", **status: dict[str, object]) -> Queue:
    amounts = {field: Resources.parse(one) for field, one in status.items()}
    return Queue(
        metadata=QueueMetadata(name=name),
        spec=QueueSpec(parent=parent),
        status=msgspec.structs.replace(QueueStatus(), **amounts),
    )


def lines(*queues: Queue, width: int = 100, resource: str = "") -> list[str]:
    view = queue_tree(queues)
    assert view is not None
    return [plain(line) for line in tree_lines(view, width, resource)]


@pytest.mark.parametrize(
    ("used", "deserved", "drawn"),
    [
        (32, 8, "██▓▓▓▓▓▓"),
        (8, 8, "████████"),
        (0, 8, "░░░░░░░░"),
        (4, 8, "████░░░░"),
        (0, 0, ""),
        (1, 0, "▓▓▓▓▓▓▓▓"),
        (1001, 1000, "███████▓"),
        (999, 1000, "███████░"),
        (1, 1000, "█░░░░░░░"),
    ],
)
def test_a_bar_shows_what_is_beyond_deserved_and_what_is_idle(used: int, deserved: int, drawn: str) -> None:
    assert plain(bar(Bar(used, deserved), 8)) == drawn


def test_overuse_has_a_colour_of_its_own() -> None:
    assert [part.style for part in bar(Bar(32, 8), 8)] == ["green", "yellow"]
    assert [part.style for part in bar(Bar(4, 8), 8)] == ["green", "dim"]


@pytest.mark.parametrize("width", [80, 100, 140])
def test_a_queue_is_a_line_at_any_usual_width(width: int) -> None:
    queues = [
        queue("root", deserved={"cpu": "87.2", "memory": 659706976667}, used={"cpu": 32}),
        queue("team", deserved={"cpu": "87.2", "memory": 659706976667}, used={"cpu": 32}),
        queue("of-some-length", "team", deserved={"cpu": 8}, used={"cpu": 32}),
    ]
    drawn = lines(*queues, width=width)
    assert len(drawn) == 1 + len(queues) + 2  # the headings, and what the bars mean
    assert max(map(len, drawn)) <= width
    assert "32         8" in drawn[3]
    assert "87.2" in drawn[1]
    assert "87.2" in drawn[2]


def test_the_resource_that_is_wanted_most_is_shown_and_overuse_of_others_is_told() -> None:
    drawn = lines(
        queue("root", deserved={"cpu": 100, "memory": "100Gi", "nvidia.com/gpu": 8}, used={"memory": "30Gi"}),
        queue("a", deserved={"cpu": 10, "memory": "20Gi", "nvidia.com/gpu": 8}, used={"memory": "30Gi"}),
    )
    assert "nvidia.com/gpu" in drawn[0]
    assert drawn[3].strip() == "uses memory 30Gi of 20Gi deserved"
    assert drawn[-1] == "nvidia.com/gpu is shown; -o wide shows cpu, memory too"


def test_of_equals_cpus_come_first_and_what_nobody_has_is_not_shown() -> None:
    total = {"memory": 8, "cpu": 8, "x.com/y": 0}
    assert most_wanted(total, total, {"memory": 8, "cpu": 8, "x.com/y": 4}) == "cpu"
    assert most_wanted(total, total, {"memory": 8, "cpu": 7}) == "memory"
    assert most_wanted((), {}, {}) == "cpu"


def test_children_that_seem_to_deserve_more_than_their_parent_are_of_another_moment() -> None:
    root, parent = queue("root", deserved={"cpu": 10}), queue("p", deserved={"cpu": 4})
    assert is_settled([root, parent, queue("a", "p", deserved={"cpu": 4})])
    assert not is_settled([root, parent, queue("a", "p", deserved={"cpu": 5})])
    halves = [queue(name, "p", deserved={"cpu": 3}) for name in "ab"]
    assert not is_settled([root, parent, *halves])
    assert is_settled([queue("p", deserved={"cpu": 4})])  # there is no root yet


def test_a_queue_without_a_share_in_its_status_says_so_and_not_zero() -> None:
    drawn = lines(queue("p", deserved={"cpu": 4}))
    assert drawn[1].split()[:3] == ["root", "0", "-"]


def test_a_label_that_leaves_no_room_has_a_line_of_its_own() -> None:
    rows = [Row("a" * 90, "", (Part("1"), Bar(1, 2))), Row("b", "", (Part("2"), Bar(2, 2)))]
    drawn = [plain(line) for line in table(("QUEUE", " USED", "cpu"), rows, 60)]
    assert drawn[1] == "a" * 90
    assert drawn[2].split()[0] == "1"
    assert drawn[3].startswith("b         2  █")
