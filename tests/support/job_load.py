"""People who run jobs, let their pods fail, have them evicted and give orders, and count what they did."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from maar.core.controllers.jobs.pods import JOB_NAME, JOB_VERSION, RESTARTS
from maar.core.model.job import FINISHED_JOBS, Command, Job, JobStatus
from maar.core.model.metadata import Object
from maar.core.model.pod import Pod
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Conflict, Done, Gone, Outcome
from maar.kube.paths import PODS, resource_path_of
from maar.kube.write import create, delete, evict, patch_status
from support.following import Follower, following
from support.load_history import Change
from support.until import until, until_async

T = TypeVar("T", bound=Object)

PAUSE_S: Final = 0.05
NAMESPACE: Final = "default"
PODS_OF_JOB: Final = 3
STEPS: Final = ("fail", "fail two", "evict", "RestartJob", "suspend", "suspend shortly")
ENDS: Final = ("succeed", "TerminateJob", "delete", "delete in the middle", "leave")


@dataclass(eq=False)
class Life:
    """A job, and what was done to it: how many retries that costs, how many restarts and ends it asks for."""

    name: str
    retries: int = 0
    kills: int = 0
    last: JobStatus | None = None  # as it was before it was deleted

    @property
    def key(self) -> str:
        """Where the job is."""
        return f"{NAMESPACE}/{self.name}"


@dataclass(eq=False)
class JobLoad:
    """Jobs under way, and what a watch says of them, their pods and the Commands to them."""

    server: ApiServer
    rng: random.Random
    lives: list[Life] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    is_over: bool = False

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """See what becomes of everything."""
        async with AsyncExitStack() as stack:
            kinds = (Job, Pod, Command)
            followers = [await stack.enter_async_context(following(self.server, one)) for one in kinds]
            for one in followers:
                await one.synced()
            self._jobs, self._pods, self._commands = followers
            yield

    async def one_after_another(self) -> None:
        """Run jobs until it is over; the last runs to its end."""
        while not self.is_over:
            await self._live(Life(f"job-{len(self.lives)}"))

    def unsettled(self) -> int:
        """How many jobs are on their way from one phase to another at this moment."""
        jobs = _all(Job, self._jobs)
        return sum(job.status.state.phase not in ("Running", *FINISHED_JOBS) for job in jobs)

    async def until_at_rest(self) -> None:
        """Wait until no Command is left and no pod is alive without a job that wants it."""
        await self._until("no Command is left", lambda: not self._commands.objects)
        await self._until("no orphan is alive", lambda: not self.orphans())

    def orphans(self) -> list[str]:
        """Pods that are alive though their job is gone or over, or that are held by nobody's finalizer."""
        wanted = {
            job.metadata.uid for job in _all(Job, self._jobs) if job.status.state.phase not in FINISHED_JOBS
        }
        return [
            pod.key
            for pod in _all(Pod, self._pods)
            if JOB_NAME in pod.metadata.labels
            and pod.metadata.owner_references[0].uid not in wanted
            and (pod.status.phase not in ("Succeeded", "Failed") or pod.is_terminating)
        ]

    def miscounted(self) -> list[str]:
        """Jobs whose status does not say what was done to them."""
        found = list[str]()
        for life in self.lives:
            status = life.last or self._status(life)
            if (status.retry_count, status.version) != (life.retries, life.kills):
                found.append(
                    f"{life.name}: {life.retries} retries and {life.kills} restarts and ends were asked for, "
                    f"and it has {status.retry_count} and {status.version}"
                )
        return found

    async def _live(self, life: Life) -> None:
        self.lives.append(life)
        document = _document(life.name)
        await _surely(lambda: create(self.server, resource_path_of(Job), life.key, document))
        for _ in range(self.rng.randint(1, 4)):
            await self._until_running(life)
            step = self.rng.choice(STEPS)
            self.done[step] += 1
            await self._do(life, step)
            await self._until(f"{step} is done", lambda: self._status(life).version >= life.kills, life)
        end = self.rng.choice(ENDS)
        if end != "delete in the middle":
            await self._until_running(life)
        self.done[end] += 1
        await self._end(life, end)

    async def _do(self, life: Life, step: str) -> None:
        pods = self.rng.sample(self._own(life), 2)
        life.kills += 1
        if step in ("fail", "fail two"):
            life.retries += 1
            for pod in pods[: 1 + (step == "fail two")]:
                await self._finish(pod, 1)
        elif step == "evict":
            await self._change(pods[0], lambda: evict(self.server, pods[0].key, uid=pods[0].metadata.uid))
        elif step == "RestartJob":
            life.retries += 1
            await self._order(life, step)
        else:
            await self._order(life, "AbortJob")
            if step == "suspend":
                await self._until_phase(life, "Aborted")
            life.kills += 1
            await self._order(life, "ResumeJob")

    async def _end(self, life: Life, end: str) -> None:
        if end == "succeed":
            for pod in self._own(life):
                await self._finish(pod, 0)
            await self._until_phase(life, "Completed")
        elif end == "TerminateJob":
            life.kills += 1
            await self._order(life, end)
            await self._until_phase(life, "Terminated")
        elif end.startswith("delete"):
            life.last = self._status(life)
            await _surely(lambda: delete(self.server, resource_path_of(Job), life.key))

    async def _until_running(self, life: Life) -> None:
        await self._until("it runs", lambda: self._runs(life), life)

    def _runs(self, life: Life) -> bool:
        own = self._own(life)
        status = self._status(life)
        return (
            status.state.phase == "Running"
            and [pod.status.phase for pod in own] == ["Running"] * PODS_OF_JOB
            and {pod.metadata.annotations[JOB_VERSION] for pod in own} == {str(status.version)}
        )

    async def _until_phase(self, life: Life, phase: str) -> None:
        await self._until(f"it is {phase}", lambda: self._status(life).state.phase == phase, life)

    async def _until(self, what: str, holds: Callable[[], bool], life: Life | None = None) -> None:
        await until(lambda: f"{what}. {self._described(life) if life else ''}", holds, PAUSE_S)

    def _described(self, life: Life) -> str:
        pods = [
            f"{pod.metadata.name} of version {pod.metadata.annotations.get(JOB_VERSION)}: {pod.status.phase}"
            f"{', terminating' * pod.is_terminating} {list(pod.metadata.finalizers)}"
            for pod in _all(Pod, self._pods)
            if pod.metadata.labels.get(JOB_NAME) == life.name
        ]
        orders = [key for key in self._commands.objects if key.startswith(f"{life.key}-")]
        return f"{life}; its status: {self._status(life)}; its pods: {pods}; Commands to it: {orders}"

    def _own(self, life: Life) -> list[Pod]:
        """The pods of a job that nobody has asked to go."""
        return [
            pod
            for pod in _all(Pod, self._pods)
            if pod.metadata.labels.get(JOB_NAME) == life.name and not pod.is_terminating
        ]

    def _status(self, life: Life) -> JobStatus:
        found = self._jobs.objects.get(life.key)
        return found.status if isinstance(found, Job) else JobStatus()

    async def _finish(self, pod: Pod, code: int) -> None:
        """Let the container of a pod end; one that has gone meanwhile stays gone."""
        state = {"terminated": {"exitCode": code}}
        container = {"name": "main", "image": "none", "imageID": "", "ready": False, "restartCount": 0}
        ended = {
            "phase": "Failed" if code else "Succeeded",
            "containerStatuses": [{**container, "state": state}],
        }
        await self._change(pod, lambda: patch_status(self.server, PODS, pod.key, ended, pod.metadata.uid))

    async def _change(self, pod: Pod, write: Callable[[], Awaitable[Outcome]]) -> None:
        """Do something to a pod until it is seen to be done."""

        def is_unchanged() -> bool:
            found = self._pods.objects.get(pod.key)
            if not isinstance(found, Pod) or found.metadata.uid != pod.metadata.uid:
                return False
            return found.status.phase == pod.status.phase and not found.is_terminating

        while is_unchanged():
            await write()
            await asyncio.sleep(PAUSE_S)

    async def _order(self, life: Life, action: str) -> None:
        found = self._jobs.objects[life.key].metadata
        target = {
            "apiVersion": Job.api_version,
            "kind": "Job",
            "name": found.name,
            "uid": found.uid,
            "controller": True,
        }
        name = f"{life.name}-{action.lower()}-{self.done.total()}"
        document = {
            "apiVersion": Command.api_version,
            "kind": "Command",
            "metadata": {"name": name, "namespace": NAMESPACE, "ownerReferences": [target]},
            "target": target,
            "action": action,
        }
        self.done[f"Command {action}"] += 1
        key = f"{NAMESPACE}/{name}"
        await _surely(lambda: create(self.server, resource_path_of(Command), key, document))


