"""The walks through the scheduler and the controllers: one pod, one queue, one job."""

import asyncio
from collections.abc import Callable
from typing import Final

from maar.apps.controllers import ControllerRunner, controllers
from maar.apps.scheduler.scheduler import Scheduler
from maar.core.engine import Engine
from server_in_memory import Document, ServerInMemory, Target, run_in_virtual_time, until_at_rest
from walks import Call, Recorder

QUEUES: Final = "queues.scheduling.volcano.sh"
_REPLICAS: Final = 2


def one_pod() -> list[Call]:
    """From the watch event of a pod to its bind."""
    bind = ("POST", Target("pods", "a", "measured", "binding"))

    def happen(server: ServerInMemory) -> None:
        server.put("pods", pod("measured"))

    return run_in_virtual_time(_walk(_scheduler, happen, bind))


def one_queue() -> list[Call]:
    """From the update of a queue to the write of its status."""
    status = ("PATCH", Target(QUEUES, "", "a", "status"))

    def happen(server: ServerInMemory) -> None:
        server.change(QUEUES, "", "a", {"spec": {"capability": {"cpu": "1"}}})

    return run_in_virtual_time(_walk(_scheduler, happen, status))


def one_job() -> list[Call]:
    """From the watch event of a job to the creation of its last pod."""
    last = ("POST", Target("pods", "a"))

    def happen(server: ServerInMemory) -> None:
        server.put("jobs.batch.volcano.sh", job())

    return run_in_virtual_time(_walk(_controllers, happen, last, times=_REPLICAS))


async def _walk(
    run: Callable[[ServerInMemory], asyncio.Task[None]],
    happen: Callable[[ServerInMemory], None],
    last: tuple[str, Target],
    times: int = 1,
) -> list[Call]:
    """Bring a program to rest, let something happen, and note all calls until the last write."""
    recorder, seen = Recorder(), list[tuple[str, Target]]()

    def on_write(method: str, target: Target) -> None:
        seen.append((method, target))
        if seen.count(last) == times:
            recorder.stop()

    async with ServerInMemory(on_write) as server:
        for resource, document in cluster():
            server.put(resource, document)
        running = run(server)
        await until_at_rest()
        seen.clear()
        happen(server)
        recorder.start()
        try:
            await until_at_rest()
        finally:
            recorder.stop()
        running.cancel()
        await asyncio.wait([running])
    if seen.count(last) < times:
        raise RuntimeError(f"{last} was not written, but {seen}")
    return recorder.calls


def _scheduler(server: ServerInMemory) -> asyncio.Task[None]:
    return asyncio.create_task(Scheduler(server, Engine()).run())


def _controllers(server: ServerInMemory) -> asyncio.Task[None]:
    return asyncio.create_task(ControllerRunner(server, controllers()).run())


def cluster() -> list[tuple[str, Document]]:
    """Three nodes, two queues, and a group that runs beside one whose pod is still to come."""
    size = {"cpu": "1", "pods": "10"}
    ready = [{"type": "Ready", "status": "True"}]
    nodes = [
        ("nodes", {"metadata": {"name": f"n-{number}"}, "status": {"allocatable": size, "conditions": ready}})
        for number in range(3)
    ]
    queues = [(QUEUES, {"metadata": {"name": name}, "spec": {"weight": 1}}) for name in ("a", "b", "default")]
    groups = [("podgroups.scheduling.volcano.sh", group(name)) for name in ("before", "measured")]
    namespace: Document = {"metadata": {"name": "a"}}
    return [("namespaces", namespace), *nodes, *queues, *groups, ("pods", pod("before"))]


def group(name: str) -> Document:
    """A group of one pod that has been admitted."""
    metadata = {"name": name, "namespace": "a"}
    return {
        "metadata": metadata,
        "spec": {"minMember": 1, "queue": "a"},
        "status": {"phase": "Inqueue"},
    }


def pod(name: str) -> Document:
    """A pod that waits."""
    annotations = {"scheduling.k8s.io/group-name": name}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "500m"}}}
    return {
        "metadata": {"name": name, "namespace": "a", "annotations": annotations},
        "spec": {"schedulerName": "volcano", "containers": [container]},
        "status": {"phase": "Pending"},
    }


def job() -> Document:
    """A job of a few pods."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "500m"}}}
    task = {"name": "worker", "replicas": _REPLICAS, "template": {"spec": {"containers": [container]}}}
    return {
        "metadata": {"name": "measured", "namespace": "a"},
        "spec": {"queue": "a", "minAvailable": _REPLICAS, "tasks": [task]},
    }
