"""Suspending and resuming Jobs of batch/v1: their own field, and the mark of those that Maar suspended."""

from typing import TYPE_CHECKING, Final, cast

import typer

from maar.cli.cluster.waiting import until
from maar.cli.failure import CommandError
from maar.core.model.kinds import from_document
from maar.core.model.workload import SUSPENDED_FOR_ANNOTATION, BatchJob

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

_DONE: Final = {True: "suspended", False: "resumed"}


async def change_batch_job(
    cluster: "ClusterClient", key: str, *, suspend: bool, wait: bool, dry_run: bool
) -> None:
    """Suspend or resume a Job; one that Maar has suspended stays so, or is resumed before its turn."""
    job = from_document(BatchJob, await cluster.get(BatchJob, key))
    name, done = f"job.batch/{job.metadata.name}", _DONE[suspend]
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
        await until(lambda: _is_reached(cluster, key, suspend=suspend))


def _refuse_owned(job: BatchJob, done: str) -> None:
    """Refuse a Job whose suspension somebody else decides: the change would not last."""
    owner = next((one for one in job.metadata.owner_references if one.controller), None)
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


async def _is_reached(cluster: "ClusterClient", key: str, *, suspend: bool) -> bool:
    """Whether the Job's controller has done what is wanted, or has nothing more to do."""
    document = await cluster.get(BatchJob, key)
    job, status = from_document(BatchJob, document), cast("dict[str, object]", document.get("status") or {})
    says_so = any(one.type == "Suspended" and one.status == "True" for one in job.status.conditions)
    has_pods = bool(status.get("active") or status.get("terminating"))
    return job.is_finished or (says_so and not has_pods if suspend else not says_so)
