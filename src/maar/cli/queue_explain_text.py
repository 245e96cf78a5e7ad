"""An explanation on a terminal or in a pipe: for each resource the way down, then the siblings in numbers."""

from textwrap import wrap
from typing import Final

from rich.console import Console
from rich.text import Text

from maar.core.model.resources import roughly
from maar.core.views.queue_explain import Explanation, Sibling, Step
from maar.core.views.queue_words import sentence, summary, water

WIDTH: Final = 100
_HEADINGS: Final = ("WEIGHT", "GUARANTEE", "REQUEST", "CAPABILITY", "DESERVED")
_MOST_SIBLINGS: Final = 30
_WIDEST_NAME: Final = 30


def print_explanation(one: Explanation, console: Console) -> None:
    """Say why; colours appear on a terminal only."""
    _say(console, summary(one), "", "bold")
    if one.is_reduced:
        advice = "lower some of them, or add nodes"
        _say(
            console, f"Its guarantee holds only in part: not all guarantees can hold; {advice}.", "", "yellow"
        )
    for resource, steps in one.steps.items():
        if steps:
            console.print()
            console.print(Text(resource, "bold"))
            for step in steps:
                _say(console, sentence(step), "  ")
            _say(console, water(steps[-1]), "  ")
            _siblings(console, steps[-1])


def _say(console: Console, text: str, indent: str, style: str = "") -> None:
    lines = wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    for line in lines:
        console.print(Text(line, style), soft_wrap=True)


def _siblings(console: Console, step: Step) -> None:
    """Those who ask for something or get it, and the queue itself."""
    part = [one for one in step.siblings if one.request or one.deserved or one == step.chosen]
    shown = (
        part[:_MOST_SIBLINGS]
        if step.chosen in part[:_MOST_SIBLINGS]
        else [*part[:_MOST_SIBLINGS], step.chosen]
    )
    width = min(_WIDEST_NAME, max(len(one.name) for one in shown) + 2)
    console.print()
    console.print(Text("    " + "".ljust(width) + "  ".join(_HEADINGS) + "  BOUND BY", "dim"), soft_wrap=True)
    for one in shown:
        mark, style = ("> ", "bold") if one == step.chosen else ("  ", "")
        cells = "  ".join(_cells(step.resource, one))
        console.print(Text(f"  {mark}{one.name.ljust(width)}{cells}  {one.binding}", style), soft_wrap=True)
    rest = len(part) - len(shown), len(step.siblings) - len(part)
    for count, what in zip(
        rest, ("more (-o json has them all)", "that ask for none and get none"), strict=True
    ):
        if count > 0:
            console.print(f"    and {count} {what}")


def _cells(resource: str, one: Sibling) -> list[str]:
    amounts = [
        "-" if amount is None else roughly(resource, amount)
        for amount in (one.guarantee, one.request, one.capability, one.deserved)
    ]
    return [
        cell.rjust(len(heading)) for cell, heading in zip([str(one.weight), *amounts], _HEADINGS, strict=True)
    ]
