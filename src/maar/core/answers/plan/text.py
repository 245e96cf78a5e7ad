"""A plan as text: the queue tree, what would be bound, what would be evicted for what, and what waits."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from maar.core.answers.tree.answer import Measure
from maar.core.answers.tree.most_wanted import most_wanted
from maar.core.answers.tree.past_use import past_use_sentence, weight_text
from maar.core.answers.tree.text import beyond, legend
from maar.core.model.plan import Plan, QueueStanding
from maar.core.model.queue import ROOT
from maar.core.model.resources import PODS, roughly
from maar.core.views.drawing import WIDTH, Bar, Line, Note, Part, Row, branches, table

_MOST_LINES: Final = 40


class More(NamedTuple):
    """How a reader sees what a plan leaves out: all resources, and all lines."""

    resources: str = "-o wide"
    lines: str = "-o json"


def plan_lines(
    plan: Plan, width: int = WIDTH, resource: str = "", more: More | None = None, *, wide: bool = False
) -> Iterator[Line]:
    """Draw one cycle; of the tree one resource, or with `wide` a line for each."""
    more = more or More()
    yield from _queues(plan, width, resource, more, wide=wide)
    evictions = [_eviction(one.pod, one.beneficiary, one.action) for one in plan.evictions]
    sections = {"Would bind": _binds(plan), "Would evict": evictions, "Waits": _waiting(plan)}
    for title, lines in sections.items():
        yield from _section(title, lines, more)


def resources_of(plan: Plan) -> tuple[str, ...]:
    """The resources that a queue requests or uses; pods only where there is nothing else."""
    root = plan.queues[ROOT]
    busy = [name for name in root.deserved if root.request.get(name) or root.used.get(name)]
    return tuple([name for name in busy if name != PODS] or busy or [PODS])


def _queues(plan: Plan, width: int, asked: str, more: More, *, wide: bool) -> Iterator[Line]:
    resources, root = resources_of(plan), plan.queues[ROOT]
    chosen = asked or most_wanted(resources, root.deserved, root.request.larger(root.used))
    shown = resources if wide else (chosen,)
    children: dict[str, list[str]] = {}
    for name in sorted(plan.queues):
        children.setdefault(plan.queues[name].parent, []).append(name)
    rows: list[Row | Note] = []
    for name, before, below in branches(children, ROOT):
        rows += _rows(name, plan.queues[name], before, below, shown, wide=wide)
    what = ("RESOURCE",) if wide else ()
    bars = "" if wide else chosen
    yield from table(
        ("QUEUE", " WEIGHT", *what, " USED", " DESERVED", " ASKED", bars, "BOUND BY"), rows, width
    )
    yield from legend(resources, shown, width, more.resources)


def _rows(
    name: str, one: QueueStanding, before: str, below: str, shown: tuple[str, ...], *, wide: bool
) -> Iterator[Row | Note]:
    label, weight = before + name, "" if name == ROOT else weight_text(one.weight, one.past_use)
    for resource in shown:
        used, deserved = one.used.get(resource, 0), one.deserved.get(resource, 0)
        amounts = (used, deserved, one.request.get(resource, 0))
        numbers = (Part(roughly(resource, amount)) for amount in amounts)
        what = (Part(resource),) if wide else ()
        why = Part(one.binding.get(resource, ""))
        yield Row(label, below, (Part(weight), *what, *numbers, Bar(used, deserved), why))
        label, weight = below, ""
    measures = {
        each: Measure(None, None, None, one.deserved.get(each, 0), units)
        for each, units in one.used.items()
        if each != PODS
    }
    if not wide and (text := beyond(measures, shown[0])):
        yield Note(below, below, Part(f"uses {text} deserved", "yellow"))
    if wide and one.past_use is not None:
        yield Note(below, below, Part(past_use_sentence(one.weight, one.past_use), "dim"))


def _section(title: str, lines: list[str], more: More) -> Iterator[Line]:
    yield ()
    yield (Part(f"{title}:" if lines else f"{title}: nothing"),)
    for line in lines[:_MOST_LINES]:
        yield (Part(f"  {line}"),)
    if len(lines) > _MOST_LINES:
        yield (Part(f"  ... and {len(lines) - _MOST_LINES} more ({more.lines} has them all)"),)


def _binds(plan: Plan) -> list[str]:
    return [f"{one.pod} to {one.node}" for one in sorted(plan.binds, key=lambda one: one.pod)]


def _eviction(pod: str, beneficiary: str | None, action: str) -> str:
    return f"{pod} for {beneficiary} ({action})" if beneficiary else f"{pod} ({action})"


def _waiting(plan: Plan) -> list[str]:
    return [
        f"{key} ({one.phase}): {one.refusal.reason}: {one.message}"
        for key, one in sorted(plan.pod_groups.items())
        if one.refusal is not None
    ]
