"""Pod creates and binds per second: the embedded API server beside a real kube-apiserver in the same run."""

import asyncio
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import aiohttp
import msgspec

from maar.kube.credentials import load

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.control_plane import ControlPlane, find_binaries

SERVER = Path(__file__).parents[1] / "tests" / "support" / "embedded_server.py"
PODS = 3_000
CONNECTIONS = 32
ROUNDS = 3
PATH = "/api/v1/namespaces/default/pods"


def pod(name: str) -> bytes:
    """A pod as batch users write them."""
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    container = {"name": "main", "image": "busybox:1", "command": ["sleep", "60"], "resources": resources}
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": {"app": "bench"},
                "annotations": {"scheduling.k8s.io/group-name": "group"},
            },
            "spec": {
                "schedulerName": "volcano",
                "containers": [container],
                "restartPolicy": "Never",
                "automountServiceAccountToken": False,
            },
        }
    )


def binding(name: str) -> bytes:
    """A binding of a pod to the one node."""
    target = {"apiVersion": "v1", "kind": "Node", "name": "node"}
    return msgspec.json.encode(
        {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    )


async def drive(kubeconfig: Path, first: int) -> tuple[float, float]:
    """Creates and binds per second, with a watcher that must have seen them all."""
    credentials = await load(kubeconfig)
    proofs = credentials.proofs
    connector = aiohttp.TCPConnector(limit=CONNECTIONS + 1, ssl=credentials.tls)
    headers = {"Authorization": str(proofs.authorization), "Content-Type": "application/json"}
    names = [f"p{number}" for number in range(first, first + PODS)]
    async with aiohttp.ClientSession(proofs.server, connector=connector, headers=headers) as session:
        seen = Watcher()
        watching = asyncio.create_task(seen.follow(session))
        await seen.connected.wait()
        creates = await timed(session, ((PATH, pod(name)) for name in names))
        binds = await timed(session, ((f"{PATH}/{name}/binding", binding(name)) for name in names))
        async with asyncio.timeout(30):
            await seen.all.wait()
        watching.cancel()
    return creates, binds


class Watcher:
    """Counts the changes that a watch tells of."""

    def __init__(self) -> None:
        self.count = 0
        self.connected, self.all = asyncio.Event(), asyncio.Event()

    async def follow(self, session: aiohttp.ClientSession) -> None:
        """Read changes until cancelled."""
        async with session.get(PATH) as answer:
            version = (await answer.json())["metadata"]["resourceVersion"]
        query = {"watch": "1", "resourceVersion": version}
        async with session.get(PATH, params=query, timeout=aiohttp.ClientTimeout()) as stream:
            self.connected.set()
            async for chunk in stream.content.iter_any():
                self.count += chunk.count(b"\n")
                if self.count >= 2 * PODS:
                    self.all.set()


async def timed(session: aiohttp.ClientSession, requests: Iterator[tuple[str, bytes]]) -> float:
    """Requests per second over all connections."""
    begin = time.perf_counter()
    done = 0

    async def worker() -> None:
        nonlocal done
        for path, body in requests:
            async with session.post(path, data=body) as answer:
                text = await answer.read()
                if answer.status != 201:  # noqa: PLR2004  created
                    raise RuntimeError(f"{path}: {answer.status} {text[:300]!r}")
                done += 1

    await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))
    return done / (time.perf_counter() - begin)


@contextmanager
def embedded() -> Iterator[Path]:
    """The embedded server in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(SERVER), folder, "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603  our own script
            cast(IO[bytes], process.stdout).readline()
            yield Path(folder) / "kubeconfig"
            process.send_signal(signal.SIGTERM)


@contextmanager
def real() -> Iterator[Path]:
    """A real control plane, as `make kubernetes` builds it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ControlPlane(Path(folder), api_server_flags={"disable-admission-plugins": "ServiceAccount"}) as plane,
    ):
        yield plane.kubeconfig


def main() -> None:
    """Measure both by turns, and print the medians."""
    if find_binaries() is None:
        print("embedded server: run make kubernetes first, the reference is a real kube-apiserver")
        return
    results: dict[str, list[tuple[float, float]]] = {"embedded": [], "real": []}
    with embedded() as ours, real() as theirs:
        for number in range(ROUNDS):
            for name, kubeconfig in (("embedded", ours), ("real", theirs)):
                results[name].append(asyncio.run(drive(kubeconfig, number * PODS)))
    for index, what in enumerate(("creates", "binds")):
        mine, other = (sorted(row[index] for row in results[name])[ROUNDS // 2] for name in results)
        ratio = f"{mine / other:.2f}x (target 1)"
        print(f"pod {what}: embedded {mine:,.0f}/s, kube-apiserver {other:,.0f}/s, {ratio}")


if __name__ == "__main__":
    main()
