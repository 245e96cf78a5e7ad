"""Suspending and resuming jobs: a Command for each, and what is printed of jobs that it does not concern."""

from typing import TYPE_CHECKING, Final, NamedTuple

import typer

from maar.cli.bus_commands import CommandAction, create_command
from maar.cli.cluster.waiting import until
from maar.cli.failure import CommandError
from maar.cli.job.batch_jobs import change_batch_job
from maar.cli.tables import title
from maar.core.model.kinds import from_document
from maar.core.model.workload import BatchJob
from maar.core.views.job_summary import SUSPENDED, JobSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient


class Suspension(NamedTuple):
    """The action of a Command, and what is printed when it was created."""

    action: CommandAction
    done: str


SUSPEND: Final = Suspension("AbortJob", "suspended")
RESUME: Final = Suspension("ResumeJob", "resumed")


async def change_suspension(
    cluster: "ClusterClient", key: str, wanted: Suspension, *, wait: bool, dry_run: bool
) -> None:
    """Suspend or resume a job; one that is so already is left as it is."""
    if not await cluster.exists(JobSummary, key) and await cluster.exists(BatchJob, key):
        await change_batch_job(cluster, key, suspend=wanted is SUSPEND, wait=wait, dry_run=dry_run)
        return
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
    await create_command(cluster, JobSummary, document, wanted.action, dry_run=dry_run)
    typer.echo(f"{name} {wanted.done}{' (server dry run)' if dry_run else ''}")
    if wait and not dry_run:
        await until(lambda: _is_reached(cluster, key, wanted))


async def _is_reached(cluster: "ClusterClient", key: str, wanted: Suspension) -> bool:
    job = from_document(JobSummary, await cluster.get(JobSummary, key))
    if job.is_finished:
        return True
    return job.phase == "Aborted" if wanted is SUSPEND else job.phase not in SUSPENDED
