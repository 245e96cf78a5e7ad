"""`maar job list --start`: when jobs that wait will start, and how sure that is."""

import time
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, cast

import typer

from maar.cli.answers.present import read_present, seconds_of
from maar.cli.cluster.access import Access, on_cluster
from maar.cli.completion import NamespacesFlags
from maar.cli.job.flags import StartFlags
from maar.cli.tables import Document, Output, Rows, Scope, Table, data_text
from maar.cli.terminal import Terminal
from maar.core.answers.future import Start
from maar.core.answers.starts.ask import planned_starts
from maar.core.answers.starts.published import as_published, published_starts
from maar.core.answers.starts.rows import HEADINGS, WIDE, start_cells, start_data, wide_cells
from maar.core.model.kinds import from_document
from maar.core.views.job_rows import JOB_HEADINGS, JOB_WIDE, job_cells
from maar.core.views.job_summary import JobSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient


def list_with_starts(
    flags: StartFlags,
    place: NamespacesFlags,
    labels: str,
    keep: Callable[[JobSummary], bool],
    output: Output | None,
    access: Access,
) -> None:
    """Print jobs as `maar job list` does, with their planned starts."""
    limit = seconds_of("--within", flags.within) or inf

    async def read(cluster: "ClusterClient") -> tuple[Scope, list[Document]]:
        scope = Scope(place.of(cluster), labels)
        return scope, await cluster.all(JobSummary, scope.labels, scope.namespace)

    scope, documents = on_cluster(access, read)
    jobs = [(from_document(JobSummary, one), one) for one in documents]
    jobs = [(job, document) for job, document in jobs if keep(job)]
    if not jobs:
        typer.echo(
            "No jobs found" + (f" in namespace {scope.namespace}" if scope.namespace else ""), err=True
        )
        return
    present = read_present(None, flags.config, access)
    end = time.process_time() + limit  # on a busy machine the answer is the same, later
    with Terminal(stderr=True).status("working out planned starts"):
        starts = planned_starts(
            present,
            first=flags.first or None,
            groups={group_of(job) for job, _ in jobs},
            is_wanted=lambda: time.process_time() < end,
        )
        starts = as_published(starts, published_starts(present.objects), present.now)
    if time.process_time() >= end:
        typer.echo(f"note: looked for starts for {flags.within}; --within looks for longer", err=True)
    if output in ("json", "yaml"):
        typer.echo(
            data_text(
                [_with_start(one, starts.get(group_of(job))) for job, one in jobs], output, as_list=True
            )
        )
        return
    Rows(table_with(starts), [job for job, _ in jobs], output, with_namespace=not scope.namespace)


def table_with(starts: dict[str, Start]) -> Table[JobSummary]:
    """The table of jobs with two columns more; with what they wait for in a wide one."""

    def cells(job: JobSummary, now: float, wide: bool) -> list[str]:  # noqa: FBT001  # a column of Table
        start, row = starts.get(group_of(job)), job_cells(job, now, wide)
        at = len(JOB_HEADINGS)
        return [*row[:at], *start_cells(start), *row[at:], *(wide_cells(start) if wide else ())]

    return Table(JobSummary, (*JOB_HEADINGS, *HEADINGS), (*JOB_WIDE, *WIDE), cells, "STATUS")


def group_of(job: JobSummary) -> str:
    """The key of a job's pod group."""
    return f"{job.metadata.namespace}/{job.metadata.name}-{job.metadata.uid}"


def _with_start(document: Document, start: Start | None) -> Document:
    if start is None:
        return document
    status = cast("Document", document.get("status") or {})
    return {**document, "status": {**status, "plannedStart": start_data(start)}}
