"""Changes of queues: their specs as documents, what is done on a cluster, and what is printed."""

from typing import TYPE_CHECKING, Literal, cast

import typer

from maar.cli.failure import CommandError
from maar.cli.queue.rows import print_queues
from maar.cli.tables import Document, Output, title
from maar.core.model.queue import ALWAYS_OPEN, ROOT, Queue

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

Json = dict[str, object]
State = Literal["Open", "Closed"]


def document_of(name: str, spec: Json) -> Json:
    """A new queue."""
    return {
        "apiVersion": Queue.api_version,
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": difference({}, spec),
    }


def difference(there: Json, wanted: Json) -> Json:
    """The merge patch that brings what is wanted about; empty where all of it is there."""
    patch: Json = {}
    for name, value in wanted.items():
        before = there.get(name)
        if isinstance(value, dict):
            inside = difference(cast(Json, before) if isinstance(before, dict) else {}, value)
            if inside:
                patch[name] = inside
        elif value != before:
            patch[name] = value
    return patch


async def create_queue(cluster: "ClusterClient", name: str, spec: Json, output: Output | None) -> None:
    """Make a queue."""
    made = await cluster.create(Queue, name, document_of(name, spec))
    _print_result(made, name, "created", output)


async def update_queue(cluster: "ClusterClient", name: str, spec: Json, output: Output | None) -> None:
    """Bring a queue's spec to what is wanted; fields that are not named stay."""
    there = await cluster.get(Queue, name)
    change = difference(_spec(there), spec)
    if change:
        there = await cluster.change(Queue, name, {"spec": change})
    _print_result(there, name, "updated" if change else "unchanged", output)


async def set_state(cluster: "ClusterClient", name: str, state: State) -> None:
    """Ask a queue to open or to close."""
    there = await cluster.get(Queue, name)
    word = "opened" if state == "Open" else "closing"
    if (_spec(there).get("state") or "Open") == state:
        word = "unchanged"
    else:
        await cluster.change(Queue, name, {"spec": {"state": state}})
    typer.echo(f"{title(Queue, name)} {word}")
    if state == "Open" and (above := await _closed_above(cluster, there)):
        typer.echo(
            f"note: queue {name} is treated as closed while queue {above} above it is; "
            f"open that with maar queue open {above}",
            err=True,
        )


async def _closed_above(cluster: "ClusterClient", queue: Document) -> str:
    """The nearest queue above that is asked to close; empty where there is none."""
    seen = set[str]()
    while (parent := str(_spec(queue).get("parent") or ROOT)) not in (*seen, ROOT):
        seen.add(parent)
        try:
            queue = await cluster.get(Queue, parent)
        except CommandError:
            return ""  # a parent that does not exist closes no queue
        if _spec(queue).get("state") == "Closed" and parent not in ALWAYS_OPEN:
            return parent
    return ""


def _spec(document: Document) -> Json:
    spec = document.get("spec")
    return cast(Json, spec) if isinstance(spec, dict) else {}


def _print_result(document: Document, name: str, word: str, output: Output | None) -> None:
    if output is None:
        typer.echo(f"{title(Queue, name)} {word}")
    else:
        print_queues([document], output, as_list=False)
