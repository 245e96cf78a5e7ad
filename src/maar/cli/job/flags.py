"""The flags of the job commands, each declared once."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

import typer

from maar.cli.cluster.access import Access
from maar.cli.completion import NamespacesFlags, names_of
from maar.cli.kind_commands import ListFlags
from maar.cli.queue.amounts import WrittenAmounts, amounts
from maar.cli.tables import LabelsOption, OutputOption, ShownKind, WatchOption
from maar.core.model.job import Job, JobPhase
from maar.core.model.queue import Queue
from maar.core.views.job_summary import JOB_LABEL, QUEUE_LABEL

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

_AMOUNTS: Final = "cpu=4,memory=8Gi"
_FIRST: Final = 100  # jobs of each queue with planned starts
_WITHIN: Final = "1m"

NameArgument = Annotated[str, typer.Argument(help="The job.", autocompletion=names_of(Job))]
NamesArgument = Annotated[list[str] | None, typer.Argument(help="The jobs.", autocompletion=names_of(Job))]
NewNameArgument = Annotated[str, typer.Argument(help="The name of the new job.", show_default=False)]
QueueOption = Annotated[
    str, typer.Option("--queue", "-q", help="The queue.", autocompletion=names_of(Queue), show_default=False)
]


def _phase(text: str) -> str:
    """A phase of jobs, whatever its case."""
    phases: dict[str, str] = {phase.lower(): phase for phase in get_args(JobPhase)}
    if text and text.lower() not in phases:
        raise typer.BadParameter(f"{text!r} is not a phase of jobs; choose from {', '.join(phases.values())}")
    return phases.get(text.lower(), "")


PhaseOption = Annotated[
    str, typer.Option("--phase", parser=_phase, help="Only jobs in this phase, such as Running.")
]
ImageOption = Annotated[str, typer.Option("--image", "-i", help="The image of its pods.")]
ReplicasOption = Annotated[int, typer.Option("--replicas", "-r", min=1, help="How many pods it has.")]
MinimumOption = Annotated[
    int | None,
    typer.Option("--min", "-m", min=0, help="How many pods start together; all of them unless set."),
]
RequestsOption = Annotated[
    WrittenAmounts | None,
    typer.Option("--requests", "-R", parser=amounts, metavar=_AMOUNTS, help="What each pod asks for."),
]
LimitsOption = Annotated[
    WrittenAmounts | None,
    typer.Option("--limits", "-L", parser=amounts, metavar=_AMOUNTS, help="What each pod may use at most."),
]
SchedulerOption = Annotated[
    str, typer.Option("--scheduler", "-S", help="The scheduler of its pods; volcano unless set.")
]
CommandArgument = Annotated[
    list[str] | None, typer.Argument(help="The command that its pods run, after --.", show_default=False)
]
TaskOption = Annotated[str, typer.Option("--task", "-t", help="Only the pods of this task.")]
IndexOption = Annotated[int | None, typer.Option("--index", min=0, help="Only the pod with this index.")]


@dataclass(frozen=True)
class JobListFlags(ListFlags):
    """Which jobs, and whether with planned starts; of how many, and by which configuration."""

    queue: QueueOption = ""
    phase: PhaseOption = ""
    labels: LabelsOption = ""
    output: OutputOption = None
    watch: WatchOption = False
    start: Annotated[
        bool, typer.Option("--start", help="Show when jobs that wait will start, and how sure that is.")
    ] = False
    first: Annotated[
        int,
        typer.Option(min=0, help="With --start: of each queue so many jobs that wait, the first; 0: all."),
    ] = _FIRST
    within: Annotated[
        str,
        typer.Option(
            metavar="DURATION", help="With --start: look for starts for so long; 0: for as long as it takes."
        ),
    ] = _WITHIN
    config: Annotated[
        Path | None,
        typer.Option(help="With --start: the scheduler's configuration, in Volcano's grammar."),
    ] = None

    def keep(self, shown: Job) -> bool:
        """Whether a job is in the queue and the phase."""
        return self.queue in ("", shown.spec.queue) and self.phase in ("", shown.phase)

    async def check(self, cluster: "ClusterClient", namespace: str) -> None:  # noqa: ARG002  # in any namespace
        """Refuse a queue that does not exist."""
        if self.queue:
            await cluster.check_queue(self.queue)

    def show(self, shown: ShownKind[Any], place: NamespacesFlags, access: Access) -> None:
        """Print jobs, with their planned starts if they are asked for."""
        if self.start and self.watch:
            raise typer.BadParameter(
                "--start is worked out once; leave -w out, or watch kubectl get podgroups -w"
            )
        if self.start:
            from maar.cli.job.starts import list_with_starts  # noqa: PLC0415  # it simulates, and that takes long

            list_with_starts(self, place, access)
        elif (self.first, self.within, self.config) != (_FIRST, _WITHIN, None):
            raise typer.BadParameter("--first, --within and --config are for planned starts; add --start")
        else:
            super().show(shown, place, access)


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
