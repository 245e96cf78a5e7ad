"""A cluster whose only node is this machine, for tests with real processes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from maar.embedded.cluster import Cluster
from maar.embedded.nodes.local import LocalNode, LocalNodeSettings
from maar.embedded.nodes.machine import this_machine
from maar.embedded.nodes.pod_logs import PodLogs
from maar.embedded.nodes.specification import register
from support.node_cluster import Fields, embedded, seen
from support.until import until

HERE = "here"


@asynccontextmanager
async def local(
    folder: Path,
    settings: LocalNodeSettings = LocalNodeSettings(),  # noqa: B008  it is frozen
) -> AsyncIterator[Cluster]:
    """A cluster in a folder, with this machine as its node."""
    with embedded(folder) as cluster:
        register(cluster, [this_machine(HERE, len(settings.devices.names))])
        kubelet = asyncio.create_task(LocalNode(cluster, folder, HERE, settings).run())
        try:
            yield cluster
        finally:
            kubelet.cancel()
            with suppress(asyncio.CancelledError):
                await kubelet


def shell(name: str, script: str, container: Fields | None = None, **spec: object) -> Fields:
    """A pod that runs a shell script; as everywhere in Kubernetes, a dollar in it is written $$."""
    one = {"name": "main", "image": "none", "command": ["sh", "-c", script], **(container or {})}
    return {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [one], **spec}}


async def status_with(cluster: Cluster, name: str, holds: Callable[[Fields], bool]) -> Fields:
    """Wait until something holds of the status of a pod."""
    await until(f"pod {name} stands otherwise", lambda: holds(seen(cluster, name)))
    return seen(cluster, name)


async def finished(cluster: Cluster, name: str) -> Fields:
    """Wait for the end of a pod."""
    return await status_with(cluster, name, lambda status: status["phase"] in ("Succeeded", "Failed"))


async def log(cluster: Cluster, folder: Path, name: str, **query: str) -> str:
    """What `kubectl logs` shows."""
    chunks = await PodLogs(cluster, folder).read("default", name, query)
    return b"".join([chunk async for chunk in chunks]).decode()


async def reported(cluster: Cluster, folder: Path, name: str) -> str:
    """Wait for a pod to run and say something."""
    await status_with(cluster, name, lambda status: status["phase"] != "Pending")
    logs = folder / "logs"
    await until(
        f"pod {name} says something", lambda: any(one.stat().st_size for one in logs.glob(f"*_{name}_*/*/*"))
    )
    return await log(cluster, folder, name)


def exit_of(status: Fields) -> Fields:
    """How the first container of a pod ended."""
    state: Fields = status["containerStatuses"][0]["state"]["terminated"]
    return state


async def dead(pid: int) -> None:
    """Wait for the end of a process."""
    await until(f"process {pid} has ended", lambda: not alive(pid))


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
