"""The queue tree on a terminal or in a pipe: a line for every queue, and one for each of its resources."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from rich.console import Console
from rich.text import Text

from maar.core.model.plan import NamespaceStanding
from maar.core.model.queue import ROOT
from maar.core.model.resources import roughly
from maar.core.views.queue_shares import written
from maar.core.views.queue_tree import Measure, TreeQueue, TreeView

WIDTH: Final = 100
_WIDEST_LABEL: Final = 34  # leaves room for the longest facts and for a bar
_BAR: Final = 16
_GAP: Final = "  "
_HEADINGS: Final = ("GUARANTEE", "CAPABILITY", "DESERVED", "    USED")
_STATES: Final = {"Open": "green", "Closing": "yellow", "Closed": "red"}


class Line(NamedTuple):
    """What stands at a branch of the tree and what is said beside it; `below` draws the branches further."""

    label: str
    below: str
    beside: Text


def print_tree(view: TreeView, console: Console) -> None:
    """Draw the tree; colours appear on a terminal only, and nothing is cut off."""
    lines = list(_lines(view))
    width = min(_WIDEST_LABEL, max(len(line.label) for line in lines))
    _print(console, Text("QUEUE".ljust(width) + _GAP + _GAP.join(_HEADINGS)))
    for label, below, beside in lines:
        first = label
        if len(label) > width:
            _print(console, Text(label))
            first = below
        for number, part in enumerate(beside.wrap(console, WIDTH - width - len(_GAP))):
            _print(console, Text((below if number else first).ljust(width) + _GAP).append_text(part))
    for name, why in view.set_aside.items():
        for part in Text(f"set aside: {name}: {why}", "yellow").wrap(console, WIDTH):
            _print(console, part)


def _print(console: Console, line: Text) -> None:
    line.rstrip()
    console.print(line, soft_wrap=True)


def _lines(view: TreeView) -> Iterator[Line]:
    waiting = [(view.top, "", "")]
    while waiting:
        name, branch, below = waiting.pop()
        one = view.queues[name]
        yield from _lines_of(one, branch, below + ("│  " if one.children else "   "))
        for child in reversed(one.children):
            if child in view.queues and child != view.top:  # no circles
                is_last = child == one.children[-1]
                ends = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
                waiting.append((child, below + ends[0], below + ends[1]))


def _lines_of(one: TreeQueue, branch: str, inside: str) -> Iterator[Line]:
    yield Line(branch + one.name, inside, _facts(one))
    for resource, measure in one.resources.items():
        yield Line(inside + resource, inside, _measured(resource, measure))
    for name, standing in one.namespaces.items():
        yield Line(f"{inside}namespace {name}", inside, _standing(standing))
    for remark in one.remarks:
        yield Line(inside, inside, Text(remark, "yellow"))


def _facts(one: TreeQueue) -> Text:
    claim = "" if one.name == ROOT else f"weight {one.weight}, share {one.share}, "
    counts = f", {one.running} running, {one.inqueue} inqueue, {one.pending} pending"
    return Text().append(claim, "bold").append(one.state, _STATES.get(one.state, "")).append(counts)


def _standing(one: NamespaceStanding) -> Text:
    used = ", ".join(f"{name} {roughly(name, units)}" for name, units in one.used.items() if units)
    return Text(f"weight {one.weight}, share {written(one.share)}, uses {used or 'nothing'}", "dim")


def _measured(resource: str, measure: Measure) -> Text:
    amounts = (measure.guarantee, measure.capability, measure.deserved, measure.used)
    cells = [
        ("-" if amount is None else roughly(resource, amount)).rjust(len(heading))
        for amount, heading in zip(amounts, _HEADINGS, strict=True)
    ]
    part = min(1.0, measure.used / measure.deserved) if measure.deserved else float(measure.used > 0)
    full = "█" * round(part * _BAR)
    colour = "yellow" if measure.used > measure.deserved else "green"
    return Text(_GAP.join(cells) + _GAP).append(full, colour).append("░" * (_BAR - len(full)), "dim")
