"""Volcano's short programs vsub, vjobs, vcancel, vsuspend and vresume: -n is a name and -N a namespace."""

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final

import typer

from maar.cli.cluster.access import Access
from maar.cli.completion import names_of
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups
from maar.cli.vcctl.flags import (
    AllNamespacesOption,
    JobFileOption,
    JobFilters,
    ServerFlags,
    SizeFlags,
    failing_as,
    key_of,
)
from maar.cli.vcctl.work import delete_job, list_jobs, resume_job, run_job, suspend_job, view_job
from maar.core.model.job import Job
from maar.core.model.namespace import Namespace
from maar.core.model.queue import Queue

_IMAGE: Final = "VOLCANO_DEFAULT_IMAGE"
_SCHEDULER: Final = "VOLCANO_SCHEDULER_NAME"
_NAMESPACE: Final = "VOLCANO_DEFAULT_JOB_NAMESPACE"

NameOption = Annotated[
    str, typer.Option("--name", "-n", help="The name of the job.", autocompletion=names_of(Job))
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
        return key_of(self.name, self.place, verb)

    @property
    def place(self) -> str:
        """The namespace."""
        return self.namespace or os.environ.get(_NAMESPACE, "") or "default"


@with_groups
def vsub(  # noqa: PLR0913  # the flags of the command
    *,
    filename: JobFileOption = None,
    image: Annotated[
        str, typer.Option("--image", "-i", help=f"The image; ${_IMAGE} or busybox unless set.")
    ] = "",
    size: SizeFlags,
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
        plain = size.job(
            job.name,
            job.place,
            image or os.environ.get(_IMAGE, "") or "busybox",
            scheduler or os.environ.get(_SCHEDULER, "") or "volcano",
            queue=queue,
            command=_words(command) if filename is None else (),
        )
        run_job(server.access, plain, filename)


@with_groups
def vjobs(
    *,
    all_namespaces: AllNamespacesOption = False,
    filters: JobFilters,
    job: JobFlags,
    server: ServerFlags,
) -> None:
    """Show jobs, or all of one."""
    with failing_as(""):
        if job.name:
            view_job(server.access, job.key("view"), with_conditions=False)
        else:
            list_jobs(server.access, "" if all_namespaces else job.place, filters)


def _program(verb: str, sentence: str, work: Callable[[Access, str], None]) -> Callable[..., None]:
    """A program that does something to one job."""

    def program(*, job: JobFlags, server: ServerFlags) -> None:
        with failing_as(""):
            work(server.access, job.key(verb))

    program.__doc__ = sentence
    return with_groups(program)


vcancel: Final = _program("cancel", "Cancel a job: it is deleted.", partial(delete_job, verb="cancel"))
vsuspend: Final = _program("suspend", "Suspend a job.", suspend_job)
vresume: Final = _program("resume", "Resume a job.", resume_job)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise CommandError(
            f"the command {command!r} cannot be split into words: {error}; close its quotes"
        ) from None
