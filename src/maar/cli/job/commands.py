"""`maar job`: run jobs, look at them, suspend, resume and delete them."""

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.completion import NamespaceFlags, NamespacesFlags
from maar.cli.deletion import CascadeOption, WaitOption, check_chosen, chosen_names, delete_all
from maar.cli.failure import for_each
from maar.cli.job.document import PlainJob
from maar.cli.job.flags import (
    CommandArgument,
    ImageOption,
    IndexOption,
    LimitsOption,
    MinimumOption,
    NameArgument,
    NamesArgument,
    NewNameArgument,
    PhaseOption,
    QueueOption,
    ReplicasOption,
    RequestsOption,
    SchedulerOption,
    StartFlags,
    TaskOption,
)
from maar.cli.job.logs import LogFlags, show_logs
from maar.cli.job.suspension import RESUME, SUSPEND, Suspension, change_suspension
from maar.cli.option_groups import with_groups
from maar.cli.submission import DryRunOption, FilesOption, Submission, read_submissions, submit_all
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
from maar.core.model.workload import BatchJob
from maar.core.views.flow_summary import CronSummary, FlowSummary, TemplateSummary
from maar.core.views.job_rows import JOB_HEADINGS, JOB_WIDE, job_cells
from maar.core.views.job_summary import JobSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

TABLE: Final = Table(JobSummary, JOB_HEADINGS, JOB_WIDE, job_cells, "STATUS", "Restarting")

_KINDS: Final = (JobSummary, CronSummary, FlowSummary, TemplateSummary)  # what files may have

job_app: Final = typer.Typer(help="Jobs: run, look at, suspend and delete them.", no_args_is_help=True)


@job_app.command()
@with_groups
def run(  # noqa: PLR0913  # the flags of the command
    name: NewNameArgument = "",
    command: CommandArgument = None,
    *,
    files: FilesOption = None,
    image: ImageOption = "",
    replicas: ReplicasOption = 1,
    minimum: MinimumOption = None,
    requests: RequestsOption = None,
    limits: LimitsOption = None,
    queue: QueueOption = "",
    scheduler: SchedulerOption = "",
    dry_run: DryRunOption = "none",
    output: OutputOption = None,
    place: NamespaceFlags,
    access: Access,
) -> None:
    """Run jobs: those of files, or one from flags such as NAME --image busybox -- echo hello."""
    if bool(files) == bool(name):
        raise typer.BadParameter("say what to run: -f FILE, or a name with --image, but not both")
    if name and not image:
        raise typer.BadParameter("the pods need an image; add --image")
    if files:
        submissions = read_submissions(files, _KINDS, "maar job run")
    else:
        least = replicas if minimum is None else minimum
        job = PlainJob(
            name, place.namespace, image, replicas, least, requests, limits, queue, scheduler, command or ()
        )
        submissions = [Submission(JobSummary, job.document())]
    is_dry = dry_run == "server"
    on_cluster(
        access, lambda cluster: submit_all(cluster, submissions, place.namespace, output, dry_run=is_dry)
    )


@job_app.command("list")
@with_groups
def list_all(  # noqa: PLR0913  # the flags of the command
    *,
    queue: QueueOption = "",
    phase: PhaseOption = "",
    labels: LabelsOption = "",
    output: OutputOption = None,
    watch: WatchOption = False,
    starts: StartFlags,
    place: NamespacesFlags,
    access: Access,
) -> None:
    """Show jobs; the pods are running/succeeded/failed/all."""
    check_watch(output, JobSummary, watch=watch)
    if starts.start and watch:
        raise typer.BadParameter(
            "--start is worked out once; leave -w out, or watch kubectl get podgroups -w"
        )
    if not starts.start and starts != StartFlags():
        raise typer.BadParameter("--first, --within and --config are for planned starts; add --start")

    def keep(job: JobSummary) -> bool:
        return queue in ("", job.spec.queue) and phase in ("", job.phase)

    if queue:
        on_cluster(access, lambda cluster: cluster.check_queue(queue))
    if starts.start:
        from maar.cli.job.starts import list_with_starts  # noqa: PLC0415  # it simulates, and that takes long

        list_with_starts(starts, place, labels, keep, output, access)
        return

    async def work(cluster: "ClusterClient") -> None:
        await show_all(cluster, TABLE, Scope(place.of(cluster), labels), output, keep, watch=watch)

    on_cluster(access, work)


