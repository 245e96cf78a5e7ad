"""Suspending and resuming jobs: a Command for each, and what is said of jobs that it does not concern."""

from typing import TYPE_CHECKING, Final, NamedTuple

import typer

from maar.cli.cluster.waiting import until
from maar.cli.failure import CommandError
from maar.cli.orders import Order, give_order
from maar.cli.tables import title
from maar.core.model.kinds import from_document
from maar.core.views.job_summary import SUSPENDED, JobSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient


class JobOrder(NamedTuple):
    """An order, and the words for it."""

    order: Order
    verb: str
    done: str


SUSPEND: Final = JobOrder("AbortJob", "suspend", "suspended")
RESUME: Final = JobOrder("ResumeJob", "resume", "resumed")


async def order_job(
    cluster: "ClusterClient", key: str, wanted: JobOrder, *, wait: bool, dry_run: bool
) -> None:
    """Suspend or resume a job; one that is so already is left as it is."""
    document = await cluster.get(JobSummary, key)
    job = from_document(JobSummary, document)
    name = title(JobSummary, job.metadata.name)
    if job.is_finished:
        again = f"run it again: maar job delete {job.metadata.name}, then maar job run"
        raise CommandError(f"job {job.key} is {job.phase} and cannot be {wanted.done}; {again}")
    is_suspended = job.phase in SUSPENDED
    if is_suspended == (wanted is SUSPEND):
        typer.echo(f"{name} unchanged")
        return
    await give_order(cluster, JobSummary, document, wanted.order, dry_run=dry_run)
    typer.echo(f"{name} {wanted.done}{' (server dry run)' if dry_run else ''}")
    if wait and not dry_run:
        await until(lambda: _is_reached(cluster, key, wanted))


async def _is_reached(cluster: "ClusterClient", key: str, wanted: JobOrder) -> bool:
    job = from_document(JobSummary, await cluster.get(JobSummary, key))
    if job.is_finished:
        return True
    return job.phase == "Aborted" if wanted is SUSPEND else job.phase not in SUSPENDED
