"""`maar cron` and `maar flow`: jobs that are made by the clock, or when others have completed."""

from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.completion import NamespaceFlags, names_of
from maar.cli.kind_commands import add_create, add_delete, add_list, add_view, do_to_each
from maar.cli.option_groups import with_groups
from maar.cli.submission import DryRunOption, print_made
from maar.cli.tables import Document, LabelsOption, OutputOption, ShownKind, title
from maar.core.model.cron_job import CronJob
from maar.core.model.job import Job
from maar.core.model.job_flow import JobFlow, JobTemplate
from maar.core.views.flow_rows import (
    CRON_HEADINGS,
    CRON_WIDE,
    FLOW_HEADINGS,
    FLOW_WIDE,
    TEMPLATE_HEADINGS,
    TEMPLATE_WIDE,
    cron_cells,
    flow_cells,
    template_cells,
)

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

CRONS: Final = ShownKind(CronJob, "cron job", CRON_HEADINGS, CRON_WIDE, cron_cells, "SUSPEND", "Deleted")

_MANUAL: Final = "cronjob.kubernetes.io/instantiate"  # as kubectl create job --from marks such jobs

NameArgument = Annotated[str, typer.Argument(help="The cron job.", autocompletion=names_of(CronJob))]
NamesArgument = Annotated[
    list[str] | None, typer.Argument(help="The cron jobs.", autocompletion=names_of(CronJob))
]

cron_app: Final = typer.Typer(help="Cron jobs: jobs that are made by the clock.", no_args_is_help=True)

add_create(cron_app, (CronJob,), "maar cron create", "Make cron jobs from files.")
add_list(cron_app, CRONS, "Show cron jobs.")
add_view(cron_app, CRONS, "Show a cron job, the jobs it has made and its events.")


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
        namespace, is_dry = place.of(cluster), dry_run == "server"
        made = job_of(await cluster.get(CronJob, f"{namespace}/{name}"), job)
        key = f"{namespace}/{job or f'{name}-manual-'}"
        print_made(Job, await cluster.create(Job, key, made, dry_run=is_dry), output, is_dry=is_dry)

    on_cluster(access, work)


add_delete(cron_app, CRONS, "Delete cron jobs, and with them the jobs they have made.")


def job_of(cron: Document, name: str) -> Document:
    """The job that a cron job makes, as its own."""
    metadata = cast(Document, cron["metadata"])
    template = cast(Document, cast(Document, cron["spec"]).get("jobTemplate") or {})
    written = cast(Document, template.get("metadata") or {})
    annotations = cast(Document, written.get("annotations") or {})
    owner = {
        "apiVersion": CronJob.api_version,
        "kind": "CronJob",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    named = {"name": name} if name else {"generateName": f"{metadata['name']}-manual-"}
    return {
        "apiVersion": Job.api_version,
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
    async def work(cluster: "ClusterClient", key: str) -> None:
        cron = await cluster.get(CronJob, key)
        word = "suspended" if is_suspended else "resumed"
        if bool(cast(Document, cron.get("spec") or {}).get("suspend")) == is_suspended:
            word = "unchanged"
        else:
            await cluster.change(CronJob, key, {"spec": {"suspend": is_suspended}})
        typer.echo(f"{title(CronJob, key.partition('/')[2])} {word}")

    do_to_each((CronJob,), names, labels, place, access, work)


FLOWS: Final = ShownKind(JobFlow, "flow", FLOW_HEADINGS, FLOW_WIDE, flow_cells, "STATUS", "Running")
TEMPLATES: Final = ShownKind(
    JobTemplate, "template", TEMPLATE_HEADINGS, TEMPLATE_WIDE, template_cells, "QUEUE", "Deleted"
)

flow_app: Final = typer.Typer(help="Job flows: jobs that wait for one another.", no_args_is_help=True)

add_create(flow_app, (JobFlow, JobTemplate), "maar flow create", "Make flows and job templates from files.")
add_list(flow_app, FLOWS, "Show flows; the jobs are running/completed/failed/all.")
add_list(flow_app, TEMPLATES, "Show the templates that flows make jobs from.", name="templates")
add_view(flow_app, FLOWS, "Show a flow: which job waits for which, how far each is, and its events.")
add_delete(flow_app, FLOWS, "Delete flows, and with them their jobs.")
