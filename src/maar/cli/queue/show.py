"""Showing queues that are on a cluster: as a table or as data, once or as they change."""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

import typer
import yaml

from maar.cli.queue.rows import STATE, Columns, cells, headings
from maar.core.model.events import Event, Upserted
from maar.core.model.kinds import BadObjectError, from_document
from maar.core.model.queue import Queue

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

Output = Literal["json", "yaml", "wide", "name"]
Document = dict[str, object]

_GROUP: Final = Queue.api_version.partition("/")[0]


def title(name: str) -> str:
    """A queue as kubectl writes it: queue.scheduling.volcano.sh/a."""
    return f"queue.{_GROUP}/{name}"


def text_of(data: object, output: str) -> str:
    """Plain data as JSON or YAML."""
    if output == "json":
        return json.dumps(data, indent=2, ensure_ascii=False)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip("\n")


def show(documents: Sequence[Document], output: Output | None, *, as_list: bool) -> None:
    """Print queues once."""
    if output in ("json", "yaml"):
        items = [_without_bookkeeping(one) for one in documents]
        typer.echo(
            text_of({"apiVersion": "v1", "kind": "List", "items": items} if as_list else items[0], output)
        )
    else:
        Rows(read_queues(documents), output)


async def follow(
    cluster: "ClusterClient",
    names: Sequence[str],
    labels: str,
    output: Output | None,
    shown: Sequence[Document],
) -> None:
    """Print queues, then each again whenever it changes."""
    queues = read_queues(shown)
    rows, known = Rows(queues, output), {queue.key: queue for queue in queues}

    def on_events(events: list[Event]) -> None:
        for event in events:
            match event:
                case Upserted(object=Queue() as queue) if not names or queue.key in names:
                    before, known[queue.key] = known.get(queue.key), queue
                    if before is None or rows.differ(before, queue):
                        rows.show(queue)
                case Upserted():
                    pass
                case _:
                    if (gone := known.pop(event.key, None)) is not None:
                        rows.show(gone, state="Deleted")

    await cluster.watch(Queue, on_events, labels)


class Rows:
    """Queues below one another, as a table or by their names alone."""

    def __init__(self, queues: Sequence[Queue], output: Output | None) -> None:
        self._wide, self._is_table = output == "wide", output != "name"
        first, now = headings(wide=self._wide), time.time()
        rows = [first, *(cells(queue, now, wide=self._wide) for queue in queues)]
        self._columns = Columns(rows)
        if self._is_table:
            typer.echo("\n".join(map(self._columns.line, rows)))
        else:
            for queue in queues:
                self.show(queue)

    def differ(self, before: Queue, after: Queue) -> bool:
        """Whether a change can be seen here."""
        return cells(before, 0, wide=self._wide) != cells(after, 0, wide=self._wide)

    def show(self, queue: Queue, state: str = "") -> None:
        """Print one more row."""
        row = cells(queue, time.time(), wide=self._wide)
        if state:
            row[STATE] = state
        typer.echo(self._columns.line(row) if self._is_table else title(queue.key))


def read_queues(documents: Sequence[Document]) -> list[Queue]:
    """Read queues; one that cannot be read is left out with a warning."""
    queues = []
    for document in documents:
        try:
            queues.append(from_document(Queue, document))
        except BadObjectError as error:
            typer.echo(f"warning: a queue cannot be read and is left out: {error}", err=True)
    return queues


def _without_bookkeeping(document: Document) -> Document:
    """Leave out who manages which field, as kubectl does."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return document
    return {**document, "metadata": {name: one for name, one in metadata.items() if name != "managedFields"}}
