"""`maar queue tree` and `maar queue explain`: how a cluster, or one in files, is shared out."""

import asyncio
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from maar.api.manifests import read_manifests
from maar.cli.cluster.access import Access, on_cluster
from maar.cli.cluster.refusal import Operation, unknown
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups
from maar.cli.queue.flags import (
    NameArgument,
    ResourceOption,
    TopArgument,
    TreeOutputOption,
    check_resource,
)
from maar.cli.queue.rows import read_queues
from maar.cli.tables import DataOption, text_of
from maar.cli.terminal import Terminal, print_lines, width_of
from maar.core.answers.tree.answer import Namespaces, is_settled, queue_tree, tree_data
from maar.core.answers.tree.ask import queue_shares
from maar.core.answers.tree.text import tree_lines
from maar.core.answers.tree.why import explain_queue
from maar.core.answers.tree.why_sentences import explanation_data
from maar.core.answers.tree.why_text import queue_explanation_lines
from maar.core.model.metadata import Object
from maar.core.model.queue import ROOT, Queue

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

FilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--filename", "-f", help="Files or folders of manifests instead of a cluster; - is standard input."
    ),
]
_READS: Final = 4
_BETWEEN_READS_S: Final = 0.4  # the scheduler writes a queue's status once a second at most


@with_groups
def tree(
    top: TopArgument = ROOT,
    *,
    namespaces: Annotated[
        bool, typer.Option("--namespaces", help="Show the namespaces of each queue.")
    ] = False,
    resource: ResourceOption = "",
    files: FilesOption = None,
    output: TreeOutputOption = None,
    access: Access,
) -> None:
    """Draw the queue tree: what each queue deserves and uses of the resource that is wanted most."""
    inside: Namespaces = {}
    if files or namespaces:
        shared = queue_shares(_objects(files, access), time.time())
        queues, inside = list(shared.queues), shared.namespaces if namespaces else {}
    else:
        queues = on_cluster(access, partial(_queues, top))
        _note_missing_shares(queues)
    view = queue_tree(queues, top, inside)
    if view is None:
        raise CommandError(unknown(Operation("get", Queue, top), [queue.key for queue in queues]))
    if output in ("json", "yaml"):
        typer.echo(text_of(tree_data(view), output))
        return
    check_resource(resource, view.resources)
    console = Terminal()
    print_lines(console, tree_lines(view, width_of(console), resource, wide=output == "wide"))


@with_groups
def explain(
    name: NameArgument,
    *,
    files: FilesOption = None,
    output: DataOption = None,
    access: Access,
) -> None:
    """Say why a queue deserves what it does."""
    explain_share(name, files, output, access)


def explain_share(name: str, files: list[Path] | None, output: DataOption, access: Access) -> None:
    """Print why a queue deserves what it does."""
    shared = queue_shares(_objects(files, access), time.time())
    if why := shared.set_aside.get(name):
        raise CommandError(f"queue {name} takes no part and deserves nothing: {why}")
    if name not in shared.shares:
        raise CommandError(unknown(Operation("get", Queue, name), [queue.key for queue in shared.queues]))
    explanation = explain_queue(shared.shares, name, shared.min_runtimes[name], shared.past_use)
    if output:
        typer.echo(text_of(explanation_data(explanation), output))
    else:
        print_lines(Terminal(), queue_explanation_lines(explanation))


def _objects(files: list[Path] | None, access: Access) -> list[Object]:
    if not files:
        return on_cluster(access, lambda cluster: cluster.everything())
    manifests = read_manifests(files)
    for warning in manifests.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if manifests.errors:
        raise CommandError(*manifests.errors)
    return manifests.objects


async def _queues(top: str, cluster: "ClusterClient") -> list[Queue]:
    """Read all queues; where their shares are of different moments, once more when the others are written."""
    for _ in range(_READS):
        queues = read_queues(await cluster.all(Queue))
        if is_settled(queues, top):
            return queues
        await asyncio.sleep(_BETWEEN_READS_S)
    typer.echo(
        "note: some queues deserve more than the queue above them: their statuses are of different moments; "
        "is Maar's scheduler running? maar queue tree --namespaces works the shares out by itself",
        err=True,
    )
    return queues


def _note_missing_shares(queues: list[Queue]) -> None:
    """Print a note where no queue has a share in its status: the tree would be empty."""
    if not any(queue.status.deserved for queue in queues):
        typer.echo(
            "note: no queue has a share in its status yet; is Maar's scheduler running? "
            "maar queue tree --namespaces works the shares out by itself",
            err=True,
        )
