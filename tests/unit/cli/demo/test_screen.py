"""The demo on a terminal and in a pipe, word for word; MAAR_GOLDEN=write writes it down anew."""

import io

import pytest
from rich.console import Console

from maar.apps.demo.frame import Frame, Row, Summary
from maar.apps.demo.record import LogLine
from maar.apps.demo.steps import Step
from maar.cli.demo.screen import WIDTH, PlainLines, drawn, print_summary
from maar.core.answers.tree.answer import queue_tree
from maar.core.model.queue import Guarantee, Queue, QueueMetadata, QueueSpec, QueueState, QueueStatus
from maar.core.model.resources import Resources
from support.golden import compare

SHOWN = Step("a reservation takes back what is its own", "serving got its 24 CPUs back in 0.8 s")
AWAITED = Step("a queue closes and drains")


def queue(
    name: str,
    parent: str = "",
    *,
    used: str,
    deserved: str,
    guarantee: str = "",
    state: QueueState = "Open",
    work: tuple[int, int] = (0, 0),
) -> Queue:
    reserved = Guarantee(resource=Resources.parse({"cpu": guarantee} if guarantee else {}))
    status = QueueStatus(
        state=state,
        used=Resources.parse({"cpu": used}),
        deserved=Resources.parse({"cpu": deserved}),
        running=work[0],
        pending=work[1],
    )
    spec = QueueSpec(parent=parent, weight=2, guarantee=reserved)
    return Queue(metadata=QueueMetadata(name=name), spec=spec, status=status)


def frame(minute: float, *log: LogLine) -> Frame:
    tree = queue_tree(
        [
            queue("root", used="84", deserved="96", work=(21, 5)),
            queue("production", used="16", deserved="28", work=(3, 1)),
            queue("serving", "production", used="16", deserved="24", guarantee="24", work=(3, 1)),
            queue("billing", "production", used="0", deserved="4", guarantee="4"),
            queue("research", used="56", deserved="46500m", work=(17, 4)),
            queue("notebooks", "research", used="4", deserved="8", work=(1, 0)),
            queue("legacy", used="12", deserved="12", state="Closing", work=(1, 0)),
        ]
    )
    assert tree is not None
    return Frame(minute, 60, False, tree, (SHOWN, AWAITED), log)


LONG = LogLine(24.5, "etl/load-3 takes back its share: " + ", ".join(["2 pods of language"] * 9))


def test_a_screen_has_eighty_columns() -> None:
    log = [LogLine(float(minute), f"line {minute}") for minute in range(5)]
    console = Console(file=io.StringIO(), width=WIDTH, highlight=False)
    with console.capture() as capture:
        console.print(drawn(frame(24.75, *log, LONG)))
    lines = [line.rstrip() for line in capture.get().splitlines()]
    assert max(map(len, lines)) == WIDTH
    compare("demo-screen.txt", "\n".join(lines) + "\n")


def test_a_pipe_gets_each_line_once_and_no_escape_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    out = io.StringIO()
    lines = PlainLines(Console(file=out, highlight=False, width=WIDTH))
    first, second = LogLine(1.0, "language begins to submit work"), LONG
    lines(frame(1.0, first))
    lines(frame(2.0, first))
    lines(frame(24.5, first, second))
    reported = out.getvalue()
    assert "\x1b" not in reported
    assert reported.count(first.text) == 1
    assert f"24:30  {LONG.text}\n" in reported  # nothing is cut off
    assert reported.count("QUEUE") == 2  # not with every scene


def test_the_summary_says_what_was_shown_and_what_was_not() -> None:
    rows = (
        Row("root", 0, 88.04, 96.0, 140, 93, 0.65, 12),
        Row("legacy", 1, 3.1, 3.66, 14, 14, 12.5, 0),
        Row("serving", 1, 0.0, 0.0, 0, 0, None, 0),
    )
    summary = Summary(rows, (SHOWN, AWAITED), failed=2)
    out = io.StringIO()
    print_summary(summary, Console(file=out, highlight=False, width=WIDTH))
    assert not summary.is_complete
    assert Summary(rows, (SHOWN,)).is_complete
    compare("demo-summary.txt", out.getvalue())
