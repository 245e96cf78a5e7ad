"""`vcctl job` and `vcctl pod`: Volcano's verbs and flags for jobs and their pods."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.completion import names_of
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups
from maar.cli.vcctl.columns import PODS
from maar.cli.vcctl.flags import (
    NOTHING,
    AllNamespacesOption,
    JobFileOption,
    JobFilters,
    NamespaceOption,
    ServerFlags,
    SizeFlags,
    failing_as,
    key_of,
)
from maar.cli.vcctl.work import delete_job, list_jobs, resume_job, run_job, suspend_job, view_job
from maar.core.model.job import Job
from maar.core.model.kinds import from_document
from maar.core.model.queue import Queue
from maar.core.views.job_summary import JOB_LABEL, QUEUE_LABEL, PodSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

NameOption = Annotated[
    str, typer.Option("--name", "-N", help="The name of the job.", autocompletion=names_of(Job))
]

vcctl_job_app: Final = typer.Typer(help="Jobs, in Volcano's manner.", no_args_is_help=True)
vcctl_pod_app: Final = typer.Typer(help="Pods, in Volcano's manner.", no_args_is_help=True)


@vcctl_job_app.command()
@with_groups
def run(  # the flags of the command
    *,
    filename: JobFileOption = None,
    image: Annotated[str, typer.Option("--image", "-i", help="The image of its pods.")] = "busybox",
    name: NameOption = "",
    namespace: NamespaceOption = "default",
    size: SizeFlags,
    scheduler: Annotated[
        str, typer.Option("--scheduler", "-S", help="The scheduler of its pods.")
    ] = "volcano",
    server: ServerFlags,
) -> None:
    """Run a job, from flags or from a file."""
    with failing_as("run job"):
        run_job(server.access, size.job(name, namespace, image, scheduler), filename)


@vcctl_job_app.command("list")
@with_groups
def list_all(
    *,
    namespace: NamespaceOption = "default",
    all_namespaces: AllNamespacesOption = False,
    filters: JobFilters,
    server: ServerFlags,
) -> None:
    """Show jobs."""
    with failing_as("list jobs"):
        list_jobs(server.access, "" if all_namespaces else namespace, filters)


def _add(verb: str, sentence: str, work: Callable[[Access, str], None]) -> None:
    """Add a command that does something to one job."""

    @vcctl_job_app.command(verb, help=sentence)
    @with_groups
    def command(
        *, name: NameOption = "", namespace: NamespaceOption = "default", server: ServerFlags
    ) -> None:
        with failing_as(f"{verb} job"):
            work(server.access, key_of(name, namespace, verb))


_add("view", "Show all of a job, and its events.", view_job)
_add("suspend", "Suspend a job.", suspend_job)
_add("resume", "Resume a job.", resume_job)
_add("delete", "Delete a job.", partial(delete_job, verb="delete"))


@vcctl_pod_app.callback()
def _pods() -> None:
    """Pods, in Volcano's manner."""


@vcctl_pod_app.command("list")
@with_groups
def list_pods(
    *,
    job: Annotated[
        str, typer.Option("--job", "-j", help="Only pods of this job.", autocompletion=names_of(Job))
    ] = "",
    queue: Annotated[
        str, typer.Option("--queue", "-q", help="Only pods of this queue.", autocompletion=names_of(Queue))
    ] = "",
    namespace: NamespaceOption = "default",
    all_namespaces: AllNamespacesOption = False,
    server: ServerFlags,
) -> None:
    """Show the pods of jobs."""
    place = "" if all_namespaces else namespace

    async def work(cluster: "ClusterClient") -> list[PodSummary]:
        if job and queue and place:
            owner = from_document(Job, await cluster.get(Job, f"{place}/{job}"))
            if owner.spec.queue != queue:
                raise CommandError(f"job {job} is in queue {owner.spec.queue}, not in queue {queue}")
        labels = [f"{JOB_LABEL}={job}" if job else JOB_LABEL, f"{QUEUE_LABEL}={queue}" if queue else ""]
        return await cluster.objects(PodSummary, place, ",".join(filter(None, labels)))

    with failing_as("list pods"):
        pods = sorted(on_cluster(server.access, work), key=lambda pod: pod.key)
        typer.echo(PODS.table(pods, with_namespace=not place) if pods else NOTHING)
