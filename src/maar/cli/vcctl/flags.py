"""What Volcano's commands have in common: flags, finding a cluster, and how they fail."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from maar.api.errors import InputError
from maar.cli.cluster.access import Access
from maar.cli.completion import names_of
from maar.cli.failure import CommandError
from maar.cli.job.document import PlainJob
from maar.cli.queue.amounts import WrittenAmounts, amounts
from maar.core.model.job import Job
from maar.core.model.namespace import Namespace
from maar.core.model.queue import Queue

FAILED: Final = 255
NOTHING: Final = "No resources found"
_AMOUNTS: Final = "cpu=1000m,memory=100Mi"

NamespaceOption = Annotated[
    str, typer.Option("--namespace", "-n", help="The namespace.", autocompletion=names_of(Namespace))
]
AllNamespacesOption = Annotated[bool, typer.Option("--all-namespaces", help="Of all namespaces.")]
JobFileOption = Annotated[Path | None, typer.Option("--filename", "-f", help="A YAML file with one job.")]


@dataclass(frozen=True)
class ServerFlags:
    """How Volcano's commands find the cluster."""

    master: Annotated[str, typer.Option("--master", "-s", help="The address of the API server.")] = ""
    kubeconfig: Annotated[
        Path | None,
        typer.Option("--kubeconfig", "-k", help="The kubeconfig; $KUBECONFIG or the user's own unless set."),
    ] = None

    @property
    def access(self) -> Access:
        """The cluster as other commands know it."""
        return Access(self.kubeconfig, server=self.master)


@dataclass(frozen=True)
class SizeFlags:
    """How many pods a job has, and what each asks for."""

    minimum: Annotated[int, typer.Option("--min", "-m", help="How many pods start together.")] = 1
    replicas: Annotated[int, typer.Option("--replicas", "-r", help="How many pods it has.")] = 1
    requests: Annotated[
        WrittenAmounts | None,
        typer.Option("--requests", "-R", parser=amounts, metavar=_AMOUNTS, help="What each pod asks for."),
    ] = None
    limits: Annotated[
        WrittenAmounts | None,
        typer.Option(
            "--limits", "-L", parser=amounts, metavar=_AMOUNTS, help="What each pod may use at most."
        ),
    ] = None

    def job(  # what flags say of a job
        self,
        name: str,
        namespace: str,
        image: str,
        scheduler: str,
        *,
        queue: str = "",
        command: Sequence[str] = (),
    ) -> PlainJob:
        """A job of this size."""
        requests, limits = (given or amounts(_AMOUNTS) for given in (self.requests, self.limits))
        return PlainJob(
            name, namespace, image, self.replicas, self.minimum, requests, limits, queue, scheduler, command
        )


@dataclass(frozen=True)
class JobFilters:
    """Which jobs are shown."""

    queue: Annotated[
        str, typer.Option("--queue", "-q", help="Only jobs of this queue.", autocompletion=names_of(Queue))
    ] = ""
    scheduler: Annotated[str, typer.Option("--scheduler", "-S", help="Only jobs of this scheduler.")] = ""
    selector: Annotated[str, typer.Option("--selector", help="Only jobs with this text in their names.")] = ""

    def keep(self, job: Job) -> bool:
        """Whether a job is shown."""
        return (
            self.queue in ("", job.spec.queue)
            and self.scheduler in ("", job.spec.scheduler_name)
            and self.selector in job.metadata.name
        )


@contextmanager
def failing_as(what: str) -> Iterator[None]:
    """Give failures Volcano's words and exit code; `what` is the verb and the noun."""
    try:
        yield
    except InputError as error:
        for sentence in error.sentences:
            typer.echo(f"Failed to {what}: {sentence}" if what else f"Failed to: {sentence}", err=True)
        raise typer.Exit(FAILED) from None


def key_of(name: str, namespace: str, verb: str) -> str:
    """The key of a job, whose name Volcano's commands take as a flag."""
    if not name:
        raise CommandError(f"job name is mandatory to {verb} a particular job")
    return f"{namespace}/{name}"
