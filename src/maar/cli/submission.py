"""Making objects from documents that people keep in files: a refused one keeps no other from being made."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from maar.api.documents import read_documents
from maar.cli.failure import CommandError, for_each
from maar.cli.tables import Document, Output, data_text, title
from maar.core.model.metadata import Object

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

FilesOption = Annotated[
    list[Path] | None,
    typer.Option("--filename", "-f", help="A file or folder of manifests, or - for standard input."),
]
DryRunOption = Annotated[
    Literal["none", "server"],
    typer.Option("--dry-run", help="server asks the API server whether it would do it, and changes nothing."),
]


@dataclass(frozen=True)
class Submission:
    """A document that is to be made into an object."""

    kind: type[Object]
    document: Document
    place: str = ""  # where it stands, for messages


def read_submissions(paths: list[Path], kinds: Sequence[type[Object]], command: str) -> list[Submission]:
    """Read documents of these kinds; all that is wrong with the files is said at once."""
    documents = read_documents(paths)
    wrong, submissions = list(documents.errors), list[Submission]()
    by_name = {(kind.api_version, kind.kind_name()): kind for kind in kinds}
    for place, document in documents.placed:
        if not isinstance(document, dict) or "kind" not in document:
            wrong.append(f"{place}: not an object of Kubernetes: it has no kind")
            continue
        version, name = str(document.get("apiVersion", "")), str(document["kind"])
        if (version, name) not in by_name:
            wanted = " or ".join(f"{kind.kind_name()} of {kind.api_version}" for kind in kinds)
            wrong.append(
                f"{place}: {command} takes {wanted}, not {name} of {version or 'no apiVersion'}; "
                "use kubectl apply for it"
            )
            continue
        submissions.append(Submission(by_name[version, name], document, place))
    if wrong:
        raise CommandError(*wrong)
    if not submissions:
        raise CommandError(f"there is no document in {', '.join(map(str, paths))}; name a file that has one")
    return submissions


async def submit_all(
    cluster: "ClusterClient",
    submissions: Sequence[Submission],
    namespace: str,
    output: Output | None,
    *,
    dry_run: bool,
) -> None:
    """Make objects; a refused one keeps no other from being made."""

    async def work(submission: Submission) -> None:
        made = await submit(cluster, submission, namespace, dry_run=dry_run)
        print_made(submission.kind, made, output, is_dry=dry_run)

    await for_each(submissions, work)


def print_made(kind: type[Object], made: Document, output: Output | None, *, is_dry: bool) -> None:
    """Print what was made: a line, its name or its data."""
    if output in ("json", "yaml"):
        typer.echo(data_text([made], output, as_list=False))
        return
    shown = title(kind, name_in(made))
    typer.echo(shown if output == "name" else f"{shown} created{' (server dry run)' if is_dry else ''}")


def name_in(document: Document) -> str:
    """The name that a document has; empty where there is none."""
    metadata = document.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


async def submit(
    cluster: "ClusterClient", submission: Submission, namespace: str, *, dry_run: bool
) -> Document:
    """Make one object in the namespace that it or the command line names, or else that of the context."""
    written = submission.document.get("metadata")
    metadata: Document = written if isinstance(written, dict) else {}
    own = str(metadata.get("namespace") or "")
    if own and namespace and own != namespace:
        raise CommandError(
            f"{submission.place}: it is of namespace {own}, not {namespace}; leave -n out, or change it"
        )
    place = own or namespace or cluster.namespace
    name = str(metadata.get("name") or metadata.get("generateName") or "")
    if not name:
        raise CommandError(
            f"{submission.place}: {submission.kind.kind_name()}: metadata.name is missing; write one"
        )
    document = {**submission.document, "metadata": {**metadata, "namespace": place}}
    return await cluster.create(submission.kind, f"{place}/{name}", document, dry_run=dry_run)
