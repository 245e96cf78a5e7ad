"""What Volcano's job commands do, for `vcctl job` and for vsub, vjobs and the others."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from maar.cli.bus_commands import CommandAction, create_command
from maar.cli.cluster.access import Access, on_cluster
from maar.cli.failure import CommandError
from maar.cli.job.document import PlainJob
from maar.cli.submission import Submission, read_submissions, submit
from maar.cli.vcctl.describe import describe
from maar.cli.vcctl.job_table import job_table
from maar.core.views.job_summary import EventSummary, JobSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

_ENDINGS: Final = (".yaml", ".yml")


def run_file(access: Access, file: Path, namespace: str) -> str:
    """Make the one job of a file in a namespace; give its name."""
    if not any(ending in file.name for ending in _ENDINGS):
        raise CommandError(f"only support yaml file, not {file}; name a file that ends in .yaml")
    found = read_submissions([file], (JobSummary,), "vcctl job run")
    if len(found) > 1:
        raise CommandError(f"{file} has {len(found)} documents; maar job run -f takes several")
    written = found[0].document.get("metadata")
    metadata = {**written, "namespace": namespace} if isinstance(written, dict) else {}
    return _make(access, {**found[0].document, "metadata": metadata}, found[0].place)


def run_job(access: Access, job: PlainJob) -> str:
    """Make a job from flags; give its name."""
    if not job.name:
        raise CommandError("job name cannot be left blank")
    return _make(access, job.document())


def list_jobs(
    access: Access, namespace: str, *, queue: str = "", scheduler: str = "", substring: str = ""
) -> None:
    """Print jobs in Volcano's columns; `substring` is looked for in their names."""
    found = on_cluster(access, lambda cluster: cluster.objects(JobSummary, namespace))
    jobs = [
        job
        for job in found
        if queue in ("", job.spec.queue)
        and scheduler in ("", job.spec.scheduler_name)
        and substring in job.metadata.name
    ]
    typer.echo(job_table(jobs, with_namespace=not namespace) if jobs else "No resources found")


def view_job(access: Access, key: str, *, with_conditions: bool = True) -> None:
    """Print all of a job, and its events."""

    async def work(cluster: "ClusterClient") -> None:
        job = await cluster.get(JobSummary, key)
        namespace, _, name = key.partition("/")
        found = await cluster.objects(EventSummary, namespace, fields=f"involvedObject.name={name}")
        events = [one for one in found if one.involved_object.kind == "Job"]
        typer.echo(describe(job, events, time.time(), with_conditions=with_conditions))

    on_cluster(access, work)


def command_job(access: Access, key: str, action: CommandAction) -> None:
    """Create a Command for a job."""

    async def work(cluster: "ClusterClient") -> None:
        await create_command(cluster, JobSummary, await cluster.get(JobSummary, key), action)

    on_cluster(access, work)


def delete_job(access: Access, key: str) -> None:
    """Delete a job."""
    on_cluster(access, lambda cluster: cluster.delete(JobSummary, key))


def _make(access: Access, document: dict[str, object], place: str = "") -> str:
    async def work(cluster: "ClusterClient") -> str:
        made = await submit(cluster, Submission(JobSummary, document, place), "", dry_run=False)
        metadata = made.get("metadata")
        return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""

    return on_cluster(access, work)
