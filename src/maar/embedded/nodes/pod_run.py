"""One pod on this machine, from its first process to its last."""

import asyncio
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Final, cast

from maar.core.model.resources import CPU
from maar.embedded.calls import text
from maar.embedded.failures import Json
from maar.embedded.lifecycle import time_text
from maar.embedded.nodes import volumes
from maar.embedded.nodes.container_supervisor import RunRequest
from maar.embedded.nodes.containers import Container, NodeRuntime
from maar.embedded.nodes.environment import MissingError
from maar.embedded.nodes.local_pod import LocalContainer, LocalPod
from maar.embedded.nodes.pod_addresses import LOOPBACK, pod_address
from maar.embedded.nodes.processes import KILLED, Ending, Process
from maar.embedded.nodes.reports import pod_key, record_event, report
from maar.embedded.nodes.script import wait_before
from maar.embedded.nodes.status import Standing, running, waiting
from maar.embedded.storage_problems import RETRY_AFTER_S, NotStoredError

_LOOK_AGAIN: Final = 1.0  # seconds until something that was missing is looked for again
_POLL: Final = 0.1  # seconds in which a shorter grace is noticed
_WITH_THE_SERVER: Final = 2.0  # seconds for processes to end when the server is stopped
_SERVER_STOPPED: Final = "the process was ended when maar up was stopped"


