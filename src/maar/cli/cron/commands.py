"""`maar cron`: make cron jobs, look at them, suspend, resume, run now and delete them."""

import time
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.completion import NamespaceFlags, NamespacesFlags, names_of
from maar.cli.deletion import CascadeOption, WaitOption, check_chosen, chosen_names, delete_all
from maar.cli.failure import for_each
from maar.cli.option_groups import with_groups
from maar.cli.submission import DryRunOption, FilesOption, read_submissions, submit_all
from maar.cli.tables import (
    DataOption,
    Document,
    LabelsOption,
    OutputOption,
    Scope,
    Table,
    WatchOption,
    check_watch,
    data_text,
    show_all,
    title,
)
from maar.core.views.flow_rows import CRON_HEADINGS, CRON_WIDE, cron_cells
from maar.core.views.flow_summary import CronSummary
from maar.core.views.job_summary import JobSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

TABLE: Final = Table(CronSummary, CRON_HEADINGS, CRON_WIDE, cron_cells, "SUSPEND", "Deleted")

_MANUAL: Final = "cronjob.kubernetes.io/instantiate"  # as kubectl create job --from marks such jobs

_Complete = names_of(CronSummary)
NameArgument = Annotated[str, typer.Argument(help="The cron job.", autocompletion=_Complete)]
NamesArgument = Annotated[list[str] | None, typer.Argument(help="The cron jobs.", autocompletion=_Complete)]

cron_app: Final = typer.Typer(help="Cron jobs: jobs that are made by the clock.", no_args_is_help=True)


@cron_app.command()
@with_groups
def create(
    *,
    files: FilesOption = None,
    dry_run: DryRunOption = "none",
    output: OutputOption = None,
    place: NamespaceFlags,
    access: Access,
) -> None:
    """Make cron jobs from files."""
    if not files:
        raise typer.BadParameter("say what to make: -f FILE")

    submissions = read_submissions(files, (CronSummary,), "maar cron create")
    is_dry = dry_run == "server"
    on_cluster(
        access, lambda cluster: submit_all(cluster, submissions, place.namespace, output, dry_run=is_dry)
    )


@cron_app.command("list")
@with_groups
def list_all(
    *,
    labels: LabelsOption = "",
    output: OutputOption = None,
    watch: WatchOption = False,
    place: NamespacesFlags,
    access: Access,
) -> None:
    """Show cron jobs."""
    check_watch(output, CronSummary, watch=watch)

    async def work(cluster: "ClusterClient") -> None:
        await show_all(cluster, TABLE, Scope(place.of(cluster), labels), output, watch=watch)

    on_cluster(access, work)


@cron_app.command()
@with_groups
def view(name: NameArgument, *, output: DataOption = None, place: NamespaceFlags, access: Access) -> None:
    """Show a cron job, the jobs it has made and its events."""

    async def work(cluster: "ClusterClient") -> None:
        document = await cluster.get(CronSummary, f"{place.of(cluster)}/{name}")
        if output is not None:
            typer.echo(data_text([document], output, as_list=False))
            return
        from maar.cli.flow.view import read_cron  # noqa: PLC0415
        from maar.cli.lines import print_on_terminal  # noqa: PLC0415  # drawing takes a while to import
        from maar.core.views.flow_text import cron_lines  # noqa: PLC0415

        found = await read_cron(cluster, document)
        print_on_terminal(lambda width: cron_lines(found, time.time(), width))

    on_cluster(access, work)


@cron_app.command()
@with_groups
def suspend(
    names: NamesArgument = None, *, labels: LabelsOption = "", place: NamespaceFlags, access: Access
) -> None:
    """Suspend cron jobs: they make no jobs; those that run go on."""
    _set_suspend(names, labels, place, access, is_suspended=True)


@cron_app.command()
@with_groups
def resume(
    names: NamesArgument = None, *, labels: LabelsOption = "", place: NamespaceFlags, access: Access
) -> None:
    """Let cron jobs make jobs again."""
    _set_suspend(names, labels, place, access, is_suspended=False)


@cron_app.command()
@with_groups
def trigger(
    name: NameArgument,
    *,
    job: Annotated[str, typer.Option("--name", help="The name of the job; made up unless set.")] = "",
    dry_run: DryRunOption = "none",
    output: OutputOption = None,
    place: NamespaceFlags,
    access: Access,
) -> None:
    """Make a job of a cron job now, whatever its schedule."""

    async def work(cluster: "ClusterClient") -> None:
        namespace = place.of(cluster)
        document = await cluster.get(CronSummary, f"{namespace}/{name}")
        made = job_of(document, job)
        key = f"{namespace}/{job or f'{name}-manual-'}"
        is_dry = dry_run == "server"
        created = await cluster.create(JobSummary, key, made, dry_run=is_dry)
        if output in ("json", "yaml"):
            typer.echo(data_text([created], output, as_list=False))
            return
        shown = title(JobSummary, str(cast(Document, created["metadata"])["name"]))
        typer.echo(shown if output == "name" else f"{shown} created{' (server dry run)' if is_dry else ''}")

    on_cluster(access, work)


@cron_app.command()
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
    """Delete cron jobs, and with them the jobs they have made."""
    check_chosen(names, labels)

    async def work(cluster: "ClusterClient") -> None:
        namespace = place.of(cluster)
        chosen = await chosen_names(cluster, CronSummary, names, labels, namespace)
        keys = [f"{namespace}/{name}" for name in chosen]
        await delete_all(cluster, CronSummary, keys, cascade, wait=wait, dry_run=dry_run == "server")

    on_cluster(access, work)


def job_of(cron: Document, name: str) -> Document:
    """The job that a cron job makes, as its own."""
    metadata = cast(Document, cron["metadata"])
    template = cast(Document, cast(Document, cron["spec"]).get("jobTemplate") or {})
    written = cast(Document, template.get("metadata") or {})
    annotations = cast(Document, written.get("annotations") or {})
    owner = {
        "apiVersion": CronSummary.api_version,
        "kind": "CronJob",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    named = {"name": name} if name else {"generateName": f"{metadata['name']}-manual-"}
    return {
        "apiVersion": JobSummary.api_version,
        "kind": "Job",
        "metadata": {
            **named,
            "namespace": metadata["namespace"],
            "labels": written.get("labels") or {},
            "annotations": {**annotations, _MANUAL: "manual"},
            "ownerReferences": [owner],
        },
        "spec": template.get("spec") or {},
    }


def _set_suspend(
    names: list[str] | None, labels: str, place: NamespaceFlags, access: Access, *, is_suspended: bool
) -> None:
    check_chosen(names, labels)

    async def work(cluster: "ClusterClient") -> None:
        namespace = place.of(cluster)

        async def one(name: str) -> None:
            key = f"{namespace}/{name}"
            there = cast(Document, (await cluster.get(CronSummary, key)).get("spec") or {})
            if bool(there.get("suspend")) == is_suspended:
                typer.echo(f"{title(CronSummary, name)} unchanged")
                return
            await cluster.change(CronSummary, key, {"spec": {"suspend": is_suspended}})
            typer.echo(f"{title(CronSummary, name)} {'suspended' if is_suspended else 'resumed'}")

        await for_each(await chosen_names(cluster, CronSummary, names, labels, namespace), one)

    on_cluster(access, work)
