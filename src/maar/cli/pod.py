"""`maar pod`: the pods of jobs and queues."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from maar.cli.completion import names_of
from maar.cli.job.flags import QueueOption
from maar.cli.kind_commands import ListFlags, add_list
from maar.cli.tables import LabelsOption, OutputOption, ShownKind, WatchOption
from maar.core.model.job import Job
from maar.core.views.job_rows import POD_HEADINGS, POD_WIDE, pod_cells
from maar.core.views.job_summary import JOB_LABEL, QUEUE_LABEL, PodSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

PODS: Final = ShownKind(PodSummary, "pod", POD_HEADINGS, POD_WIDE, pod_cells, "STATUS", "ContainerCreating")

pod_app: Final = typer.Typer(help="Pods of jobs and queues.", no_args_is_help=True)


@dataclass(frozen=True)
class PodListFlags(ListFlags):
    """Of which job or queue."""

    job: Annotated[
        str, typer.Option("--job", "-j", help="Only pods of this job.", autocompletion=names_of(Job))
    ] = ""
    queue: QueueOption = ""
    labels: LabelsOption = ""
    output: OutputOption = None
    watch: WatchOption = False

    @property
    def selector(self) -> str:
        """The labels of the pods of jobs, and those that are asked for."""
        job, queue = (self.job and f"{JOB_LABEL}={self.job}"), (self.queue and f"{QUEUE_LABEL}={self.queue}")
        return ",".join(filter(None, (self.labels, job, queue))) or JOB_LABEL

    async def check(self, cluster: "ClusterClient", namespace: str) -> None:
        """Refuse a queue or a job that does not exist."""
        if self.queue:
            await cluster.check_queue(self.queue)
        if self.job:
            await cluster.check_job(namespace, self.job)


@pod_app.callback()
def _pods() -> None:
    """Pods of jobs and queues."""


add_list(pod_app, PODS, "Show the pods of jobs: of one job, of a queue, or of all.", PodListFlags)
