"""`maar pod`: the pods of jobs and queues."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.completion import NamespacesFlags, names_of
from maar.cli.job.flags import QueueOption
from maar.cli.option_groups import with_groups
from maar.cli.tables import LabelsOption, OutputOption, Scope, Table, WatchOption, check_watch, show_all
from maar.core.views.job_rows import POD_HEADINGS, POD_WIDE, pod_cells
from maar.core.views.job_summary import JOB_LABEL, QUEUE_LABEL, JobSummary, PodSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

TABLE: Final = Table(PodSummary, POD_HEADINGS, POD_WIDE, pod_cells, "STATUS", "ContainerCreating")

pod_app: Final = typer.Typer(help="Pods of jobs and queues.", no_args_is_help=True)


@pod_app.callback()
def _pods() -> None:
    """Pods of jobs and queues."""


@pod_app.command("list")
@with_groups
def list_all(
    *,
    job: Annotated[
        str, typer.Option("--job", "-j", help="Only pods of this job.", autocompletion=names_of(JobSummary))
    ] = "",
    queue: QueueOption = "",
    labels: LabelsOption = "",
    output: OutputOption = None,
    watch: WatchOption = False,
    place: NamespacesFlags,
    access: Access,
) -> None:
    """Show the pods of jobs: of one job, of a queue, or of all."""
    check_watch(output, PodSummary, watch=watch)
    chosen = [labels, f"{JOB_LABEL}={job}" if job else "", f"{QUEUE_LABEL}={queue}" if queue else ""]
    selector = ",".join(filter(None, chosen)) or JOB_LABEL

    async def work(cluster: "ClusterClient") -> None:
        if queue:
            await cluster.check_queue(queue)
        if job:
            await cluster.check_job(place.of(cluster), job)
        scope = Scope(place.of(cluster), selector, are_labels_given=bool(labels))
        await show_all(cluster, TABLE, scope, output, watch=watch)

    on_cluster(access, work)
