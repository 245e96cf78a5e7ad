"""What the pods of a job print: each line with its pod where several print, and on as they print more."""

import asyncio
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from maar.cli.failure import CommandError, for_each
from maar.core.model.job import Job
from maar.core.model.kinds import from_document
from maar.core.views.job_summary import INDEX_LABEL, JOB_LABEL, TASK_LABEL, PodSummary

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


async def show_logs(
    cluster: "ClusterClient", key: str, flags: LogFlags, task: str = "", index: int | None = None
) -> None:
    """Print the logs of the pods of a job, or of some of them."""
    namespace, _, name = key.partition("/")
    job = from_document(Job, await cluster.get(Job, key))
    tasks = [each.name for each in job.spec.tasks]
    if task and task not in tasks:
        raise CommandError(f"job {key} has no task {task}; it has {', '.join(tasks)}")
    labels = pod_labels(name, task, index)
    if flags.follow:
        are_several = job.spec.replicas > 1 and index is None
        await _follow(cluster, key, labels, _Printer(cluster, flags, is_prefixed=are_several))
        return
    pods = sorted(await cluster.objects(PodSummary, namespace, labels), key=lambda pod: pod.order)
    if not pods:
        waits = job.status.state.message or f"maar job view {name} says why"
        raise CommandError(f"job {key} is {job.phase} and has no such pods: {waits}")
    for pod in pods:
        if pod.status.phase == "Pending":
            typer.echo(f"note: pod {pod.metadata.name} is Pending and has printed nothing yet", err=True)
    printer = _Printer(cluster, flags, is_prefixed=len(pods) > 1)
    await for_each([pod for pod in pods if pod.status.phase != "Pending"], printer.print_log)


async def _follow(cluster: "ClusterClient", key: str, labels: str, printer: "_Printer") -> None:
    """Follow every pod from its start, also those that are made later; end when the job has."""
    followed: dict[str, asyncio.Task[None]] = {}
    try:
        async with asyncio.TaskGroup() as tasks:
            is_over = False
            while not is_over:
                is_over = await _is_over(cluster, key)  # asked first: the last pods are then seen
                pods = await cluster.objects(PodSummary, key.partition("/")[0], labels)
                for pod in sorted(pods, key=lambda each: each.order):
                    if pod.metadata.uid not in followed and pod.status.phase != "Pending":
                        followed[pod.metadata.uid] = tasks.create_task(printer.print_readable_log(pod))
                if not is_over:
                    await asyncio.sleep(_BETWEEN_LOOKS_S)
    except* CommandError as group:
        raise group.exceptions[0] from None


async def _is_over(cluster: "ClusterClient", key: str) -> bool:
    """Whether a job will print no more: it has ended, or was deleted."""
    if not await cluster.exists(Job, key):
        return True
    return from_document(Job, await cluster.get(Job, key)).is_over


class _Printer:
    """Prints logs, line by line, each with its pod where there are several."""

    def __init__(self, cluster: "ClusterClient", flags: LogFlags, *, is_prefixed: bool) -> None:
        self._cluster, self._flags, self._is_prefixed = cluster, flags, is_prefixed
        self._seen = 0

    async def print_log(self, pod: PodSummary) -> None:
        """Print the log of a pod."""
        prefix = self._prefix(pod)
        async for line in self._cluster.log(pod.key, self._query(pod)):
            sys.stdout.buffer.write(prefix.encode() + line + b"\n")
            sys.stdout.buffer.flush()

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
        name = f"[{pod.metadata.name}]"
        return f"{typer.style(name, fg=style) if sys.stdout.isatty() else name} "

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
