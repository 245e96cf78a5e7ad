"""The queue tree as people read it: a line for every queue, of the resource that is wanted most."""

from collections.abc import Iterator, Mapping
from typing import Final

from maar.core.answers.tree.answer import Measure, TreeQueue, TreeView
from maar.core.answers.tree.past_use import past_use_sentence, weight_text
from maar.core.model.plan import NamespaceStanding, share_text
from maar.core.model.queue import ROOT
from maar.core.model.resources import roughly
from maar.core.views.drawing import LEGEND, WIDTH, Bar, Line, Note, Part, Row, branches, paragraph, table

_HEADINGS: Final = (" WEIGHT", " USED", " DESERVED")
_SOFT: Final = " SOFT GUARANTEE"  # only where a queue has one
_WIDE: Final = (" WEIGHT", "RESOURCE", " GUARANTEE", _SOFT, " CAPABILITY", " USED", " DESERVED")
_COUNTS: Final = (" SHARE", " RUN", " WAIT", "STATE")
_STATES: Final = {"Open": "green", "Closing": "yellow", "Closed": "red"}
_NOTHING: Final = Part("")


def tree_lines(
    view: TreeView, width: int = WIDTH, resource: str = "", *, wide: bool = False
) -> Iterator[Line]:
    """Draw the tree: one resource of it, or with `wide` a line for each and what queues claim."""
    chosen = resource or view.resource
    shown = tuple(view.resources) if wide else (chosen,)
    rows: list[Row | Note] = []
    children = {name: one.children for name, one in view.queues.items()}
    has_soft = any(
        measure.soft_guarantee is not None
        for one in view.queues.values()
        for measure in one.resources.values()
    )
    columns = tuple(one for one in _WIDE if has_soft or one != _SOFT) if wide else ()
    for name, before, below in branches(children, view.top):
        rows += _rows(view.queues[name], before, below, shown, columns)
    headings = (*columns, "", *_COUNTS) if wide else (*_HEADINGS, chosen, *_COUNTS)
    yield from table(("QUEUE", *headings), rows, width)
    for name, why in view.set_aside.items():
        yield from paragraph(Part(f"set aside: {name}: {why}", "yellow"), width)
    yield from legend(view.resources, shown, width)


def legend(
    resources: tuple[str, ...], shown: tuple[str, ...], width: int, how: str = "-o wide"
) -> Iterator[Line]:
    """Say what the bars mean, which other resources there are, and how to see them."""
    yield (Part(LEGEND, "dim"),)
    if others := [one for one in resources if one not in shown]:
        text = f"{shown[0]} is shown; {how} shows {', '.join(others)} too"
        yield from paragraph(Part(text, "dim"), width)


def beyond(measures: Mapping[str, Measure], chosen: str) -> str:
    """The other resources of which a queue uses more than it deserves."""
    return ", ".join(
        f"{name} {roughly(name, one.used)} of {roughly(name, one.deserved)}"
        for name, one in measures.items()
        if name != chosen and one.used > one.deserved
    )


def _rows(
    one: TreeQueue, before: str, below: str, shown: tuple[str, ...], wide: tuple[str, ...]
) -> Iterator[Row | Note]:
    weight, share = ("", "") if one.name == ROOT else (weight_text(one.weight, one.past_use), one.share)
    counts = (Part(str(one.running)), Part(str(one.inqueue + one.pending)))
    facts: tuple[Part, ...] = (Part(share, "bold"), *counts, Part(one.state, _STATES.get(one.state, "")))
    label = before + one.name
    for resource in shown:
        measure = one.resources[resource]
        amounts = (measure.used, measure.deserved) if one.has_shares else (measure.used, None)
        if wide:
            soft = (measure.soft_guarantee,) if _SOFT in wide else ()
            amounts = (measure.guarantee, *soft, measure.capability, *amounts)
        name = (Part(resource),) if wide else ()
        numbers = (Part("-" if amount is None else roughly(resource, amount)) for amount in amounts)
        yield Row(label, below, (Part(weight), *name, *numbers, Bar(measure.used, measure.deserved), *facts))
        label, weight, facts = below, "", (_NOTHING,) * len(facts)
    if not wide and (text := beyond(one.resources, shown[0])):
        yield Note(below, below, Part(f"uses {text} deserved", "yellow"))
    if wide and one.past_use is not None:
        yield Note(below, below, Part(past_use_sentence(one.weight, one.past_use), "dim"))
    for namespace, standing in one.namespaces.items():
        yield Note(f"{below}namespace {namespace}", below, Part(_standing(standing), "dim"))
    for remark in one.remarks:
        yield Note(below, below, Part(remark, "yellow"))


def _standing(one: NamespaceStanding) -> str:
    used = ", ".join(f"{name} {roughly(name, units)}" for name, units in one.used.items() if units)
    weight = weight_text(one.weight, one.past_use)
    return f"weight {weight}, share {share_text(one.share)}, uses {used or 'nothing'}"
