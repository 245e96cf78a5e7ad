"""Suspending and resuming jobs: Volcano's by a Command, those of batch/v1 by their own field."""

from typing import TYPE_CHECKING, Final, NamedTuple, cast

import typer

from maar.cli.bus_commands import CommandAction, create_command
from maar.cli.cluster.access import until
from maar.cli.failure import CommandError
from maar.cli.tables import title
from maar.core.model.job import Job
from maar.core.model.kinds import from_document
from maar.core.model.workload import SUSPENDED_FOR_ANNOTATION, BatchJob

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient


class Suspension(NamedTuple):
    """The action of a Command, and what is printed when it was created."""

    action: CommandAction
    done: str


SUSPEND: Final = Suspension("AbortJob", "suspended")
RESUME: Final = Suspension("ResumeJob", "resumed")

_SUSPENDED: Final = ("Aborting", "Aborted")


async def change_suspension(
    cluster: "ClusterClient", key: str, wanted: Suspension, *, wait: bool, dry_run: bool
) -> None:
    """Suspend or resume a job; one that is so already is left as it is."""
    if not await cluster.exists(Job, key) and await cluster.exists(BatchJob, key):
        await _change_batch_job(cluster, key, suspend=wanted is SUSPEND, wait=wait, dry_run=dry_run)
        return
    document = await cluster.get(Job, key)
    job = from_document(Job, document)
    name = title(Job, job.metadata.name)
    if job.is_over:
        again = f"run it again: maar job delete {job.metadata.name}, then maar job run"
        raise CommandError(f"job {job.key} is {job.phase} and cannot be {wanted.done}; {again}")
    is_suspended = job.phase in _SUSPENDED
    if is_suspended == (wanted is SUSPEND):
        typer.echo(f"{name} unchanged")
        return
    await create_command(cluster, Job, document, wanted.action, dry_run=dry_run)
    typer.echo(f"{name} {wanted.done}{' (server dry run)' if dry_run else ''}")
    if wait and not dry_run:
        await until(lambda: _is_reached(cluster, key, wanted))


async def _is_reached(cluster: "ClusterClient", key: str, wanted: Suspension) -> bool:
    job = from_document(Job, await cluster.get(Job, key))
    if job.is_over:
        return True
    return job.phase == "Aborted" if wanted is SUSPEND else job.phase not in _SUSPENDED


async def _change_batch_job(
    cluster: "ClusterClient", key: str, *, suspend: bool, wait: bool, dry_run: bool
) -> None:
    """Suspend or resume a Job; one that Maar has suspended stays so, or resumes before its turn."""
    job = from_document(BatchJob, await cluster.get(BatchJob, key))
    name, done = f"job.batch/{job.metadata.name}", "suspended" if suspend else "resumed"
    if job.is_finished:
        raise CommandError(
            f"job {key} of batch/v1 is finished and cannot be {done}; delete it and create it again"
        )
    _refuse_owned(job, done)
    is_marked = SUSPENDED_FOR_ANNOTATION in job.metadata.annotations
    if job.spec.suspend == suspend and not is_marked:
        typer.echo(f"{name} unchanged")
        return
    notes = {"annotations": {SUSPENDED_FOR_ANNOTATION: None}} if is_marked else {}
    change = {"metadata": {"uid": job.metadata.uid, **notes}, "spec": {"suspend": suspend}}
    await cluster.change(BatchJob, key, change, dry_run=dry_run)
    typer.echo(f"{name} {done}{' (server dry run)' if dry_run else ''}")
    if wait and not dry_run:
        await until(lambda: _is_batch_job_reached(cluster, key, suspend=suspend))


def _refuse_owned(job: BatchJob, done: str) -> None:
    """Refuse a Job whose suspension somebody else decides: the change would not last."""
    owner = next((each for each in job.metadata.owner_references if each.controller), None)
    subject = f"job {job.key} of batch/v1"
    if owner is not None and owner.kind != "CronJob":
        raise CommandError(
            f"{subject} belongs to {owner.kind} {owner.name}, whose controller would undo that; "
            f"{owner.kind} {owner.name} itself has to be {done}"
        )
    if job.spec.managed_by not in ("", "kubernetes.io/job-controller"):
        raise CommandError(
            f"{subject} is run by {job.spec.managed_by} (spec.managedBy) and not by Kubernetes; "
            f"use that to have it {done}"
        )


async def _is_batch_job_reached(cluster: "ClusterClient", key: str, *, suspend: bool) -> bool:
    """Whether the Job's controller has done what is wanted, or has nothing more to do."""
    document = await cluster.get(BatchJob, key)
    job, status = from_document(BatchJob, document), cast("dict[str, object]", document.get("status") or {})
    says_so = any(each.type == "Suspended" and each.status == "True" for each in job.status.conditions)
    has_pods = bool(status.get("active") or status.get("terminating"))
    return job.is_finished or (says_so and not has_pods if suspend else not says_so)
