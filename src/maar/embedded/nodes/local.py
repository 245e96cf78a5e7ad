"""This machine as a node of the cluster: the containers of its pods are processes here."""

import asyncio
import logging
import shutil
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, cast

import msgspec

from maar.core.model.kinds import BadObjectError, from_json
from maar.core.model.node import Node
from maar.embedded.calls import metadata
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import part
from maar.embedded.lifecycle import time_text
from maar.embedded.nodes import volumes
from maar.embedded.nodes.cgroups import Cgroups
from maar.embedded.nodes.changes import Changes
from maar.embedded.nodes.containers import NodeRuntime
from maar.embedded.nodes.gpus import GPU, GPUS_ANNOTATION, Devices, Gpus, listed_gpus
from maar.embedded.nodes.kept_output import KeptOutput
from maar.embedded.nodes.local_pod import LocalPod, read_local_pod
from maar.embedded.nodes.machine import Processors, usable_cpus
from maar.embedded.nodes.node_capacity import NodeCapacity
from maar.embedded.nodes.pod_run import PodRun
from maar.embedded.nodes.reports import PODS, delete_stopped, pod_key, record_event, report
from maar.embedded.nodes.status import Standing
from maar.embedded.storage_problems import RETRY_AFTER_S, NotStoredError
from maar.embedded.store import Change, Key

_LOG: Final = logging.getLogger(__name__)
_A_WHILE: Final = 60.0  # seconds
_NOW_AND_THEN: Final = 3600.0  # seconds until output is looked through for what is too old
_OUTPUT_PAUSE: Final = 5.0  # seconds, so that a thousand pods that go cost a few passes


class LocalNodeSettings(NamedTuple):
    """What else a local node has and does."""

    devices: Devices = Devices()
    cgroups: Cgroups | None = None
    keeps_running: bool = False  # processes, when it is stopped; the next start finds them


