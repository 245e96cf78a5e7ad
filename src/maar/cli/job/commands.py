"""`maar job`: run jobs, look at them, suspend, resume and delete them; and `maar pod`, their pods."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.completion import NamespaceFlags
from maar.cli.job.document import PlainJob
from maar.cli.job.flags import (
    CommandArgument,
    ImageOption,
    IndexOption,
    JobListFlags,
    LimitsOption,
    MinimumOption,
    NameArgument,
    NamesArgument,
    NewNameArgument,
    PodListFlags,
    QueueOption,
    ReplicasOption,
    RequestsOption,
    SchedulerOption,
    TaskOption,
)
from maar.cli.job.logs import LogFlags, show_logs
from maar.cli.job.suspension import RESUME, SUSPEND, Suspension, change_suspension
from maar.cli.kind_commands import add_delete, add_list, add_view, do_to_each
from maar.cli.option_groups import with_groups
from maar.cli.submission import DryRunOption, FilesOption, Submission, read_submissions, submit_all
from maar.cli.tables import LabelsOption, OutputOption, ShownKind
from maar.core.model.cron_job import CronJob
from maar.core.model.job import Job
from maar.core.model.job_flow import JobFlow, JobTemplate
from maar.core.model.workload import BatchJob
from maar.core.views.job_rows import JOB_HEADINGS, JOB_WIDE, POD_HEADINGS, POD_WIDE, job_cells, pod_cells
from maar.core.views.job_summary import PodSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

JOBS: Final = ShownKind(Job, "job", JOB_HEADINGS, JOB_WIDE, job_cells, "STATUS", "Restarting")

_KINDS: Final = (Job, CronJob, JobFlow, JobTemplate)  # what files may have

PODS: Final = ShownKind(PodSummary, "pod", POD_HEADINGS, POD_WIDE, pod_cells, "STATUS", "ContainerCreating")

job_app: Final = typer.Typer(help="Jobs: run, look at, suspend and delete them.", no_args_is_help=True)
pod_app: Final = typer.Typer(help="Pods of jobs and queues.", no_args_is_help=True)


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
        submissions = [Submission(Job, job.document())]
    is_dry = dry_run == "server"
    on_cluster(
        access, lambda cluster: submit_all(cluster, submissions, place.namespace, output, dry_run=is_dry)
    )


add_list(job_app, JOBS, "Show jobs; the pods are running/succeeded/failed/all.", JobListFlags)
add_view(job_app, JOBS, "Show a job: how far it is, why it waits, its tasks, pods, phases and events.")


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


add_delete(job_app, JOBS, "Delete jobs, and with them their pods.")


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
    async def work(cluster: "ClusterClient", key: str) -> None:
        await change_suspension(cluster, key, suspension, wait=wait, dry_run=dry_run)

    do_to_each((Job, BatchJob), names, labels, place, access, work)


@pod_app.callback()
def _pods() -> None:
    """Pods of jobs and queues."""


add_list(pod_app, PODS, "Show the pods of jobs: of one job, of a queue, or of all.", PodListFlags)
