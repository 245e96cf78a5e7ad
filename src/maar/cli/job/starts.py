"""`maar job list --start`: when jobs that wait will start, and how sure that is."""

import time
from math import inf
from typing import TYPE_CHECKING, cast

import typer

from maar.cli.answers.present import read_present, seconds_of
from maar.cli.cluster.access import Access, on_cluster
from maar.cli.completion import NamespacesFlags
from maar.cli.job.flags import JobListFlags
from maar.cli.tables import Document, Rows, ShownKind, data_text
from maar.cli.terminal import Terminal
from maar.cli.views import group_of
from maar.core.answers.future import Start
from maar.core.answers.starts.ask import planned_starts
from maar.core.answers.starts.published import as_published, published_starts
from maar.core.answers.starts.rows import HEADINGS, WIDE, start_cells, start_data, wide_cells
from maar.core.model.job import Job
from maar.core.model.kinds import from_document
from maar.core.views.job_rows import JOB_HEADINGS, JOB_WIDE, job_cells

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient


def list_with_starts(flags: JobListFlags, place: NamespacesFlags, access: Access) -> None:
    """Print jobs as `maar job list` does, with their planned starts."""
    limit = seconds_of("--within", flags.within) or inf

    async def read(cluster: "ClusterClient") -> tuple[str, list[Document]]:
        namespace = place.of(cluster)
        await flags.check(cluster, namespace)
        return namespace, await cluster.all(Job, flags.labels, namespace)

    namespace, documents = on_cluster(access, read)
    jobs = [(from_document(Job, document), document) for document in documents]
    jobs = [(job, document) for job, document in jobs if flags.keep(job)]
    if not jobs:
        typer.echo("No jobs found" + (f" in namespace {namespace}" if namespace else ""), err=True)
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
    if flags.output in ("json", "yaml"):
        data = [_with_start(document, starts.get(group_of(job))) for job, document in jobs]
        typer.echo(data_text(data, flags.output, as_list=True))
        return
    Rows(table_with(starts), [job for job, _ in jobs], flags.output, with_namespace=not namespace)


def table_with(starts: dict[str, Start]) -> ShownKind[Job]:
    """The table of jobs with two columns more; with what they wait for in a wide one."""

    def cells(job: Job, now: float, wide: bool) -> list[str]:  # noqa: FBT001  # a column of Table
        start, row = starts.get(group_of(job)), job_cells(job, now, wide)
        at = len(JOB_HEADINGS)
        return [*row[:at], *start_cells(start), *row[at:], *(wide_cells(start) if wide else ())]

    return ShownKind(Job, "job", (*JOB_HEADINGS, *HEADINGS), (*JOB_WIDE, *WIDE), cells, "STATUS")


def _with_start(document: Document, start: Start | None) -> Document:
    if start is None:
        return document
    status = cast("Document", document.get("status") or {})
    return {**document, "status": {**status, "plannedStart": start_data(start)}}
