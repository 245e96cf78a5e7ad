"""`maar queue`: the queues of a cluster."""

from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.failure import for_each
from maar.cli.kind_commands import add_list, delete_object
from maar.cli.option_groups import with_groups
from maar.cli.queue.changes import State, create_queue, set_state, update_queue
from maar.cli.queue.flags import (
    NameArgument,
    NamesArgument,
    NewNameArgument,
    QueueChanges,
    QueueFlags,
    QueueListFlags,
    WeightOption,
)
from maar.cli.queue.rows import QUEUES, print_queues, read_queues
from maar.cli.queue.sharing import explain, tree
from maar.cli.tables import Document, OutputOption, Scope, WatchOption, check_watch, follow
from maar.core.model.queue import Queue

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

queue_app: Final = typer.Typer(help="Queues: make, change, look at and explain them.", no_args_is_help=True)


@queue_app.command()
@with_groups
def create(name: NewNameArgument, *, flags: QueueFlags, output: OutputOption = None, access: Access) -> None:
    """Make a queue."""
    on_cluster(access, lambda cluster: create_queue(cluster, name, flags.spec(), output))


@queue_app.command()
@with_groups
def update(name: NameArgument, *, flags: QueueChanges, output: OutputOption = None, access: Access) -> None:
    """Change a queue: what is not named stays, and cpu- takes an amount away."""
    spec = flags.spec()
    if not spec:
        raise typer.BadParameter("nothing is to be changed; say what, for example --weight 2")
    on_cluster(access, lambda cluster: update_queue(cluster, name, spec, output))


@queue_app.command()
@with_groups
def get(
    names: NamesArgument,
    *,
    output: OutputOption = None,
    watch: WatchOption = False,
    access: Access,
) -> None:
    """Show queues by name."""
    check_watch(output, Queue, watch=watch)

    async def work(cluster: "ClusterClient") -> None:
        documents: list[Document] = []

        async def read(name: str) -> None:
            documents.append(await cluster.get(Queue, name))

        try:
            await for_each(names, read)
        finally:
            if documents and not watch:
                print_queues(documents, output, as_list=len(names) > 1)
        if watch:
            await follow(cluster, QUEUES, Scope(keys=tuple(names)), output, read_queues(documents))

    on_cluster(access, work)


add_list(queue_app, QUEUES, "Show all queues.", QueueListFlags)
queue_app.command()(tree)
queue_app.command()(explain)


@queue_app.command()
@with_groups
def delete(names: NamesArgument, access: Access) -> None:
    """Delete queues; they must be Closed and have no children."""
    on_cluster(access, lambda cluster: for_each(names, lambda name: delete_object(cluster, Queue, name)))


@queue_app.command("open")
@with_groups
def open_queues(names: NamesArgument, access: Access) -> None:
    """Let queues take new jobs again."""
    _set_states(names, "Open", access)


@queue_app.command("close")
@with_groups
def close_queues(names: NamesArgument, access: Access) -> None:
    """Let queues take no new jobs; each is Closed when the jobs it has are finished."""
    _set_states(names, "Closed", access)


@queue_app.command()
@with_groups
def operate(
    name: NameArgument,
    action: Annotated[Literal["open", "close", "update"], typer.Option("--action", "-a", help="What to do.")],
    *,
    weight: WeightOption = None,
    access: Access,
) -> None:
    """Open, close or update a queue, as Volcano's verb does."""
    if action != "update":
        _set_states([name], "Open" if action == "open" else "Closed", access)
    elif weight is None:
        raise typer.BadParameter("nothing is to be changed; add --weight, or use maar queue update")
    else:
        spec = QueueFlags(weight=weight).spec()
        on_cluster(access, lambda cluster: update_queue(cluster, name, spec, None))


def _set_states(names: list[str], state: State, access: Access) -> None:
    on_cluster(access, lambda cluster: for_each(names, lambda name: set_state(cluster, name, state)))
