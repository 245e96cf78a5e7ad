"""The queue tree on a terminal or in a pipe: a line for every queue, and one for each of its resources."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from maar.core.model.queue import ROOT
from maar.core.model.resources import Resources, roughly
from maar.core.views.queue_shares import written
from maar.core.views.queue_tree import Measure, TreeQueue, TreeView

WIDTH: Final = 100
_WIDEST_LABEL: Final = 36  # leaves room for the longest facts and for a bar
_BAR: Final = 16
_GAP: Final = "  "
_HEADINGS: Final = ("GUARANTEE", "CAPABILITY", "DESERVED", "    USED")
_STATES: Final = {"Open": "green", "Closing": "yellow", "Closed": "red"}

Line = tuple[str, Text]  # a label, drawn as a branch of the tree, and what is said beside it


def print_tree(view: TreeView, console: Console) -> None:
    """Draw the tree; colours appear on a terminal only, and nothing is cut off."""
    lines = list(_lines(view))
    width = min(_WIDEST_LABEL, max(len(label) for label, _ in (*lines, ("QUEUE", Text()))))
    _print(console, Text("QUEUE".ljust(width) + _GAP + _GAP.join(_HEADINGS)))
    for label, beside in lines:
        if len(label) > width:
            _print(console, Text(label))
            label = ""  # noqa: PLW2901  # the rest of it stands below
        _print(console, Text(label.ljust(width) + _GAP).append_text(beside))
    for name, why in view.set_aside.items():
        _print(console, Text(f"set aside: {name}: {why}", "yellow"))


def _print(console: Console, line: Text) -> None:
    line.rstrip()
    console.print(line, soft_wrap=True)


def _lines(view: TreeView) -> Iterator[Line]:
    waiting = [(view.top, "", "")]
    while waiting:
        name, branch, below = waiting.pop()
        one = view.queues[name]
        inside = below + ("│  " if one.children else "   ")
        yield branch + name, _facts(one)
        for resource, measure in one.resources.items():
            yield inside + resource, _measured(resource, measure)
        for namespace, standing in one.namespaces.items():
            used = Resources({each: standing.used.get(each, 0) for each in one.resources})
            facts = f"weight {standing.weight}, share {written(standing.share)}, {used}"
            yield f"{inside}namespace {namespace}", Text(facts, "dim")
        for remark in one.remarks:
            yield inside, Text(remark, "yellow")
        for child in reversed(one.children):
            is_last = child == one.children[-1]
            waiting.append(
                (child, below + ("└─ " if is_last else "├─ "), below + ("   " if is_last else "│  "))
            )


def _facts(one: TreeQueue) -> Text:
    claim = "" if one.name == ROOT else f"weight {one.weight}, share {one.share}, "
    counts = f", {one.running} running, {one.inqueue} inqueue, {one.pending} pending"
    return Text(claim, "bold").append(one.state, _STATES.get(one.state, "")).append(counts, "not bold")


def _measured(resource: str, measure: Measure) -> Text:
    amounts = (measure.guarantee, measure.capability, measure.deserved, measure.used)
    cells = [
        ("-" if amount is None else roughly(resource, amount)).rjust(len(heading))
        for amount, heading in zip(amounts, _HEADINGS, strict=True)
    ]
    part = min(1.0, measure.used / measure.deserved) if measure.deserved else float(measure.used > 0)
    full = "█" * round(part * _BAR)
    colour = "yellow" if measure.used > measure.deserved else "green"
    bar = Text(full, colour).append("░" * (_BAR - len(full)), "dim")
    return Text(_GAP.join(cells) + _GAP).append_text(bar)
