"""Volcano's short programs vsub, vjobs, vcancel, vsuspend and vresume: -n is a name and -N a namespace."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from maar.cli.completion import names_of
from maar.cli.failure import CommandError
from maar.cli.job.document import PlainJob
from maar.cli.option_groups import with_groups
from maar.cli.queue.amounts import amounts
from maar.cli.queue.vcctl import ServerFlags
from maar.cli.vcctl.failure import failing_as, named
from maar.cli.vcctl.job import AMOUNTS, LimitsOption, RequestsOption
from maar.cli.vcctl.work import command_job, delete_job, list_jobs, run_file, run_job, view_job
from maar.core.model.namespace import Namespace
from maar.core.model.queue import Queue
from maar.core.views.job_summary import JobSummary

_IMAGE: Final = "VOLCANO_DEFAULT_IMAGE"
_SCHEDULER: Final = "VOLCANO_SCHEDULER_NAME"
_NAMESPACE: Final = "VOLCANO_DEFAULT_JOB_NAMESPACE"

NameOption = Annotated[
    str, typer.Option("--name", "-n", help="The name of the job.", autocompletion=names_of(JobSummary))
]
NamespaceOption = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-N",
        help=f"The namespace; ${_NAMESPACE} or default unless set.",
        autocompletion=names_of(Namespace),
    ),
]


@dataclass(frozen=True)
class JobFlags:
    """Which job is meant."""

    name: NameOption = ""
    namespace: NamespaceOption = ""

    def key(self, verb: str) -> str:
        """The key of the job."""
        return f"{self.place}/{named(self.name, verb)}"

    @property
    def place(self) -> str:
        """The namespace."""
        return self.namespace or os.environ.get(_NAMESPACE, "") or "default"


@with_groups
def vsub(  # noqa: PLR0913  # the flags of the command
    *,
    filename: Annotated[
        Path | None, typer.Option("--filename", "-f", help="A YAML file with one job.")
    ] = None,
    image: Annotated[
        str, typer.Option("--image", "-i", help=f"The image; ${_IMAGE} or busybox unless set.")
    ] = "",
    minimum: Annotated[int, typer.Option("--min", "-m", help="How many pods start together.")] = 1,
    replicas: Annotated[int, typer.Option("--replicas", "-r", help="How many pods it has.")] = 1,
    requests: RequestsOption = None,
    limits: LimitsOption = None,
    scheduler: Annotated[
        str, typer.Option("--scheduler", "-S", help=f"The scheduler; ${_SCHEDULER} or volcano unless set.")
    ] = "",
    queue: Annotated[
        str, typer.Option("--queue", "-q", help="The queue.", autocompletion=names_of(Queue))
    ] = "",
    command: Annotated[str, typer.Option("--command", "-c", help="The command, in a shell's words.")] = "",
    job: JobFlags,
    server: ServerFlags,
) -> None:
    """Run a job, from flags or from a file."""
    with failing_as(""):
        if filename is not None:
            made = run_file(server.access, filename, job.place)
        else:
            usual = amounts(AMOUNTS)
            plain = PlainJob(
                job.name,
                job.place,
                image or os.environ.get(_IMAGE, "") or "busybox",
                replicas,
                minimum,
                requests or usual,
                limits or usual,
                queue,
                scheduler or os.environ.get(_SCHEDULER, "") or "volcano",
                _words(command),
            )
            made = run_job(server.access, plain)
    typer.echo(f"run job {made} successfully")


@with_groups
def vjobs(
    *,
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", help="Of all namespaces.")] = False,
    queue: Annotated[
        str, typer.Option("--queue", "-q", help="Only jobs of this queue.", autocompletion=names_of(Queue))
    ] = "",
    scheduler: Annotated[str, typer.Option("--scheduler", "-S", help="Only jobs of this scheduler.")] = "",
    selector: Annotated[
        str, typer.Option("--selector", help="Only jobs with this text in their names.")
    ] = "",
    job: JobFlags,
    server: ServerFlags,
) -> None:
    """Show jobs, or all of one."""
    with failing_as(""):
        if job.name:
            view_job(server.access, job.key("view"), with_conditions=False)
        else:
            place = "" if all_namespaces else job.place
            list_jobs(server.access, place, queue=queue, scheduler=scheduler, substring=selector)


@with_groups
def vcancel(*, job: JobFlags, server: ServerFlags) -> None:
    """Cancel a job: it is deleted."""
    with failing_as(""):
        delete_job(server.access, job.key("cancel"))
    typer.echo(f"cancel job {job.name} successfully")


@with_groups
def vsuspend(*, job: JobFlags, server: ServerFlags) -> None:
    """Suspend a job."""
    with failing_as(""):
        command_job(server.access, job.key("suspend"), "AbortJob")


@with_groups
def vresume(*, job: JobFlags, server: ServerFlags) -> None:
    """Resume a job."""
    with failing_as(""):
        command_job(server.access, job.key("resume"), "ResumeJob")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise CommandError(
            f"the command {command!r} cannot be split into words: {error}; close its quotes"
        ) from None
