"""`vcctl queue`: Volcano's verbs, flags and columns."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from maar.cli.bus_commands import CommandAction, create_command
from maar.cli.cluster.access import Access, on_cluster
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups
from maar.cli.queue.changes import State, document_of
from maar.cli.queue.rows import read_queues
from maar.core.model.queue import ROOT, Queue

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

NameOption = Annotated[str, typer.Option("--name", "-n", help="The name of the queue.")]
WeightOption = Annotated[int, typer.Option("--weight", "-w", help="The weight of the queue.")]

_HEADINGS: Final = (
    "Name", "Weight", "State", "Parent", "Inqueue", "Pending", "Running", "Unknown", "Completed",
)  # fmt: skip
_WIDTHS: Final = (25, *[8] * 8)

vcctl_queue_app: Final = typer.Typer(help="Queues, in Volcano's manner.", no_args_is_help=True)


@dataclass(frozen=True)
class ServerFlags:
    """How Volcano's commands find the cluster."""

    master: Annotated[str, typer.Option("--master", "-s", help="The address of the API server.")] = ""
    kubeconfig: Annotated[
        Path | None,
        typer.Option("--kubeconfig", "-k", help="The kubeconfig; $KUBECONFIG or the user's own unless set."),
    ] = None

    @property
    def access(self) -> Access:
        """The cluster as other commands know it."""
        return Access(self.kubeconfig, server=self.master)


@vcctl_queue_app.command()
@with_groups
def create(
    *,
    name: NameOption = "test",
    weight: WeightOption = 1,
    state: Annotated[State, typer.Option("--state", "-S", help="The state of the queue.")] = "Open",
    server: ServerFlags,
) -> None:
    """Make a queue."""
    document = document_of(name, {"weight": weight, "state": state})
    on_cluster(server.access, lambda cluster: cluster.create(Queue, name, document))


@vcctl_queue_app.command()
@with_groups
def delete(*, name: NameOption = "", server: ServerFlags) -> None:
    """Delete a queue; it must be Closed and have no children."""
    named = _named(name)
    on_cluster(server.access, lambda cluster: cluster.delete(Queue, named))


@vcctl_queue_app.command()
@with_groups
def update(
    *,
    name: NameOption = "",
    weight: WeightOption = 0,
    server: ServerFlags,
) -> None:
    """Change the weight of a queue."""
    _update(_named(name), weight, server.access)


@vcctl_queue_app.command()
@with_groups
def operate(
    *,
    name: NameOption = "",
    weight: WeightOption = 0,
    action: Annotated[str, typer.Option("--action", "-a", help="What to do: open, close or update.")] = "",
    server: ServerFlags,
) -> None:
    """Open, close or update a queue."""
    access, named = server.access, _named(name)
    match action:
        case "open":
            _create_command(named, "OpenQueue", access)
        case "close":
            _create_command(named, "CloseQueue", access)
        case "update":
            _update(named, weight, access)
        case "":
            raise CommandError("action can not be null; add -a open, -a close or -a update")
        case _:
            raise CommandError(f"action {action} invalid, valid actions are open, close and update")


@vcctl_queue_app.command("open")
@with_groups
def open_queue(*, name: NameOption = "", server: ServerFlags) -> None:
    """Let a queue take new jobs again."""
    _create_command(_named(name), "OpenQueue", server.access)


@vcctl_queue_app.command("close")
@with_groups
def close_queue(*, name: NameOption = "", server: ServerFlags) -> None:
    """Let a queue take no new jobs; it is Closed when the jobs it has are finished."""
    _create_command(_named(name), "CloseQueue", server.access)


@vcctl_queue_app.command()
@with_groups
def get(*, name: NameOption = "", server: ServerFlags) -> None:
    """Show a queue."""
    named = _named(name)
    found = on_cluster(server.access, lambda cluster: cluster.get(Queue, named))
    typer.echo(table(read_queues([found])))


@vcctl_queue_app.command("list")
@with_groups
def list_all(server: ServerFlags) -> None:
    """Show all queues."""
    found = on_cluster(server.access, lambda cluster: cluster.all(Queue))
    typer.echo(table(read_queues(found)) if found else "No resources found")


def table(queues: list[Queue]) -> str:
    """Volcano's columns; one that is too narrow for what is in it grows."""
    rows = [_HEADINGS, *map(_cells, queues)]
    widths = [
        max(width, max(map(len, column)) + 1)
        for width, column in zip(_WIDTHS, zip(*rows, strict=True), strict=True)
    ]
    return "\n".join(
        "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def _cells(queue: Queue) -> tuple[str, ...]:
    status = queue.status
    counts = (status.inqueue, status.pending, status.running, status.unknown, status.completed)
    parent = "" if queue.key == ROOT else queue.parent
    return (queue.key, str(queue.spec.weight), status.state, parent, *map(str, counts))


def _named(name: str) -> str:
    if not name:
        raise CommandError("queue name must be specified; add -n NAME")
    return name


def _update(name: str, weight: int, access: Access) -> None:
    if weight <= 0:
        raise CommandError(
            f"when update queue {name}, weight must be specified, the value must be greater than 0; add -w 2"
        )
    on_cluster(access, lambda cluster: cluster.change(Queue, name, {"spec": {"weight": weight}}))


def _create_command(name: str, command_action: CommandAction, access: Access) -> None:
    """Create a Command for the queue, as Volcano's clients do; a controller carries it out."""

    async def work(cluster: "ClusterClient") -> None:
        await create_command(cluster, Queue, await cluster.get(Queue, name), command_action)

    on_cluster(access, work)
