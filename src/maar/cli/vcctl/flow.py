"""`vcctl jobflow` and `vcctl jobtemplate`: Volcano's verbs for flows and templates, the same for both."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from maar.cli.cluster.access import on_cluster
from maar.cli.completion import names_of
from maar.cli.failure import CommandError, for_each
from maar.cli.option_groups import with_groups
from maar.cli.queue.vcctl import ServerFlags
from maar.cli.submission import Submission, read_submissions, submit
from maar.cli.tables import text_of, without_bookkeeping
from maar.cli.vcctl.failure import failing_as
from maar.cli.vcctl.job import NamespaceOption
from maar.core.model.durations import age
from maar.core.model.kinds import from_document
from maar.core.views.flow_summary import FlowSummary, TemplateSummary
from maar.core.views.job_summary import created

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

_BESIDE: Final = 4  # blanks behind the longest cell of a column

FileOption = Annotated[
    Path | None, typer.Option("--file", "-f", help="A YAML file; documents are parted by ---.")
]


@dataclass(frozen=True)
class _Kind:
    """A kind that has these commands."""

    kind: type[FlowSummary | TemplateSummary]
    command: str
    headings: tuple[str, ...]
    cells: Callable[..., tuple[str, ...]]

    @property
    def name(self) -> str:
        """The kind in messages: JobFlow."""
        return self.kind.kind_name()

    def table(self, objects: Sequence[FlowSummary | TemplateSummary], now: float) -> str:
        """Volcano's columns, each as wide as its longest cell and four more."""
        rows = [self.headings, *(self.cells(one, now) for one in objects)]
        widths = [max(map(len, column)) + _BESIDE for column in zip(*rows, strict=True)]
        return "\n".join(
            "".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows
        )


def _flow_cells(flow: FlowSummary, now: float) -> tuple[str, ...]:
    metadata = flow.metadata
    return metadata.name, metadata.namespace, flow.status.state.phase, age(created(metadata), now)


def _template_cells(template: TemplateSummary, _now: float) -> tuple[str, ...]:
    return template.metadata.name, template.metadata.namespace


FLOWS: Final = _Kind(FlowSummary, "jobflow", ("Name", "Namespace", "Phase", "Age"), _flow_cells)
TEMPLATES: Final = _Kind(TemplateSummary, "jobtemplate", ("Name", "Namespace"), _template_cells)


def _app(one: _Kind, helps: str) -> typer.Typer:
    """The commands of a kind."""
    app = typer.Typer(help=helps, no_args_is_help=True)
    name_option = Annotated[
        str, typer.Option("--name", "-N", help="The name.", autocompletion=names_of(one.kind))
    ]

    @app.command()
    @with_groups
    def create(
        *, file: FileOption = None, namespace: NamespaceOption = "default", server: ServerFlags
    ) -> None:
        """Make all of a file."""
        with failing_as(f"create {one.command}"):
            found = read_submissions([_given(file)], (one.kind,), f"vcctl {one.command} create")
            on_cluster(server.access, lambda cluster: _create(cluster, one, found, namespace))

    @app.command("list")
    @with_groups
    def list_all(
        *,
        namespace: NamespaceOption = "default",
        all_namespaces: Annotated[bool, typer.Option("--all-namespaces", help="Of all namespaces.")] = False,
        server: ServerFlags,
    ) -> None:
        """Show all."""
        place = "" if all_namespaces else namespace
        with failing_as(f"list {one.command}"):
            found = on_cluster(server.access, lambda cluster: cluster.objects(one.kind, place))
            typer.echo(one.table(found, time.time()) if found else "No resources found")

    @app.command()
    @with_groups
    def get(*, name: name_option = "", namespace: NamespaceOption = "default", server: ServerFlags) -> None:
        """Show one."""
        with failing_as(f"get {one.command}"):
            key = _key(one, name, namespace)
            found = on_cluster(server.access, lambda cluster: cluster.get(one.kind, key))
            typer.echo(one.table([from_document(one.kind, found)], time.time()))

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
        with failing_as(f"describe {one.command}"):
            key = _key(one, name, namespace)
            found = on_cluster(server.access, lambda cluster: cluster.get(one.kind, key))
            typer.echo(text_of(without_bookkeeping(found), output))

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
        with failing_as(f"delete {one.command}"):
            keys = _file_keys(one, file, namespace) if file else [_key(one, name, namespace)]
            on_cluster(server.access, lambda cluster: _delete(cluster, one, keys))

    return app


async def _create(cluster: "ClusterClient", one: _Kind, found: Sequence[Submission], namespace: str) -> None:
    async def make(submission: Submission) -> None:
        made = await submit(cluster, _in(submission, namespace), "", dry_run=False)
        typer.echo(f"Created {one.name}: {from_document(one.kind, made).key}")

    await for_each(found, make)


async def _delete(cluster: "ClusterClient", one: _Kind, keys: Sequence[str]) -> None:
    async def remove(key: str) -> None:
        await cluster.delete(one.kind, key)
        typer.echo(f"Deleted {one.name}: {key}")

    await for_each(keys, remove)


def _file_keys(one: _Kind, file: Path, namespace: str) -> list[str]:
    found = read_submissions([file], (one.kind,), f"vcctl {one.command} delete")
    return [from_document(one.kind, _in(each, namespace).document).key for each in found]


def _in(submission: Submission, namespace: str) -> Submission:
    """A document without a namespace is of the one on the command line."""
    written = submission.document.get("metadata")
    metadata = {"namespace": namespace, **(written if isinstance(written, dict) else {})}
    return Submission(submission.kind, {**submission.document, "metadata": metadata}, submission.place)


def _given(file: Path | None) -> Path:
    if file is None:
        raise CommandError("a file is mandatory; add -f FILE")
    return file


def _key(one: _Kind, name: str, namespace: str) -> str:
    if not name:
        raise CommandError(f"{one.command} name is mandatory; add -N NAME")
    return f"{namespace}/{name}"


vcctl_flow_app: Final = _app(FLOWS, "Job flows, in Volcano's manner.")
vcctl_template_app: Final = _app(TEMPLATES, "Job templates, in Volcano's manner.")