@job_app.command()
@with_groups
def view(name: NameArgument, *, output: DataOption = None, place: NamespaceFlags, access: Access) -> None:
    """Show a job: how far it is, why it waits, its tasks, pods, phases and events."""

    async def work(cluster: "ClusterClient") -> None:
        document = await cluster.get(JobSummary, f"{place.of(cluster)}/{name}")
        if output is not None:
            typer.echo(data_text([document], output, as_list=False))
            return
        from maar.cli.job.view import read_view  # noqa: PLC0415  # drawing takes a while to import
        from maar.cli.lines import print_on_terminal  # noqa: PLC0415
        from maar.core.views.job_text import job_lines  # noqa: PLC0415

        found = await read_view(cluster, document)
        print_on_terminal(lambda width: job_lines(found, time.time(), width))

    on_cluster(access, work)


@job_app.command()
@with_groups
def logs(
    name: NameArgument,
    *,
    task: TaskOption = "",
    index: IndexOption = None,
    flags: LogFlags,
    place: NamespaceFlags,
    access: Access,
) -> None:
    """Print what the pods of a job print, each line with its pod where there are several."""

    async def work(cluster: "ClusterClient") -> None:
        await show_logs(cluster, f"{place.of(cluster)}/{name}", flags, task, index)

    on_cluster(access, work)


@job_app.command()
@with_groups
def suspend(
    names: NamesArgument = None,
    *,
    labels: LabelsOption = "",
    wait: Annotated[bool, typer.Option("--wait", help="Wait until its pods are gone.")] = False,
    dry_run: DryRunOption = "none",
    place: NamespaceFlags,
    access: Access,
) -> None:
    """Suspend jobs: their pods are deleted, but for those that have ended.

    A name that is no job of Volcano's means the Job of batch/v1.
    """
    _change_suspensions(SUSPEND, names, labels, place, access, wait=wait, dry_run=dry_run == "server")


@job_app.command()
@with_groups
def resume(
    names: NamesArgument = None,
    *,
    labels: LabelsOption = "",
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is no longer suspended.")] = False,
    dry_run: DryRunOption = "none",
    place: NamespaceFlags,
    access: Access,
) -> None:
    """Resume jobs that were suspended.

    A name that is no job of Volcano's means the Job of batch/v1.
    """
    _change_suspensions(RESUME, names, labels, place, access, wait=wait, dry_run=dry_run == "server")


@job_app.command()
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
    """Delete jobs, and with them their pods."""
    check_chosen(names, labels)

    async def work(cluster: "ClusterClient") -> None:
        namespace = place.of(cluster)
        chosen = await chosen_names(cluster, JobSummary, names, labels, namespace)
        keys = [f"{namespace}/{name}" for name in chosen]
        await delete_all(cluster, JobSummary, keys, cascade, wait=wait, dry_run=dry_run == "server")

    on_cluster(access, work)


def _change_suspensions(  # as the commands have them
    suspension: Suspension,
    names: list[str] | None,
    labels: str,
    place: NamespaceFlags,
    access: Access,
    *,
    wait: bool,
    dry_run: bool,
) -> None:
    check_chosen(names, labels)

    async def work(cluster: "ClusterClient") -> None:
        namespace = place.of(cluster)
        chosen = await chosen_names(cluster, JobSummary, names, labels, namespace)
        if labels:
            of_batch = await chosen_names(cluster, BatchJob, names, labels, namespace)
            chosen = list(dict.fromkeys([*chosen, *of_batch]))

        async def one(name: str) -> None:
            await change_suspension(cluster, f"{namespace}/{name}", suspension, wait=wait, dry_run=dry_run)

        await for_each(chosen, one)

    on_cluster(access, work)
