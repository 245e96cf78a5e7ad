"""The changes that a command line asks about: --set, --add-nodes, --drain, --delete and --submit."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from maar.cli.documents import read_documents
from maar.cli.failure import CommandError
from maar.core.answers.whatif.changes import Change, SubmitDocument, field_change, in_order
from maar.core.answers.whatif.known_objects import BadChangeError, read_target
from maar.core.model.kinds import from_document
from maar.core.model.node import Node
from maar.core.model.node_sizes import BadNodesError, read_size


@dataclass(frozen=True)
class ChangeFlags:
    """The changes, by kind."""

    set_fields: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KIND/NAME.FIELD=VALUE",
            help="Set a field, such as queue/research.weight=3; no value takes it out.",
        ),
    ] = None
    add_nodes: Annotated[
        list[str] | None,
        typer.Option(
            "--add-nodes", metavar="NODES", help="Add nodes, such as 4x8cpu,32Gi, or those of a file."
        ),
    ] = None
    drain: Annotated[
        list[str] | None, typer.Option("--drain", metavar="NODE", help="Cordon a node and evict its pods.")
    ] = None
    delete: Annotated[
        list[str] | None,
        typer.Option(
            "--delete",
            metavar="KIND/NAME",
            help="Delete job/NAMESPACE/NAME, a podgroup with its pods, a pod, a queue or a node.",
        ),
    ] = None
    submit: Annotated[
        list[Path] | None,
        typer.Option("--submit", help="Apply a file or folder of manifests: jobs, pod groups, pods, queues."),
    ] = None

    def check(self) -> None:
        """Refuse flags that are wrong whatever there is in the cluster."""
        if not any((self.set_fields, self.add_nodes, self.drain, self.delete, self.submit)):
            raise typer.BadParameter(
                "there is no change: give --set, --add-nodes, --drain, --delete or --submit"
            )
        _check("--set", self.set_fields, field_change)
        _check("--delete", self.delete, read_target)
        _check("--add-nodes", self.add_nodes, lambda text: read_size(text.strip()))

    def changes(self, nodes: Collection[str]) -> list[Change]:
        """The changes in the order in which they are made; `nodes` are the names of those that are there."""
        return in_order(
            new_nodes("--add-nodes", self.add_nodes or [], nodes),
            map(field_change, self.set_fields or ()),
            self.drain or (),
            self.delete or (),
            documents(self.submit or []),
        )


def _check(flag: str, texts: list[str] | None, read: Callable[[str], object]) -> None:
    for text in texts or ():
        try:
            read(text)
        except (BadChangeError, BadNodesError) as error:
            raise typer.BadParameter(f"{flag} {error}") from None


def new_nodes(flag: str, texts: list[str], taken: Collection[str]) -> tuple[Node, ...]:
    """Read nodes as `maar up --nodes` does; `flag` is what messages call it."""
    if not texts:
        return ()
    from maar.embedded.nodes.specification import parse  # noqa: PLC0415  few questions are about nodes

    try:
        return tuple(from_document(Node, one) for one in parse(*texts, taken=taken))
    except BadNodesError as error:
        raise CommandError(f"{flag} {error}") from None


def documents(paths: list[Path]) -> Iterator[SubmitDocument]:
    """The documents of files and folders."""
    read = read_documents(paths)
    if read.errors:
        raise CommandError(*read.errors)
    if paths and not read.found:
        raise CommandError(f"there is no document in {', '.join(map(str, paths))}; name a file that has one")
    for place, document in read.found:
        yield SubmitDocument(place, document)
