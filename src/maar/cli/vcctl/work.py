"""What Volcano's job commands do, for `vcctl job` and for vsub, vjobs and the others."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from maar.cli.bus_commands import CommandAction, create_command
from maar.cli.cluster.access import Access, on_cluster
from maar.cli.failure import CommandError
from maar.cli.job.document import PlainJob
from maar.cli.submission import Submission, name_in, read_submissions, submit
from maar.cli.vcctl.columns import JOBS
from maar.cli.vcctl.describe import describe
from maar.cli.vcctl.flags import NOTHING, JobFilters
from maar.core.model.job import Job
from maar.core.model.metadata import Object
from maar.core.views.job_summary import EventSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

_ENDINGS: Final = (".yaml", ".yml")


def run_job(access: Access, job: PlainJob, file: Path | None) -> None:
    """Make the one job of a file, in the namespace of the flags, or the job that flags describe."""
    if file is not None:
        made = _make(access, _job_in(file, job.namespace))
    elif job.name:
        made = _make(access, Submission(Job, job.document()))
    else:
        raise CommandError("job name cannot be left blank")
    typer.echo(f"run job {made} successfully")


def list_jobs(access: Access, namespace: str, filters: JobFilters) -> None:
    """Print jobs in Volcano's columns."""
    jobs = on_cluster(access, lambda cluster: cluster.objects(Job, namespace))
    jobs = [job for job in jobs if filters.keep(job)]
    typer.echo(JOBS.table(jobs, with_namespace=not namespace) if jobs else NOTHING)


def view_job(access: Access, key: str, *, with_conditions: bool = True) -> None:
    """Print all of a job, and its events."""

    async def work(cluster: "ClusterClient") -> None:
        job = await cluster.get(Job, key)
        namespace, _, name = key.partition("/")
        events = await cluster.objects(EventSummary, namespace, fields=f"involvedObject.name={name}")
        events = [event for event in events if event.involved_object.kind == "Job"]
        typer.echo(describe(job, events, time.time(), with_conditions=with_conditions))

    on_cluster(access, work)


def suspend_job(access: Access, key: str) -> None:
    """Create the Command that suspends a job."""
    command(access, Job, key, "AbortJob")


def resume_job(access: Access, key: str) -> None:
    """Create the Command that resumes a job."""
    command(access, Job, key, "ResumeJob")


def command(access: Access, kind: type[Object], key: str, action: CommandAction) -> None:
    """Create a Command for an object, as Volcano's clients do; a controller carries it out."""

    async def work(cluster: "ClusterClient") -> None:
        await create_command(cluster, kind, await cluster.get(kind, key), action)

    on_cluster(access, work)


def delete_job(access: Access, key: str, *, verb: str) -> None:
    """Delete a job, and say so in the words of the command."""
    on_cluster(access, lambda cluster: cluster.delete(Job, key))
    typer.echo(f"{verb} job {key.partition('/')[2]} successfully")


def _job_in(file: Path, namespace: str) -> Submission:
    if not any(ending in file.name for ending in _ENDINGS):
        raise CommandError(f"only support yaml file, not {file}; name a file that ends in .yaml")
    submissions = read_submissions([file], (Job,), "vcctl job run")
    if len(submissions) > 1:
        raise CommandError(f"{file} has {len(submissions)} documents; maar job run -f takes several")
    job = submissions[0]
    written = job.document.get("metadata")
    metadata = {**written, "namespace": namespace} if isinstance(written, dict) else {}
    return Submission(Job, {**job.document, "metadata": metadata}, job.place)


def _make(access: Access, submission: Submission) -> str:
    return name_in(on_cluster(access, lambda cluster: submit(cluster, submission, "", dry_run=False)))
