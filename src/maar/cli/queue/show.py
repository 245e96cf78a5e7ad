"""Showing queues by name: as a table or as data, once or as they change."""

from collections.abc import Sequence

import typer

from maar.cli.queue.rows import TABLE
from maar.cli.tables import Document, Output, Rows, data_text
from maar.core.model.kinds import BadObjectError, from_document
from maar.core.model.queue import Queue


def show(documents: Sequence[Document], output: Output | None, *, as_list: bool) -> None:
    """Print queues once."""
    if output in ("json", "yaml"):
        typer.echo(data_text(documents, output, as_list=as_list))
    else:
        Rows(TABLE, read_queues(documents), output)


def read_queues(documents: Sequence[Document]) -> list[Queue]:
    """Read queues; one that cannot be read is left out with a warning."""
    queues = []
    for document in documents:
        try:
            queues.append(from_document(Queue, document))
        except BadObjectError as error:
            typer.echo(f"warning: a queue cannot be read and is left out: {error}", err=True)
    return queues
