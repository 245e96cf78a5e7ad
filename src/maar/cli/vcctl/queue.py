"""`vcctl queue`: Volcano's verbs and flags for queues."""

from collections.abc import Callable
from typing import Annotated, Final

import typer

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups
from maar.cli.queue.changes import State, document_of
from maar.cli.queue.rows import read_queues
from maar.cli.vcctl.columns import QUEUES
from maar.cli.vcctl.flags import NOTHING, ServerFlags
from maar.cli.vcctl.work import command
from maar.core.model.queue import Queue

NameOption = Annotated[str, typer.Option("--name", "-n", help="The name of the queue.")]
WeightOption = Annotated[int, typer.Option("--weight", "-w", help="The weight of the queue.")]

vcctl_queue_app: Final = typer.Typer(help="Queues, in Volcano's manner.", no_args_is_help=True)


def _add(verb: str, sentence: str, work: Callable[[Access, str], None]) -> None:
    """Add a command that does something to one queue."""

    @vcctl_queue_app.command(verb, help=sentence)
    @with_groups
    def of_one(*, name: NameOption = "", server: ServerFlags) -> None:
        work(server.access, _named(name))


def _open(access: Access, name: str) -> None:
    command(access, Queue, name, "OpenQueue")


def _close(access: Access, name: str) -> None:
    command(access, Queue, name, "CloseQueue")


def _update(access: Access, name: str, weight: int) -> None:
    if weight <= 0:
        raise CommandError(
            f"when update queue {name}, weight must be specified, the value must be greater than 0; add -w 2"
        )
    on_cluster(access, lambda cluster: cluster.change(Queue, name, {"spec": {"weight": weight}}))


def _show(access: Access, name: str) -> None:
    document = on_cluster(access, lambda cluster: cluster.get(Queue, name))
    typer.echo(QUEUES.table(read_queues([document])))


def _delete(access: Access, name: str) -> None:
    on_cluster(access, lambda cluster: cluster.delete(Queue, name))


def _named(name: str) -> str:
    if not name:
        raise CommandError("queue name must be specified; add -n NAME")
    return name


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


_add("delete", "Delete a queue; it must be Closed and have no children.", _delete)


@vcctl_queue_app.command()
@with_groups
def update(*, name: NameOption = "", weight: WeightOption = 0, server: ServerFlags) -> None:
    """Change the weight of a queue."""
    _update(server.access, _named(name), weight)


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
            _open(access, named)
        case "close":
            _close(access, named)
        case "update":
            _update(access, named, weight)
        case "":
            raise CommandError("action can not be null; add -a open, -a close or -a update")
        case _:
            raise CommandError(f"action {action} invalid, valid actions are open, close and update")


_add("open", "Let a queue take new jobs again.", _open)
_add("close", "Let a queue take no new jobs; it is Closed when the jobs it has are finished.", _close)
_add("get", "Show a queue.", _show)


@vcctl_queue_app.command("list")
@with_groups
def list_all(server: ServerFlags) -> None:
    """Show all queues."""
    documents = on_cluster(server.access, lambda cluster: cluster.all(Queue))
    typer.echo(QUEUES.table(read_queues(documents)) if documents else NOTHING)
