"""`vcctl job`: Volcano's verbs and flags for jobs."""

from pathlib import Path
from typing import Annotated, Final

import typer

from maar.cli.completion import names_of
from maar.cli.job.document import PlainJob
from maar.cli.option_groups import with_groups
from maar.cli.queue.amounts import WrittenAmounts, amounts
from maar.cli.queue.vcctl import ServerFlags
from maar.cli.vcctl.failure import failing_as, named
from maar.cli.vcctl.work import command_job, delete_job, list_jobs, run_file, run_job, view_job
from maar.core.model.namespace import Namespace
from maar.core.model.queue import Queue
from maar.core.views.job_summary import JobSummary

AMOUNTS: Final = "cpu=1000m,memory=100Mi"

NameOption = Annotated[
    str, typer.Option("--name", "-N", help="The name of the job.", autocompletion=names_of(JobSummary))
]
NamespaceOption = Annotated[
    str, typer.Option("--namespace", "-n", help="The namespace.", autocompletion=names_of(Namespace))
]
RequestsOption = Annotated[
    WrittenAmounts | None,
    typer.Option("--requests", "-R", parser=amounts, metavar=AMOUNTS, help="What each pod asks for."),
]
LimitsOption = Annotated[
    WrittenAmounts | None,
    typer.Option("--limits", "-L", parser=amounts, metavar=AMOUNTS, help="What each pod may use at most."),
]

vcctl_job_app: Final = typer.Typer(help="Jobs, in Volcano's manner.", no_args_is_help=True)


@vcctl_job_app.command()
@with_groups
def run(  # noqa: PLR0913  # the flags of the command
    *,
    filename: Annotated[
        Path | None, typer.Option("--filename", "-f", help="A YAML file with one job.")
    ] = None,
    image: Annotated[str, typer.Option("--image", "-i", help="The image of its pods.")] = "busybox",
    name: NameOption = "",
    namespace: NamespaceOption = "default",
    minimum: Annotated[int, typer.Option("--min", "-m", help="How many pods start together.")] = 1,
    replicas: Annotated[int, typer.Option("--replicas", "-r", help="How many pods it has.")] = 1,
    requests: RequestsOption = None,
    limits: LimitsOption = None,
    scheduler: Annotated[
        str, typer.Option("--scheduler", "-S", help="The scheduler of its pods.")
    ] = "volcano",
    server: ServerFlags,
) -> None:
    """Run a job, from flags or from a file."""
    with failing_as("run job"):
        if filename is not None:
            made = run_file(server.access, filename, namespace)
        else:
            usual = amounts(AMOUNTS)
            job = PlainJob(
                name, namespace, image, replicas, minimum, requests or usual, limits or usual, "", scheduler
            )
            made = run_job(server.access, job)
    typer.echo(f"run job {made} successfully")


@vcctl_job_app.command("list")
@with_groups
def list_all(
    *,
    namespace: NamespaceOption = "default",
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", help="Of all namespaces.")] = False,
    queue: Annotated[
        str, typer.Option("--queue", "-q", help="Only jobs of this queue.", autocompletion=names_of(Queue))
    ] = "",
    scheduler: Annotated[str, typer.Option("--scheduler", "-S", help="Only jobs of this scheduler.")] = "",
    selector: Annotated[
        str, typer.Option("--selector", help="Only jobs with this text in their names.")
    ] = "",
    server: ServerFlags,
) -> None:
    """Show jobs."""
    with failing_as("list jobs"):
        place = "" if all_namespaces else namespace
        list_jobs(server.access, place, queue=queue, scheduler=scheduler, substring=selector)


@vcctl_job_app.command()
@with_groups
def view(*, name: NameOption = "", namespace: NamespaceOption = "default", server: ServerFlags) -> None:
    """Show all of a job, and its events."""
    with failing_as("view job"):
        view_job(server.access, f"{namespace}/{named(name, 'view')}")


@vcctl_job_app.command()
@with_groups
def suspend(*, name: NameOption = "", namespace: NamespaceOption = "default", server: ServerFlags) -> None:
    """Suspend a job."""
    with failing_as("suspend job"):
        command_job(server.access, f"{namespace}/{named(name, 'suspend')}", "AbortJob")


@vcctl_job_app.command()
@with_groups
def resume(*, name: NameOption = "", namespace: NamespaceOption = "default", server: ServerFlags) -> None:
    """Resume a job."""
    with failing_as("resume job"):
        command_job(server.access, f"{namespace}/{named(name, 'resume')}", "ResumeJob")


@vcctl_job_app.command()
@with_groups
def delete(*, name: NameOption = "", namespace: NamespaceOption = "default", server: ServerFlags) -> None:
    """Delete a job."""
    with failing_as("delete job"):
        delete_job(server.access, f"{namespace}/{named(name, 'delete')}")
    typer.echo(f"delete job {name} successfully")