class LocalNode:
    """Runs the pods that are bound to this machine, whose Node is in the cluster under a name."""

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        name: str,
        settings: LocalNodeSettings = LocalNodeSettings(),  # noqa: B008  it is frozen
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cluster, self._name, self._clock = cluster, name, clock
        self._mark = f'"nodeName":"{name}"'.encode()
        allocatable = from_json(Node, cluster.get("nodes", "", name)).status.allocatable
        self._runtime = NodeRuntime(
            cluster,
            folder.absolute(),
            allocatable,
            Processors(usable_cpus()),
            clock,
            Gpus(settings.devices),
            settings.cgroups,
            settings.keeps_running,
        )
        self._output = KeptOutput(folder.absolute() / "logs")
        self._output_kept = asyncio.Event()
        self._capacity = NodeCapacity(allocatable)
        self._changes = Changes(cluster.store, self._matters)
        self._folders: dict[Key, str] = {}
        self._alive = set[str]()  # these folders
        self._recalled = set[Key]()  # not looked at since the start
        self._runs: dict[Key, tuple[str, PodRun]] = {}
        self._tasks = set[asyncio.Task[None]]()

    async def run(self) -> None:
        """Run pods until cancelled; their processes end with this, unless they are to be kept running."""
        self._read_pods()
        self._spawn(self._keep_output())
        try:
            while True:
                while (key := self._changes.take()) is not None:
                    try:
                        self._look(key)
                    except NotStoredError:  # the store has logged it
                        await asyncio.sleep(RETRY_AFTER_S)
                        self._changes.add(key)
                    except Exception:  # noqa: BLE001  a bug that one pod shows must not stop the others
                        _LOG.exception("local node: pod %s/%s", key.namespace, key.name)
                await self._changes.wait(_A_WHILE)
        finally:
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    def _matters(self, change: Change) -> bool:
        return change.key.resource == PODS and self._mark in change.body

    def _read_pods(self) -> None:
        """Resume the pods of before, running ones first; remove the files of others."""
        pods = [
            pod
            for _, _, body in self._cluster.store.page(PODS, None)
            if self._mark in body and (pod := _read(body)) is not None and pod.spec.node_name == self._name
        ]
        for pod in sorted(pods, key=lambda one: one.status.start_time is None):
            self._remember(pod)
            self._recalled.add(pod_key(pod))
            self._changes.add(pod_key(pod))
        for folder in (self._runtime.folder / "pods").glob("*"):
            if folder.name not in self._alive:
                self._runtime.forget(folder.name)
        self._output_kept.set()

    def _remember(self, pod: LocalPod) -> None:
        self._folders[pod_key(pod)] = pod.folder_name
        self._alive.add(pod.folder_name)

    async def _keep_output(self) -> None:
        """Keep the output of pods that are gone within bounds."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_NOW_AND_THEN):
                    await self._output_kept.wait()
            self._output_kept.clear()
            try:
                await asyncio.to_thread(self._output.prune, self._alive, self._clock())
            except OSError as error:
                _LOG.warning("the output of pods that are gone cannot be looked after: %s", error)
            await asyncio.sleep(_OUTPUT_PAUSE)

    def _look(self, key: Key) -> None:
        """See what is to be done about a pod that has changed, or whose run has ended."""
        body = self._cluster.store.get(key)
        pod = None if body is None else _read(body)
        if key in self._runs:
            self._stop_where_due(pod, *self._runs[key])
            return
        if (old := self._folders.get(key)) and (pod is None or pod.folder_name != old):
            del self._folders[key]
            self._alive.discard(old)
            self._spawn(asyncio.to_thread(self._runtime.forget, old))
            self._output_kept.set()
        if pod is None or body is None or pod.spec.node_name != self._name:
            return
        is_first = key in self._recalled
        self._recalled.discard(key)
        if not (pod.is_terminating or pod.is_finished):
            self._take(key, pod, cast(Json, msgspec.json.decode(body)))
        elif is_first and self._runtime.has_processes(pod):
            self._take(key, pod, cast(Json, msgspec.json.decode(body)))
            self._changes.add(key)  # to be stopped
        elif pod.is_terminating and pod.metadata.deletion_grace_period_seconds:
            delete_stopped(self._cluster, pod)

    def _stop_where_due(self, pod: LocalPod | None, uid: str, run: PodRun) -> None:
        """Stop a run whose pod is gone, going or finished; `pod` has its key now."""
        if pod is None or pod.metadata.uid != uid:
            run.stop(0)
        elif pod.metadata.deletion_timestamp is not None:
            run.stop(pod.metadata.deletion_timestamp.timestamp() - self._clock())
        elif pod.is_finished:
            run.stop(pod.spec.termination_grace_period_seconds)

    def _take(self, key: Key, pod: LocalPod, value: Json) -> None:
        """Run a pod, or say why not."""
        shortage = None if pod.status.start_time else self._capacity.shortage(pod.request)
        if shortage is not None:
            self._refuse(pod, shortage.reason, f"Pod was rejected: {shortage.message}")
        elif problem := _without_command(pod) or volumes.unsupported(pod):
            self._refuse(pod, "CannotRunLocally", problem)
        elif problem := self._give_gpus(key, pod):
            self._remember(pod)
            self._runtime.forget(pod.folder_name)
            self._refuse(pod, "GPULost", problem)
        else:
            self._capacity.take(pod.metadata.uid, pod.request)
            run = PodRun(self._runtime, pod, part(value, "status"))
            self._runs[key] = pod.metadata.uid, run
            self._remember(pod)
            self._spawn(self._live(key, pod, run))

    def _give_gpus(self, key: Key, pod: LocalPod) -> str:
        """Give a pod its GPUs, after a restart those it had, and write down which; gives why not."""
        number, uid = pod.request.get(GPU, 0), pod.metadata.uid
        if not number:
            return ""
        if pod.status.start_time and (had := listed_gpus(pod)):
            return self._runtime.gpus.claim(uid, had)
        given = self._runtime.gpus.take(uid, number)
        if len(given) < number:
            return f"the pod asks for {number} GPUs, and fewer are free"

        def edited(value: Json) -> Json:
            meta = metadata(value)
            if meta.get("uid") != uid:
                return value
            named = {**part(meta, "annotations"), GPUS_ANNOTATION: ",".join(given)}
            return {**value, "metadata": {**meta, "annotations": named}}

        try:
            self._cluster.rewrite(PODS, key.namespace, key.name, edited)
        except BaseException:
            self._runtime.gpus.give_back(uid)
            raise
        return ""

    async def _live(self, key: Key, pod: LocalPod, run: PodRun) -> None:
        try:
            await run.live()
        except NotStoredError:  # the store has logged it; the pod is looked at again
            await asyncio.sleep(RETRY_AFTER_S)
        except Exception as error:  # noqa: BLE001  a bug that one pod shows must not stop the others
            _LOG.exception("local node: pod %s", pod.key)
            self._refuse(pod, "LocalNodeError", f"a bug in maar: {error}; its log says more")
        finally:
            self._capacity.give_back(pod.metadata.uid)
            self._runtime.gpus.give_back(pod.metadata.uid)
            del self._runs[key]
            self._changes.add(key)

    def _refuse(self, pod: LocalPod, reason: str, message: str) -> None:
        standing = Standing("Failed", reason=reason, message=message)
        report(self._cluster, pod_key(pod), pod.metadata.uid, standing, time_text(self._clock()))
        record_event(self._cluster, pod, "Warning", reason, message)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def end_processes(folder: Path) -> None:
    """End what an earlier server with this data folder left running: this one has no local node."""
    shutil.rmtree(folder / "pods", ignore_errors=True)  # supervisors see that their records are gone


def _read(body: bytes) -> LocalPod | None:
    try:
        return read_local_pod(body)
    except BadObjectError as error:
        _LOG.warning("local node: a pod cannot be read: %s", error)
        return None


def _without_command(pod: LocalPod) -> str:
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        if not container.command:
            return (
                f'container "{container.name}" has no command: the local node runs commands of this machine,'
                f" not images ({container.image}): set command"
            )
    return ""