class PodRun:
    """Runs the containers of a pod; `status` is what the server knew of it when it started last."""

    def __init__(self, runtime: NodeRuntime, pod: LocalPod, status: Json) -> None:
        self._runtime, self._pod = runtime, pod
        self._init = _containers(pod.spec.init_containers, status, "initContainerStatuses")
        self._main = _containers(pod.spec.containers, status, "containerStatuses")
        for container in (*self._init, *self._main):
            container.recall(runtime.records(pod, container.spec.name), self._now())
        self._initialized = text(status, "phase") == "Running"
        taken = pod.status.start_time
        self._taken = taken.timestamp() if taken else runtime.clock()
        self._paths: dict[str, Path] = {}
        self._stopped = asyncio.Event()
        self._unpublished: tuple[str, str, str] | None = None
        self._kill_at = math.inf  # in the time of the event loop

    def stop(self, grace: float) -> None:
        """End the pod within so many seconds; called again, it can only get shorter."""
        self._kill_at = min(self._kill_at, asyncio.get_running_loop().time() + grace)
        self._stopped.set()

    async def live(self) -> None:
        """Run until the pod has ended or is to end; afterwards no process of it is left."""
        self._publish()
        run, stopped = asyncio.create_task(self._live()), asyncio.create_task(self._stopped.wait())
        try:
            await asyncio.wait((run, stopped), timeout=self._time_left(), return_when=asyncio.FIRST_COMPLETED)
            expired = not run.done() and not stopped.done()
            await _cancelled(run, stopped)
            self.stop(self._pod.spec.termination_grace_period_seconds)
            await self._end_processes()
        except asyncio.CancelledError:
            await _cancelled(run, stopped)
            if self._runtime.keeps_running:
                for container in (*self._init, *self._main):
                    container.release()
            else:
                self.stop(_WITH_THE_SERVER)
                await self._end_processes(Ending(KILLED, "ServerStopped", _SERVER_STOPPED))
                self._publish()
            raise
        if expired:
            message = "Pod was active on the node longer than the specified deadline"
            self._publish("Failed", "DeadlineExceeded", message)
        else:
            self._publish(self._outcome())
        while self._unpublished is not None:  # else it would be taken for one that has not run
            await asyncio.sleep(RETRY_AFTER_S)
            self._publish_again()
        if not run.cancelled():
            run.result()

    async def _live(self) -> None:
        """Prepare the volumes, then run the containers of the pod to their ends."""
        await self._prepare()
        async with asyncio.TaskGroup() as beside:
            sidecars: list[asyncio.Task[int]] = []
            for container in self._init:
                if container.is_sidecar:
                    sidecars.append(beside.create_task(self._keep(container)))
                    await container.attempted.wait()
                elif await self._keep(container):
                    break
            else:
                self._initialized = True
                async with asyncio.TaskGroup() as together:
                    for container in self._main:
                        together.create_task(self._keep(container))
            for sidecar in sidecars:
                sidecar.cancel()

    async def _prepare(self) -> None:
        """Fill the volumes, and say where containers find them."""
        while True:
            try:
                self._paths = volumes.prepare(
                    self._runtime.cluster, self._pod, self._runtime.files(self._pod) / "volumes"
                )
                break
            except MissingError as error:
                self._wait_for(self._init or self._main, str(error))
                await asyncio.sleep(_LOOK_AGAIN)
        for container in (*self._init, *self._main):
            if message := volumes.explained(container.spec):
                record_event(self._runtime.cluster, self._pod, "Normal", "VolumesOffered", message)
        if self._init and not self._initialized:
            for container in self._main:
                container.state = waiting("PodInitializing")

    async def _keep(self, container: Container) -> int:
        """Run a container until it has ended for good; gives its exit code."""
        if container.process is not None:
            await self._attend_found(container, container.process)
        while True:
            code = container.exit_code
            if code is not None:
                if not self._again(container, code):
                    return code
                await self._back_off(container)
            await self._run(container)

    async def _run(self, container: Container) -> None:
        """Run a container once."""
        run_request = await self._run_request(container)
        run_request["cpus"] = self._runtime.processors.take(container.spec.resources.limits.get(CPU, 0))
        if self._runtime.cgroups is not None:
            name = f"{self._pod.metadata.uid}-{container.spec.name}-{container.restarts}"
            run_request["cgroup"] = self._runtime.cgroups.make(name, container.spec.resources.limits)
        try:
            container.process = Process.start(run_request)
            await self._attend(container, container.process)
        finally:
            self._runtime.processors.give_back(run_request["cpus"])

    async def _attend_found(self, container: Container, process: Process) -> None:
        """Go on with a run that an earlier server has started."""
        self._runtime.processors.claim(process.cpus)
        try:
            if not process.ended.done():
                message = f"found {container.spec.name} running after a restart of maar up"
                record_event(self._runtime.cluster, self._pod, "Normal", "Found", message)
            await self._attend(container, process)
        finally:
            self._runtime.processors.give_back(process.cpus)

    async def _attend(self, container: Container, process: Process) -> None:
        """Report the start of a run, and its end when that has come."""
        started_at = self._runtime.clock()
        if await asyncio.shield(process.started):
            if "running" not in container.state:
                container.state = running(self._now())
                message = f"Started {container.spec.name}"
                record_event(self._runtime.cluster, self._pod, "Normal", "Started", message)
            self._publish()
        container.attempted.set()
        ending = await asyncio.shield(process.ended)
        container.ran = self._runtime.clock() - started_at
        container.end(ending, self._now())
        if ending.reason:
            message = f"{container.spec.name}: {ending.message or ending.reason}"
            record_event(self._runtime.cluster, self._pod, "Warning", "Failed", message)
        self._publish()

    async def _run_request(self, container: Container) -> RunRequest:
        """What to run, as soon as everything for it is there."""
        while True:
            try:
                folders = volumes.offered(container.spec, self._paths)
                return container.run_request(self._runtime, self._pod, folders)
            except MissingError as error:
                self._wait_for([container], str(error))
                await asyncio.sleep(_LOOK_AGAIN)

    async def _back_off(self, container: Container) -> None:
        wait = wait_before(container.restarts + 1, container.ran)
        if "terminated" in container.state:
            container.last = container.state
        if wait:
            meta = self._pod.metadata
            message = (
                f"back-off {wait:g}s restarting failed container={container.spec.name}"
                f" pod={meta.name}_{meta.namespace}({meta.uid})"
            )
            container.state = waiting("CrashLoopBackOff", message)
            self._publish()
            await asyncio.sleep(wait)
        container.restarts += 1

    def _again(self, container: Container, code: int) -> bool:
        """Whether a container that ended is started again."""
        policy = self._pod.spec.restart_policy
        if container.is_sidecar:
            return True
        if policy == "Always" and container in self._main:
            return True
        return policy != "Never" and code != 0

    async def _end_processes(self, instead: Ending | None = None) -> None:
        """SIGTERM now, SIGKILL when the grace is over; take note of how each ended, or of `instead`."""
        loop = asyncio.get_running_loop()
        alive = {
            container.process.ended: container.process
            for container in (*self._init, *self._main)
            if container.process is not None and not container.process.ended.done()
        }
        for process in alive.values():
            process.terminate()
        while alive:
            left = self._kill_at - loop.time()
            if left <= 0:
                for process in alive.values():
                    process.kill()
                await asyncio.wait(alive)
                break
            done, _ = await asyncio.wait(alive, timeout=min(left, _POLL))
            alive = {ended: process for ended, process in alive.items() if ended not in done}
        for container in (*self._init, *self._main):
            if "running" in container.state and container.process is not None:
                container.end(instead or container.process.ended.result(), self._now())

    def _wait_for(self, containers: Iterable[Container], what: str) -> None:
        """Report that containers cannot start yet."""
        for container in containers:
            container.state = waiting("CreateContainerConfigError", what)
        self._publish()

    def _outcome(self) -> str:
        started = [container for container in self._init if not container.is_sidecar] + self._main
        return "Succeeded" if all(container.exit_code == 0 for container in started) else "Failed"

    def _publish(self, phase: str = "", reason: str = "", message: str = "") -> None:
        """Write the status of the pod."""
        started_at = self._initialized and any(
            "waiting" not in container.state or container.last for container in self._main
        )
        standing = Standing(
            phase or ("Running" if started_at else "Pending"),
            [container.status(self._pod) for container in self._main],
            [container.status(self._pod) for container in self._init],
            self._initialized,
            reason,
            message,
            pod_address(self._pod),
            LOOPBACK,
        )
        self._unpublished = None
        try:
            report(self._runtime.cluster, pod_key(self._pod), self._pod.metadata.uid, standing, self._now())
        except NotStoredError:  # the store has logged it
            self._unpublished = phase, reason, message
            asyncio.get_running_loop().call_later(RETRY_AFTER_S, self._publish_again)

    def _publish_again(self) -> None:
        if self._unpublished is not None:
            self._publish(*self._unpublished)

    def _time_left(self) -> float | None:
        limit = self._pod.spec.active_deadline_seconds
        return None if limit is None else max(0.0, self._taken + limit - self._runtime.clock())

    def _now(self) -> str:
        return time_text(self._runtime.clock())


def _containers(specs: Iterable[LocalContainer], status: Json, field: str) -> list[Container]:
    known = {text(one, "name"): one for one in cast(list[Json], status.get(field) or [])}
    return [Container(spec, known.get(spec.name, {})) for spec in specs]


async def _cancelled(*tasks: asyncio.Task[object]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
