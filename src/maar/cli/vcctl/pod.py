"""`vcctl pod`: the pods of jobs in Volcano's columns."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from maar.cli.cluster.access import on_cluster
from maar.cli.completion import names_of
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups
from maar.cli.queue.vcctl import ServerFlags
from maar.cli.vcctl.failure import failing_as
from maar.cli.vcctl.job import NamespaceOption
from maar.core.model.kinds import from_document
from maar.core.model.queue import Queue
from maar.core.views.job_rows import pod_cells
from maar.core.views.job_summary import JOB_LABEL, QUEUE_LABEL, JobSummary, PodSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

_HEADINGS: Final = ("Name", "Ready", "Status", "Restart", "Age")
_BESIDE_VALUE: Final = 8
_BESIDE_HEADING: Final = 2

vcctl_pod_app: Final = typer.Typer(help="Pods, in Volcano's manner.", no_args_is_help=True)


@vcctl_pod_app.callback()
def _pods() -> None:
    """Pods, in Volcano's manner."""


@vcctl_pod_app.command("list")
@with_groups
def list_all(
    *,
    job: Annotated[
        str, typer.Option("--job", "-j", help="Only pods of this job.", autocompletion=names_of(JobSummary))
    ] = "",
    queue: Annotated[
        str, typer.Option("--queue", "-q", help="Only pods of this queue.", autocompletion=names_of(Queue))
    ] = "",
    namespace: NamespaceOption = "default",
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", help="Of all namespaces.")] = False,
    server: ServerFlags,
) -> None:
    """Show the pods of jobs."""
    place = "" if all_namespaces else namespace

    async def work(cluster: "ClusterClient") -> list[PodSummary]:
        if job and queue and place:
            owner = from_document(JobSummary, await cluster.get(JobSummary, f"{place}/{job}"))
            if owner.spec.queue != queue:
                raise CommandError(f"job {job} is in queue {owner.spec.queue}, not in queue {queue}")
        labels = [f"{JOB_LABEL}={job}" if job else JOB_LABEL, f"{QUEUE_LABEL}={queue}" if queue else ""]
        return await cluster.objects(PodSummary, place, ",".join(filter(None, labels)))

    with failing_as("list pods"):
        found = on_cluster(server.access, work)
        pods = sorted(found, key=lambda pod: pod.key)
        table = pod_table(pods, time.time(), with_namespace=not place)
        typer.echo(table if pods else "No resources found")


def pod_table(pods: Sequence[PodSummary], now: float, *, with_namespace: bool) -> str:
    """Volcano's columns: each as wide as its longest value and eight more, or its heading and two more."""
    headings = ("Namespace", *_HEADINGS) if with_namespace else _HEADINGS
    rows = [[pod.metadata.namespace] * with_namespace + pod_cells(pod, now, False) for pod in pods]
    widths = [
        max(len(heading) + _BESIDE_HEADING, *(len(row[place]) + _BESIDE_VALUE for row in rows), 0)
        for place, heading in enumerate(headings)
    ]
    return "\n".join(
        "".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in (headings, *rows)
    )
