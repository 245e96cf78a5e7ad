"""An explanation on a terminal or in a pipe: for each resource the way down, then the siblings in numbers."""

from textwrap import wrap
from typing import Final

from rich.console import Console
from rich.text import Text

from maar.core.model.resources import roughly
from maar.core.views.queue_explain import Explanation, Sibling, Step
from maar.core.views.queue_words import past_use_sentences, protection, sentence, summary, water, weighs

WIDTH: Final = 100
_HEADINGS: Final = ("WEIGHT", "GUARANTEE", "REQUEST", "CAPABILITY", "DESERVED")
_MOST_SIBLINGS: Final = 30
_WIDEST_NAME: Final = 30
_GAP: Final = "  "


def print_explanation(one: Explanation, console: Console) -> None:
    """Say why; colours appear on a terminal only."""
    _print_wrapped(console, summary(one), "", "bold")
    if one.is_reduced:
        advice = "lower some of them, or add nodes"
        _print_wrapped(
            console, f"Its guarantee holds only in part: not all guarantees can hold; {advice}.", "", "yellow"
        )
    if protected := protection(one):
        _print_wrapped(console, f"{protected[0].upper()}{protected[1:]}.", "")
    for past_use in past_use_sentences(one):
        _print_wrapped(console, past_use, "")
    for resource, steps in one.steps.items():
        if steps:
            console.print()
            _print(console, resource, "bold")
            for step in steps:
                _print_wrapped(console, sentence(step), "  ")
            _print_wrapped(console, water(steps[-1]), "  ")
            _siblings(console, steps[-1])


def _print_wrapped(console: Console, text: str, indent: str, style: str = "") -> None:
    lines = wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    for line in lines:
        _print(console, line, style)


def _siblings(console: Console, step: Step) -> None:
    """The siblings that request or deserve something, and the queue itself."""
    claiming = [one for one in step.siblings if one.request or one.deserved or one == step.chosen]
    shown = claiming[:_MOST_SIBLINGS]
    shown += [step.chosen] if step.chosen not in shown else []
    width = min(_WIDEST_NAME, max(len(one.name) for one in shown))
    console.print()
    weight = max(len(_HEADINGS[0]), *(len(weighs(one)) for one in shown))
    headings = [_HEADINGS[0].rjust(weight), *_HEADINGS[1:]]
    _print(console, f"    {'':{width}}{_GAP}{_GAP.join(headings)}{_GAP}BOUND BY", "dim")
    for one in shown:
        label, style = ("  > ", "bold") if one == step.chosen else ("    ", "")
        if len(one.name) > width:
            _print(console, label + one.name, style)
            label = " " * (len(label) + width)
        else:
            label += one.name.ljust(width)
        cells = [*_cells(step.resource, one, headings), str(one.binding)]
        _print(console, _GAP.join([label, *cells]), style)
    if len(claiming) > len(shown):
        _print(console, f"    and {len(claiming) - len(shown)} more (-o json has them all)")
    if len(step.siblings) > len(claiming):
        _print(console, f"    and {len(step.siblings) - len(claiming)} without a claim")


def _print(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style), soft_wrap=True)


def _cells(resource: str, one: Sibling, headings: list[str]) -> list[str]:
    amounts = [
        "-" if amount is None else roughly(resource, amount)
        for amount in (one.guarantee, one.request, one.capability, one.deserved)
    ]
    texts = [weighs(one), *amounts]
    return [text.rjust(len(heading)) for text, heading in zip(texts, headings, strict=True)]
