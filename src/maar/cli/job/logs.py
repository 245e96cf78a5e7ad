"""What the pods of a job print: each line with its pod where several print, and on as they print more."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from maar.cli.failure import CommandError, for_each
from maar.core.model.kinds import from_document
from maar.core.views.job_summary import INDEX_LABEL, JOB_LABEL, TASK_LABEL, JobSummary, PodSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

_BETWEEN_LOOKS_S: Final = 1.0
_STYLES: Final = ("cyan", "green", "yellow", "magenta", "blue", "red")


@dataclass(frozen=True)
class LogFlags:
    """Which part of a log is shown."""

    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is printed, until the job ends.")
    ] = False
    tail: Annotated[int, typer.Option(help="Only the last lines of each pod; -1 shows all.")] = -1
    container: Annotated[
        str, typer.Option("--container", "-c", help="The container; the first unless set.")
    ] = ""
    timestamps: Annotated[bool, typer.Option("--timestamps", help="Each line with its time.")] = False
    previous: Annotated[
        bool, typer.Option("--previous", "-p", help="Of the run before the last restart of the container.")
    ] = False


def pod_labels(job: str, task: str = "", index: int | None = None) -> str:
    """Select the pods of a job, of one of its tasks, or one pod."""
    wanted = {JOB_LABEL: job, TASK_LABEL: task, INDEX_LABEL: "" if index is None else str(index)}
    return ",".join(f"{name}={value}" for name, value in wanted.items() if value)


async def show_logs(cluster: "ClusterClient", key: str, labels: str, flags: LogFlags) -> None:
    """Print the logs of the pods of a job."""
    namespace = key.partition("/")[0]
    job = from_document(JobSummary, await cluster.get(JobSummary, key))
    pods = sorted(await cluster.objects(PodSummary, namespace, labels), key=lambda pod: pod.order)
    printer = _Printer(cluster, flags, is_prefixed=len(pods) > 1 or (flags.follow and job.spec.replicas > 1))
    if flags.follow:
        await _follow(cluster, job, labels, printer)
    elif not pods:
        waits = job.status.state.message or f"maar job view {job.metadata.name} says why"
        raise CommandError(f"job {key} is {job.phase} and has no such pods: {waits}")
    else:
        started = [pod for pod in pods if pod.status.phase != "Pending"]
        for pod in pods:
            if pod not in started:
                typer.echo(f"note: pod {pod.metadata.name} is Pending and has printed nothing yet", err=True)
        await for_each(started, printer.print_log)


async def _follow(cluster: "ClusterClient", job: JobSummary, labels: str, printer: "_Printer") -> None:
    """Follow every pod from its start, also those that are made later; end when the job has."""
    followed: dict[str, asyncio.Task[None]] = {}
    async with asyncio.TaskGroup() as tasks:
        while True:
            ended = from_document(JobSummary, await cluster.get(JobSummary, job.key)).is_finished
            pods = await cluster.objects(PodSummary, job.metadata.namespace, labels)
            for pod in sorted(pods, key=lambda one: one.order):
                if pod.metadata.uid not in followed and pod.status.phase != "Pending":
                    followed[pod.metadata.uid] = tasks.create_task(printer.print_readable_log(pod))
            if ended or (pods and _are_over(pods) and all(task.done() for task in followed.values())):
                return  # what is still being read is read to its end
            await asyncio.sleep(_BETWEEN_LOOKS_S)


def _are_over(pods: Sequence[PodSummary]) -> bool:
    """Whether no pod that was asked for will print more; a restart makes others, under new uids."""
    return all(pod.status.phase in ("Succeeded", "Failed") for pod in pods)


class _Printer:
    """Prints logs, line by line, each with its pod where there are several."""

    def __init__(self, cluster: "ClusterClient", flags: LogFlags, *, is_prefixed: bool) -> None:
        self._cluster, self._flags, self._is_prefixed = cluster, flags, is_prefixed
        self._seen = 0

    async def print_log(self, pod: PodSummary) -> None:
        """Print the log of a pod."""
        prefix = self._prefix(pod)
        async for line in self._cluster.log(pod.key, self._query(pod)):
            typer.echo(prefix + line.decode("utf-8", "replace"))

    async def print_readable_log(self, pod: PodSummary) -> None:
        """Print the log of a pod; where it cannot be read, say so and go on with others."""
        try:
            await self.print_log(pod)
        except CommandError as error:
            typer.echo(f"warning: {error}", err=True)

    def _prefix(self, pod: PodSummary) -> str:
        if not self._is_prefixed:
            return ""
        style = _STYLES[self._seen % len(_STYLES)]
        self._seen += 1
        return typer.style(f"[{pod.metadata.name}]", fg=style) + " "

    def _query(self, pod: PodSummary) -> dict[str, str]:
        flags, containers = self._flags, pod.spec.containers
        container = flags.container or (containers[0].name if containers else "")
        query = {
            "container": container,
            "follow": "true" if flags.follow else "",
            "tailLines": str(flags.tail) if flags.tail >= 0 else "",
            "timestamps": "true" if flags.timestamps else "",
            "previous": "true" if flags.previous else "",
        }
        return {name: value for name, value in query.items() if value}
