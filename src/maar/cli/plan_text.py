"""A plan as people read it: the queue tree, what would bind and be evicted and for whom, and who waits."""

from collections import Counter
from typing import Final

from rich.console import Console
from rich.table import Table

from maar.core.model.plan import Plan, QueueStanding
from maar.core.model.queue import ROOT
from maar.core.model.resources import PODS, roughly

_BAR: Final = 12
_NUMBERS: Final = ("WEIGHT", "USED", "DESERVED", "ASKED")
_ENDLESS: Final = 1_000
_MOST_LINES: Final = 40


def print_plan(plan: Plan, title: str) -> None:
    """Print one cycle; a pipe cuts nothing off."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _ENDLESS
    if title:
        console.rule(title) if console.is_terminal else console.print(f"=== {title} ===")
    console.print(_queues(plan))
    _section(console, "Would bind", _binds(plan))
    _section(
        console, "Would evict", [_eviction(one.pod, one.beneficiary, one.action) for one in plan.evictions]
    )
    _section(console, "Waits", _waiting(plan))


def _section(console: Console, title: str, lines: list[str]) -> None:
    console.print(f"\n{title}: {'nothing' if not lines else ''}".rstrip())
    for line in lines[:_MOST_LINES]:
        console.print(f"  {line}", markup=False, soft_wrap=True)
    if len(lines) > _MOST_LINES:
        console.print(f"  ... and {len(lines) - _MOST_LINES} more (-o json has them all)")


def _binds(plan: Plan) -> list[str]:
    return [f"{one.pod} to {one.node}" for one in sorted(plan.binds, key=lambda one: one.pod)]


def _eviction(pod: str, beneficiary: str | None, action: str) -> str:
    return f"{pod} for {beneficiary} ({action})" if beneficiary else f"{pod} ({action})"


def _waiting(plan: Plan) -> list[str]:
    return [
        f"{key} ({one.phase}): {one.held.reason}: {one.message}"
        for key, one in sorted(plan.pod_groups.items())
        if one.held is not None
    ]


def _queues(plan: Plan) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("QUEUE", "WEIGHT", "RESOURCE", "USED", "DESERVED", "ASKED", "USED OF DESERVED", "BOUND BY"):
        table.add_column(name, justify="right" if name in _NUMBERS else "left", no_wrap=True)
    children: dict[str, list[str]] = {}
    for name, one in plan.queues.items():
        children.setdefault(one.parent, []).append(name)
    _add(table, plan, children, ROOT, "", "")
    return table


def _add(
    table: Table, plan: Plan, children: dict[str, list[str]], name: str, branch: str, below: str
) -> None:
    one, label = plan.queues[name], branch + name
    weight = str(one.weight) if name != ROOT else ""
    inside = sorted(children.get(name, []))
    for resource in _worth_a_line(plan):
        table.add_row(label, weight, *_cells(one, resource))
        label, weight = below + ("│" if inside else ""), ""
    for child in inside:
        last = child == inside[-1]
        _add(
            table,
            plan,
            children,
            child,
            below + ("└─ " if last else "├─ "),
            below + ("   " if last else "│  "),
        )


def _worth_a_line(plan: Plan) -> list[str]:
    """The resources that somebody asks for or uses; pods only where there is nothing else."""
    root = plan.queues[ROOT]
    busy = Counter({**root.request}) + Counter({**root.used})
    asked = [resource for resource in root.deserved if busy[resource]]
    return [resource for resource in asked if resource != PODS] or asked or [PODS]


def _cells(one: QueueStanding, resource: str) -> tuple[str, ...]:
    used, deserved = one.used.get(resource, 0), one.deserved.get(resource, 0)
    part = min(1.0, used / deserved) if deserved else float(used > 0)
    bar = "█" * round(part * _BAR)
    amounts = (used, deserved, one.request.get(resource, 0))
    numbers = (roughly(resource, amount) for amount in amounts)
    return (resource, *numbers, bar + "░" * (_BAR - len(bar)), one.binding.get(resource, ""))
