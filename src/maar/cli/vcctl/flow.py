"""`vcctl jobflow` and `vcctl jobtemplate`: Volcano's verbs for flows and templates, the same for both."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from maar.cli.cluster.access import on_cluster
from maar.cli.completion import names_of
from maar.cli.failure import CommandError, for_each
from maar.cli.option_groups import with_groups
from maar.cli.submission import Submission, read_submissions, submit
from maar.cli.tables import text_of, without_bookkeeping
from maar.cli.vcctl.columns import FLOWS, TEMPLATES, VolcanoKind
from maar.cli.vcctl.flags import NOTHING, AllNamespacesOption, NamespaceOption, ServerFlags, failing_as
from maar.core.model.kinds import from_document
from maar.core.model.metadata import Object

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

FileOption = Annotated[
    Path | None, typer.Option("--file", "-f", help="A YAML file; documents are parted by ---.")
]


def _app(shown: VolcanoKind[Any], helps: str) -> typer.Typer:
    """The commands of a kind."""
    app = typer.Typer(help=helps, no_args_is_help=True)
    name_option = Annotated[
        str, typer.Option("--name", "-N", help="The name.", autocompletion=names_of(shown.kind))
    ]

    @app.command()
    @with_groups
    def create(
        *, file: FileOption = None, namespace: NamespaceOption = "default", server: ServerFlags
    ) -> None:
        """Make all of a file."""
        with failing_as(f"create {shown.command}"):
            submissions = read_submissions([_given(file)], (shown.kind,), f"vcctl {shown.command} create")
            on_cluster(server.access, lambda cluster: _create(cluster, shown.kind, submissions, namespace))

    @app.command("list")
    @with_groups
    def list_all(
        *,
        namespace: NamespaceOption = "default",
        all_namespaces: AllNamespacesOption = False,
        server: ServerFlags,
    ) -> None:
        """Show all."""
        place = "" if all_namespaces else namespace
        with failing_as(f"list {shown.command}"):
            objects = on_cluster(server.access, lambda cluster: cluster.objects(shown.kind, place))
            typer.echo(shown.table(objects) if objects else NOTHING)

    @app.command()
    @with_groups
    def get(*, name: name_option = "", namespace: NamespaceOption = "default", server: ServerFlags) -> None:
        """Show one."""
        with failing_as(f"get {shown.command}"):
            key = _key(shown, name, namespace)
            document = on_cluster(server.access, lambda cluster: cluster.get(shown.kind, key))
            typer.echo(shown.table([from_document(shown.kind, document)]))

    @app.command()
    @with_groups
    def describe(
        *,
        name: name_option = "",
        namespace: NamespaceOption = "default",
        output: Annotated[Literal["yaml", "json"], typer.Option("--format", "-o", help="As what.")] = "yaml",
        server: ServerFlags,
    ) -> None:
        """Print all of one."""
        with failing_as(f"describe {shown.command}"):
            key = _key(shown, name, namespace)
            document = on_cluster(server.access, lambda cluster: cluster.get(shown.kind, key))
            typer.echo(text_of(without_bookkeeping(document), output))

    @app.command()
    @with_groups
    def delete(
        *,
        file: FileOption = None,
        name: name_option = "",
        namespace: NamespaceOption = "default",
        server: ServerFlags,
    ) -> None:
        """Delete one, or all of a file."""
        with failing_as(f"delete {shown.command}"):
            if file is None:
                keys = [_key(shown, name, namespace)]
            else:
                submissions = read_submissions([file], (shown.kind,), f"vcctl {shown.command} delete")
                documents = [_in(each, namespace).document for each in submissions]
                keys = [from_document(shown.kind, document).key for document in documents]
            on_cluster(server.access, lambda cluster: _delete(cluster, shown.kind, keys))

    return app


async def _create(
    cluster: "ClusterClient", kind: type[Object], submissions: Sequence[Submission], namespace: str
) -> None:
    async def make(submission: Submission) -> None:
        made = await submit(cluster, _in(submission, namespace), "", dry_run=False)
        typer.echo(f"Created {kind.kind_name()}: {from_document(kind, made).key}")

    await for_each(submissions, make)


async def _delete(cluster: "ClusterClient", kind: type[Object], keys: Sequence[str]) -> None:
    async def remove(key: str) -> None:
        await cluster.delete(kind, key)
        typer.echo(f"Deleted {kind.kind_name()}: {key}")

    await for_each(keys, remove)


def _in(submission: Submission, namespace: str) -> Submission:
    """A document without a namespace is of the one on the command line."""
    written = submission.document.get("metadata")
    metadata = {"namespace": namespace, **(written if isinstance(written, dict) else {})}
    return Submission(submission.kind, {**submission.document, "metadata": metadata}, submission.place)


def _given(file: Path | None) -> Path:
    if file is None:
        raise CommandError("a file is mandatory; add -f FILE")
    return file


def _key(shown: VolcanoKind[Any], name: str, namespace: str) -> str:
    if not name:
        raise CommandError(f"{shown.command} name is mandatory; add -N NAME")
    return f"{namespace}/{name}"


vcctl_flow_app: Final = _app(FLOWS, "Job flows, in Volcano's manner.")
vcctl_template_app: Final = _app(TEMPLATES, "Job templates, in Volcano's manner.")