def made_twice(changes: Iterable[Change]) -> list[str]:
    """Pods that were created more than once for the same run of a job."""
    made = Counter(
        (one.object.metadata.name, notes.get(JOB_VERSION), notes.get(RESTARTS))
        for one in changes
        if one.type == "ADDED" and JOB_VERSION in (notes := one.object.metadata.annotations)
    )
    assert made
    return [f"{name} of version {version}" for (name, version, _), times in made.items() if times > 1]


def _document(name: str) -> dict[str, object]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    }
    policy = {"events": ["PodFailed", "PodEvicted"], "action": "RestartJob"}
    return {
        "apiVersion": Job.api_version,
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": PODS_OF_JOB,
            "maxRetry": 1000,
            "plugins": {"svc": []},
            "policies": [policy],
            "tasks": [{"name": "w", "replicas": PODS_OF_JOB, "template": template}],
        },
    }


def _all(kind: type[T], follower: Follower) -> list[T]:
    return [one for one in cast(Iterable[object], follower.objects.values()) if isinstance(one, kind)]


async def _surely(write: Callable[[], Awaitable[Outcome]]) -> None:
    """Write until it is done, or was: an API server that is short of time refuses some requests."""
    outcomes = list[Outcome]()

    async def is_done() -> bool:
        outcomes[:] = [await write()]
        return isinstance(outcomes[0], Done | Gone | Conflict)

    await until_async(lambda: f"it is written: {outcomes}", is_done, PAUSE_S)
