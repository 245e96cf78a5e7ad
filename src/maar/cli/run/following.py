"""Following a job: why it waits, what its pods print, and how it ends."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import typer

from maar.cli.cluster.client import ClusterClient
from maar.cli.cluster.refusal import refusal_of_list
from maar.cli.entry import INTERRUPTED
from maar.cli.failure import FAILED, CommandError
from maar.cli.run.terminal import Interruption, OutputPrinter
from maar.core.controllers.jobs.dependencies import NO_SUCH_JOB
from maar.core.model.job import FINISHED_JOBS, Job
from maar.core.model.kinds import BadObjectError, from_document, from_json
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.reasons import Cure
from maar.core.views.job_summary import INDEX_LABEL, JOB_LABEL, ContainerEnd, PodSummary
from maar.kube.errors import ApiError, UnansweredError
from maar.kube.listing import objects
from maar.kube.outcome import Done, Gone, Unanswered
from maar.kube.paths import resource_path_of
from maar.kube.write import get

_OVER: Final = ("Succeeded", "Failed")
_NO_CODE: Final = 1  # of a pod that failed without ending by itself: it was refused or evicted
_LOOK_S: Final = 0.5
_CERTAIN_AFTER_S: Final = 3.0  # that a job can never run may be false for a moment, while nodes register


async def follow(cluster: ClusterClient, key: str, number: int, *, waits_anyway: bool) -> int:
    """Follow a job of so many pods to its end; gives the exit code of its command."""
    return await _Follower(cluster, key, number, waits_anyway=waits_anyway).follow()


class _Follower:
    """A job and its pods, looked at twice a second."""

    def __init__(self, cluster: ClusterClient, key: str, number: int, *, waits_anyway: bool) -> None:
        self._cluster, self._key, self._waits_anyway = cluster, key, waits_anyway
        self._in_vain_since: float | None = None
        self._namespace, _, self._name = key.partition("/")
        self._printer = OutputPrinter(cluster.server, self._namespace, prefixes=number > 1)
        self._streams: dict[str, asyncio.Task[None]] = {}  # by the uid of the pod
        self._pods: dict[str, PodSummary] = {}  # by name, as they were seen last
        self._said = ""
        self._interruption = Interruption()

    async def follow(self) -> int:
        """Follow it to its end, unless interrupted."""
        try:
            with self._interruption.listening():
                while True:
                    code = await self._look()
                    if code is not None:
                        return code
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_LOOK_S):
                            await self._interruption.came.wait()
                    if self._interruption.came.is_set() and (code := await self._ask()) is not None:
                        return code
        finally:
            for task in self._streams.values():
                task.cancel()

    async def _look(self) -> int | None:
        """See what has changed; gives the exit code once the job has ended."""
        try:
            job = await self._job()
            await self._look_at_pods()
        except UnansweredError as error:
            self._say(f"{error}; trying again")
            return None
        if job.phase not in FINISHED_JOBS:
            if any(has_started(pod) for pod in self._pods.values()):
                return None
            why = await self._why_it_waits(job)
            if why:
                self._say(f"waiting: {why}")
            return await self._give_up(why) if self._waits_in_vain(why) else None
        if self._streams:
            await self._wait_for_output()
        return self._end(job)

    async def _job(self) -> Job:
        outcome = await get(self._cluster.server, resource_path_of(Job), self._key)
        match outcome:
            case Done(body=body):
                return from_json(Job, body)
            case Gone():
                raise CommandError(f"job {self._name} was deleted while it was followed")
            case Unanswered(message=message):
                raise UnansweredError(message, may_be_done=False)
        return from_document(
            Job, await self._cluster.get(Job, self._key)
        )  # it is refused again, with a sentence

    async def _look_at_pods(self) -> None:
        server, labels = self._cluster.server, f"{JOB_LABEL}={self._name}"
        try:
            pods = await objects(server, PodSummary, _pass_over, namespace=self._namespace, labels=labels)
        except ApiError as error:
            raise refusal_of_list(error, Pod) from None
        for pod in pods:
            name, uid = pod.metadata.name, pod.metadata.uid
            self._pods[name] = pod
            if has_started(pod) and uid not in self._streams:
                self._streams[uid] = asyncio.create_task(self._printer.follow(name))

    def _waits_in_vain(self, why: str) -> bool:
        """Whether the job can never run as things are, and not just for a moment."""
        if self._waits_anyway or not (Cure.NEVER in why or NO_SUCH_JOB in why):
            self._in_vain_since = None
            return False
        now = asyncio.get_running_loop().time()
        if self._in_vain_since is None:
            self._in_vain_since = now
        return now - self._in_vain_since >= _CERTAIN_AFTER_S

    async def _give_up(self, why: str) -> int:
        """Delete a job that would wait for ever."""
        await self._cluster.delete(Job, self._key)
        typer.echo(
            f"error: job {self._name} cannot run and was deleted: {why}\n"
            + ("Name another job" if NO_SUCH_JOB in why else "Ask for less")
            + ", or add --wait-anyway to keep it waiting until the cluster changes.",
            err=True,
        )
        return FAILED

    async def _why_it_waits(self, job: Job) -> str:
        """Why nothing runs yet, in the words of the job or of the scheduler."""
        group = f"{self._namespace}/{self._name}-{job.metadata.uid}"
        outcome = await get(self._cluster.server, resource_path_of(PodGroup), group)
        why = why_not_scheduled(from_json(PodGroup, outcome.body)) if isinstance(outcome, Done) else ""
        return why if Cure.NEVER in why else job.status.state.message or why

    async def _wait_for_output(self) -> None:
        """Let the last words be printed; Ctrl-C need not wait for them."""
        came = asyncio.create_task(self._interruption.came.wait())
        everything = asyncio.gather(*self._streams.values())
        await asyncio.wait((came, everything), return_when=asyncio.FIRST_COMPLETED)
        came.cancel()

    def _end(self, job: Job) -> int:
        failed, message = first_failure(self._pods.values()), job.status.state.message
        if failed is not None:
            if last_words := message_of(failed):
                typer.echo(f"pod {failed.metadata.name}: {last_words}", err=True)
            return exit_code_of(failed) or FAILED
        if job.phase == "Completed":
            return 0
        typer.echo(f"job {self._name} is {job.phase}{f': {message}' if message else ''}", err=True)
        return FAILED

    async def _ask(self) -> int | None:
        """Ask what to do about the job after Ctrl-C; gives an exit code where this ends."""
        self._printer.may_print.clear()
        answer = await self._interruption.ask()
        self._printer.may_print.set()
        if answer == "cancel":
            await self._cluster.delete(Job, self._key)
            typer.echo(f"job {self._name} is cancelled", err=True)
            return INTERRUPTED
        if answer == "detach":
            typer.echo(f"job {self._name} goes on; maar job logs {self._name} shows its output", err=True)
            return 0
        typer.echo(f"watching job {self._name} again", err=True)
        return None

    def _say(self, sentence: str) -> None:
        if sentence != self._said:
            self._said = sentence
            typer.echo(sentence, err=True)


def has_started(pod: PodSummary) -> bool:
    """Whether something of a pod runs, or has run."""
    states = [container.state for container in pod.status.container_statuses]
    is_running = any(state.running is not None for state in states)
    return is_running or bool(_ends(pod)) or pod.status.phase in _OVER


def exit_code_of(pod: PodSummary) -> int | None:
    """The exit code of a pod; None while it has none."""
    codes = filter(None, (end.exit_code for end in _ends(pod)))
    return next(codes, {"Succeeded": 0, "Failed": _NO_CODE}.get(pod.status.phase))


def message_of(pod: PodSummary) -> str:
    """What a pod says about its end."""
    said = [end.message for end in _ends(pod) if end.message]
    said += [end.reason for end in _ends(pod) if end.reason in ("OOMKilled", "Lost")]
    return pod.status.message or "; ".join(said)


def first_failure(pods: Iterable[PodSummary]) -> PodSummary | None:
    """The pod that failed, of several the one with the lowest index."""
    failed = [pod for pod in pods if exit_code_of(pod)]
    return min(failed, key=lambda pod: (_index(pod), pod.metadata.name), default=None)


def why_not_scheduled(group: PodGroup) -> str:
    """What a pod group waits for, in the scheduler's words."""
    waits = [each.message for each in group.status.conditions if each.type == "Unschedulable"]
    return waits[-1] if waits else ""


def _ends(pod: PodSummary) -> list[ContainerEnd]:
    ends = (container.state.terminated for container in pod.status.container_statuses)
    return [end for end in ends if end is not None]


def _index(pod: PodSummary) -> int:
    label = pod.metadata.labels.get(INDEX_LABEL) or pod.metadata.name.rpartition("-")[2]
    return int(label) if label.isdecimal() else 0


def _pass_over(_error: BadObjectError) -> None:
    """A pod that cannot be read is not followed."""
