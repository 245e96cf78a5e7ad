"""`maar flow`: make job flows, look at them and delete them; and the templates of their jobs."""

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.completion import NamespaceFlags, NamespacesFlags, names_of
from maar.cli.deletion import CascadeOption, WaitOption, check_chosen, chosen_names, delete_all
from maar.cli.option_groups import with_groups
from maar.cli.submission import DryRunOption, FilesOption, read_submissions, submit_all
from maar.cli.tables import (
    DataOption,
    LabelsOption,
    OutputOption,
    Scope,
    Table,
    WatchOption,
    check_watch,
    data_text,
    show_all,
)
from maar.core.views.flow_rows import (
    FLOW_HEADINGS,
    FLOW_WIDE,
    TEMPLATE_HEADINGS,
    TEMPLATE_WIDE,
    flow_cells,
    template_cells,
)
from maar.core.views.flow_summary import FlowSummary, TemplateSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

TABLE: Final = Table(FlowSummary, FLOW_HEADINGS, FLOW_WIDE, flow_cells, "STATUS", "Running")
TEMPLATES: Final = Table(
    TemplateSummary, TEMPLATE_HEADINGS, TEMPLATE_WIDE, template_cells, "QUEUE", "Deleted"
)

_Complete = names_of(FlowSummary)
NameArgument = Annotated[str, typer.Argument(help="The flow.", autocompletion=_Complete)]
NamesArgument = Annotated[list[str] | None, typer.Argument(help="The flows.", autocompletion=_Complete)]

flow_app: Final = typer.Typer(help="Job flows: jobs that wait for one another.", no_args_is_help=True)


@flow_app.command()
@with_groups
def create(
    *,
    files: FilesOption = None,
    dry_run: DryRunOption = "none",
    output: OutputOption = None,
    place: NamespaceFlags,
    access: Access,
) -> None:
    """Make flows and job templates from files."""
    if not files:
        raise typer.BadParameter("say what to make: -f FILE")

    submissions = read_submissions(files, (FlowSummary, TemplateSummary), "maar flow create")
    is_dry = dry_run == "server"
    on_cluster(
        access, lambda cluster: submit_all(cluster, submissions, place.namespace, output, dry_run=is_dry)
    )


@flow_app.command("list")
@with_groups
def list_all(
    *,
    labels: LabelsOption = "",
    output: OutputOption = None,
    watch: WatchOption = False,
    place: NamespacesFlags,
    access: Access,
) -> None:
    """Show flows; the jobs are running/completed/failed/all."""
    check_watch(output, FlowSummary, watch=watch)

    async def work(cluster: "ClusterClient") -> None:
        await show_all(cluster, TABLE, Scope(place.of(cluster), labels), output, watch=watch)

    on_cluster(access, work)


@flow_app.command()
@with_groups
def templates(
    *,
    labels: LabelsOption = "",
    output: OutputOption = None,
    watch: WatchOption = False,
    place: NamespacesFlags,
    access: Access,
) -> None:
    """Show the templates that flows make jobs from."""
    check_watch(output, TemplateSummary, watch=watch)

    async def work(cluster: "ClusterClient") -> None:
        await show_all(cluster, TEMPLATES, Scope(place.of(cluster), labels), output, watch=watch)

    on_cluster(access, work)


@flow_app.command()
@with_groups
def view(name: NameArgument, *, output: DataOption = None, place: NamespaceFlags, access: Access) -> None:
    """Show a flow: which job waits for which, how far each is, and its events."""

    async def work(cluster: "ClusterClient") -> None:
        document = await cluster.get(FlowSummary, f"{place.of(cluster)}/{name}")
        if output is not None:
            typer.echo(data_text([document], output, as_list=False))
            return
        from maar.cli.flow.view import read_flow  # noqa: PLC0415  # drawing takes a while to import
        from maar.cli.lines import print_on_terminal  # noqa: PLC0415
        from maar.core.views.flow_text import flow_lines  # noqa: PLC0415

        found = await read_flow(cluster, document)
        print_on_terminal(lambda width: flow_lines(found, time.time(), width))

    on_cluster(access, work)


@flow_app.command()
@with_groups
def delete(
    names: NamesArgument = None,
    *,
    labels: LabelsOption = "",
    cascade: CascadeOption = "background",
    wait: WaitOption = True,
    dry_run: DryRunOption = "none",
    place: NamespaceFlags,
    access: Access,
) -> None:
    """Delete flows, and with them their jobs."""
    check_chosen(names, labels)

    async def work(cluster: "ClusterClient") -> None:
        namespace = place.of(cluster)
        chosen = await chosen_names(cluster, FlowSummary, names, labels, namespace)
        keys = [f"{namespace}/{name}" for name in chosen]
        await delete_all(cluster, FlowSummary, keys, cascade, wait=wait, dry_run=dry_run == "server")

    on_cluster(access, work)
