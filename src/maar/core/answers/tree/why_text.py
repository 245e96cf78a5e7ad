"""Why a queue deserves what it does, as lines: the way down, then the siblings in numbers."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from maar.core.answers.tree.why import Explanation, Sibling, Step
from maar.core.answers.tree.why_sentences import (
    loan_limit,
    past_use_sentences,
    protection,
    sentence,
    summary,
    water,
    weighs,
)
from maar.core.model.resources import roughly
from maar.core.views.drawing import WIDTH, Line, Part

_SOFT: Final = "SOFT"  # only where a sibling has a soft guarantee
_HEADINGS: Final = ("WEIGHT", "GUARANTEE", _SOFT, "REQUEST", "CAPABILITY", "DESERVED")
_MOST_SIBLINGS: Final = 30
_WIDEST_NAME: Final = 30
_GAP: Final = "  "


def queue_explanation_lines(one: Explanation, width: int = WIDTH) -> Iterator[Line]:
    """The whole explanation."""
    yield from _wrapped(summary(one), width, style="bold")
    if one.is_reduced:
        advice = "lower some of them, or add nodes"
        reduced = f"Its guarantee holds only in part: not all guarantees can hold; {advice}."
        yield from _wrapped(reduced, width, style="yellow")
    if protected := protection(one):
        yield from _wrapped(f"{protected[0].upper()}{protected[1:]}.", width)
    if limit := loan_limit(one):
        yield from _wrapped(f"{limit[0].upper()}{limit[1:]}.", width)
    for past_use in past_use_sentences(one):
        yield from _wrapped(past_use, width)
    for resource, steps in one.steps.items():
        if steps:
            yield ()
            yield (Part(resource, "bold"),)
            for step in steps:
                yield from _wrapped(sentence(step), width, "  ")
            yield from _wrapped(water(steps[-1]), width, "  ")
            yield from _siblings(steps[-1])


def _wrapped(text: str, width: int, indent: str = "", style: str = "") -> Iterator[Line]:
    lines = wrap(text, width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    for line in lines:
        yield (Part(line, style),)


def _siblings(step: Step) -> Iterator[Line]:
    """The siblings that request or deserve something, and the queue itself."""
    claiming = [one for one in step.siblings if one.request or one.deserved or one == step.chosen]
    shown = claiming[:_MOST_SIBLINGS]
    shown += [step.chosen] if step.chosen not in shown else []
    width = min(_WIDEST_NAME, max(len(one.name) for one in shown))
    yield ()
    weight = max(len(_HEADINGS[0]), *(len(weighs(one)) for one in shown))
    has_soft = any(one.soft_guarantee for one in shown)
    headings = [_HEADINGS[0].rjust(weight), *(one for one in _HEADINGS[1:] if has_soft or one != _SOFT)]
    yield (Part(f"    {'':{width}}{_GAP}{_GAP.join(headings)}{_GAP}BOUND BY", "dim"),)
    for one in shown:
        label, style = ("  > ", "bold") if one == step.chosen else ("    ", "")
        if len(one.name) > width:
            yield (Part(label + one.name, style),)
            label = " " * (len(label) + width)
        else:
            label += one.name.ljust(width)
        cells = [*_cells(step.resource, one, headings), str(one.binding)]
        yield (Part(_GAP.join([label, *cells]), style),)
    if len(claiming) > len(shown):
        yield (Part(f"    and {len(claiming) - len(shown)} more (-o json has them all)"),)
    if len(step.siblings) > len(claiming):
        yield (Part(f"    and {len(step.siblings) - len(claiming)} without a claim"),)


def _cells(resource: str, one: Sibling, headings: list[str]) -> list[str]:
    soft = (one.soft_guarantee,) if _SOFT in headings else ()
    amounts = [
        "-" if amount is None else roughly(resource, amount)
        for amount in (one.guarantee, *soft, one.request, one.capability, one.deserved)
    ]
    texts = [weighs(one), *amounts]
    return [text.rjust(len(heading)) for text, heading in zip(texts, headings, strict=True)]
