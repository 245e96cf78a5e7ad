"""`maar plan`: what a cluster in files would get, and why."""

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from maar.cli.failure import CommandError
from maar.cli.files import read_manifests
from maar.core.fairshare import BadClaimError, FairShares, Share
from maar.core.model.queue import ROOT
from maar.core.model.resources import PODS, roughly
from maar.core.views.standing import standing

_BAR: Final = 16
_NUMBERS: Final = ("WEIGHT", "USED", "DESERVED", "ASKED")
_ENDLESS: Final = 1_000


def plan(
    files: Annotated[
        list[Path],
        typer.Option("--filename", "-f", help="A file or folder of manifests; - is standard input."),
    ],
) -> None:
    """Say what the queues of a cluster deserve, and what binds each of them.

    Reads Nodes, Queues, PodGroups and Pods from manifests. Placing pods comes with the scheduling cycle.
    """
    manifests = read_manifests(files)
    _say([f"warning: {warning}" for warning in manifests.warnings])
    _say([f"note: {kind} ({count}): not read" for kind, count in manifests.left_out.items()])
    if manifests.errors:
        raise CommandError(*manifests.errors)
    try:
        shares = standing(manifests.objects)
    except BadClaimError as error:
        raise CommandError(str(error)) from None
    _say([f"warning: set aside: {name}: {reason}" for name, reason in shares.set_aside.items()])
    if not any(shares[ROOT].deserved.values()):
        _say(["warning: no ready, schedulable node: there is nothing to share"])
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _ENDLESS  # a pipe cuts nothing off
    console.print(_table(shares))


def _say(sentences: list[str]) -> None:
    """Speak on standard error, so that standard output stays the plan."""
    for sentence in sentences:
        typer.echo(sentence, err=True)


def _table(shares: FairShares) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("QUEUE", "WEIGHT", "RESOURCE", "USED", "DESERVED", "ASKED", "USED OF DESERVED", "BOUND BY"):
        table.add_column(name, justify="right" if name in _NUMBERS else "left", no_wrap=True)
    _add(table, shares, ROOT, "", "")
    return table


def _add(table: Table, shares: FairShares, name: str, branch: str, below: str) -> None:
    one, label = shares[name], branch + name
    children = shares.tree.children(name)
    weight = str(one.weight) if name != ROOT else ""
    for resource in _shown(shares):
        table.add_row(label, weight, *_cells(one, resource))
        label, weight = below + ("│" if children else ""), ""
    for child in children:
        last = child == children[-1]
        _add(table, shares, child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))


def _shown(shares: FairShares) -> list[str]:
    """The resources worth a line: what somebody asks for or is guaranteed; pods only if nothing else is."""
    root = shares[ROOT]
    asked = [resource for resource in shares.resources if root.request[resource] or root.guarantee[resource]]
    return [resource for resource in asked if resource != PODS] or asked or list(shares.resources) or [""]


def _cells(one: Share, resource: str) -> tuple[str, ...]:
    if not resource:
        return ("nothing asked for",)
    used, deserved = one.used[resource], one.deserved[resource]
    part = min(1.0, used / deserved) if deserved else float(used > 0)
    bar = "█" * round(part * _BAR)
    return (
        resource,
        roughly(resource, used),
        roughly(resource, deserved),
        roughly(resource, one.request[resource]),
        bar + "░" * (_BAR - len(bar)),
        one.binding.get(resource, ""),
    )
