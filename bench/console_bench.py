"""The console on 1,000 queues and 10,000 jobs while 200 changes a second go on: memory, CPU, delays.

The embedded API server runs in a process of its own, without a scheduler, and so does
`maar console`. Objects are written by requests, and so is every change. The reference is a client
that watches the same objects in the same seconds and does nothing but decode them: what following a
cluster costs at least.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import aiohttp
import uvloop

from maar.apps.console.rights import WATCHED
from maar.core.model.job import Job
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.embedded.access import ADMINISTRATOR, certificate, token, write_kubeconfig
from maar.embedded.assembly import assemble
from maar.embedded.nodes.pod_logs import PodLogs
from maar.embedded.server import Server, serve
from maar.embedded.store import Store
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.paths import ResourcePath, resource_path_of
from maar.kube.watch import Watch
from maar.kube.write import create, patch
from maar.serving.listening import listen

Json = dict[str, Any]

QUEUES, JOBS, NODES = 1_000, 10_000, 200
VIEWERS = 10
TREE, EVERYTHING = "queues", "queues,jobs,nodes"
CHANGES_A_SECOND = 200
QUEUE_TURN = 3  # of four changes
SECONDS = 20.0
AT_A_TIME = 32
TICKS: Final = os.sysconf("SC_CLK_TCK")
ADDRESS: Final = re.compile(rb"https?://\S+")
GROUPS: Final = resource_path_of(PodGroup)
PODS: Final = resource_path_of(Pod)


def objects() -> Iterator[tuple[ResourcePath, str, Json]]:
    """A cluster: a tree of queues, and jobs with a pod group and a pod each."""
    for number in range(QUEUES):
        parent = f"team-{number // 20 * 20}"
        spec = {"weight": number % 7 + 1, **({"parent": parent} if number % 20 else {})}
        yield resource_path_of(Queue), *_named(Queue, f"team-{number}", spec)
    for number in range(NODES):
        document: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}}
        document["status"] = {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}}
        yield ResourcePath("v1", "nodes", namespaced=False), f"node-{number}", document
    for number in range(JOBS):
        queue, name = f"team-{number % QUEUES}", f"training-run-{number}"
        resources = {"requests": {"cpu": "2", "memory": "8Gi"}}
        container = {"name": "main", "image": "busybox:1", "command": ["sleep", "60"], "resources": resources}
        pod: Json = {"containers": [container], "schedulerName": "volcano", "restartPolicy": "Never"}
        tasks = [{"name": "worker", "replicas": 1, "template": {"spec": pod}}]
        yield resource_path_of(Job), *_named(Job, name, {"queue": queue, "minAvailable": 1, "tasks": tasks})
        owner = {"apiVersion": Job.api_version, "kind": "Job", "name": name, "uid": "0", "controller": True}
        document = _named(PodGroup, name, {"minMember": 1, "queue": queue})[1]
        document["metadata"]["ownerReferences"] = [owner]
        yield GROUPS, f"default/{name}", document
        if number < NODES * 30:
            pod["nodeName"] = f"node-{number % NODES}"
        document = _named(Pod, f"{name}-worker-0", pod)[1]
        document["metadata"]["annotations"] = {GROUP_ANNOTATION: name}
        yield PODS, f"default/{name}-worker-0", document


def _named(kind: Any, name: str, spec: Json) -> tuple[str, Json]:  # noqa: ANN401  # a kind of the model
    document = {
        "apiVersion": kind.api_version,
        "kind": kind.kind_name(),
        "metadata": {"name": name},
        "spec": spec,
    }
    return (f"default/{name}" if kind.namespaced else name), document


async def api_server(folder: Path) -> None:
    """Serve the embedded API with a token for each viewer; a process of its own runs this."""
    cluster, place = assemble(Store(folder)), listen("127.0.0.1", 0)
    tls, key = certificate(folder, ("127.0.0.1",)), token(folder, "admin")
    callers = {key: ADMINISTRATOR, **{f"{key}-{number}": ADMINISTRATOR for number in range(VIEWERS)}}
    server = Server(cluster, callers, PodLogs(cluster, folder).read)
    url = f"https://127.0.0.1:{place.getsockname()[1]}"
    write_kubeconfig(folder / "kubeconfig", url, tls.certificate.read_bytes(), key)
    server.is_ready.set()
    print(url, flush=True)
    await serve(server, cluster.history, place, tls, asyncio.Event())


async def reference(kubeconfig: Path) -> None:
    """Watch what the console watches, and decode it; a process of its own runs this."""
    async with ApiServer(await load(kubeconfig)) as api, asyncio.TaskGroup() as tasks:
        watches = [Watch(api, kind, lambda _: None, lambda _: None) for kind in WATCHED]  # type: ignore[arg-type]
        for watch in watches:
            tasks.create_task(watch.run())
        for watch in watches:
            await watch.synced()
        print("http://reference", flush=True)


async def fill(api: ApiServer) -> None:
    """Write the cluster."""
    waiting = objects()

    async def write() -> None:
        for path, key, document in waiting:
            await create(api, path, key, document)

    await asyncio.gather(*(write() for _ in range(AT_A_TIME)))


async def change(api: ApiServer, seconds: float) -> int:
    """Change objects at a steady rate: groups, pods and queues; a message says when it was written."""
    turns, began, number = asyncio.Semaphore(AT_A_TIME), time.monotonic(), 0

    async def once(number: int) -> None:
        async with turns:
            name = f"training-run-{number * 37 % JOBS}"
            if number % 4 == QUEUE_TURN:
                status: Json = {"used": {"cpu": str(number)}, "deserved": {"cpu": "64"}}
                queue = f"team-{number * 37 % QUEUES}"
                await api.request(
                    "PATCH", resource_path_of(Queue).one(queue, "status"), body=_merge(status), **PATCH
                )
            elif number % 4 == 1:
                phase = {"phase": "Running" if number % 8 == 1 else "Pending"}
                path = PODS.one(f"default/{name}-worker-0", "status")
                await api.request("PATCH", path, body=_merge(phase), **PATCH)
            else:
                message = {
                    "type": "Unschedulable",
                    "status": "True",
                    "reason": "At",
                    "message": str(time.time()),
                }
                await patch(api, GROUPS, f"default/{name}", {"status": {"conditions": [message]}})

    async with asyncio.TaskGroup() as tasks:
        while time.monotonic() < began + seconds:
            while number < (time.monotonic() - began) * CHANGES_A_SECOND:
                tasks.create_task(once(number))
                number += 1
            await asyncio.sleep(0.005)
    return number


PATCH: Final[Json] = {"content_type": "application/merge-patch+json"}


def _merge(status: Json) -> bytes:
    return json.dumps({"status": status}).encode()


class Follower:
    """A page: it reads rows, then events, and counts; the first of them looks at delays too."""

    def __init__(self, http: aiohttp.ClientSession, origin: str, *, is_measuring: bool) -> None:
        self._http, self._origin, self._is_measuring = http, origin, is_measuring
        self.bytes, self.resets = 0, 0
        self._opened = time.time()
        self._seen: set[str] = set()  # messages: a row comes again when its pod changes
        self.delays: list[float] = []

    async def follow(self) -> None:
        """Read until cancelled."""
        async with self._http.get(f"{self._origin}/api/rows?topics=queues") as first:
            version = (await first.json())["version"]
        path = f"{self._origin}/api/events?after={version}"
        async with self._http.get(path, timeout=aiohttp.ClientTimeout(), read_bufsize=1 << 22) as events:
            rest = b""
            async for chunk in events.content.iter_any():
                self.bytes += len(chunk)
                if not self._is_measuring:
                    continue
                *whole, rest = (rest + chunk).split(b"\n")
                for text in whole:
                    if text.startswith(b"data: ") and b'"jobs"' in text:
                        self._measure(json.loads(text[6:])["jobs"]["rows"])
                    self.resets += text == b"event: reset"

    def _measure(self, rows: list[Json]) -> None:
        now = time.time()
        new = {row["message"] for row in rows if row["reason"] == "At"} - self._seen
        self._seen |= new
        self.delays += [now - written for written in map(float, new) if written > self._opened]


def cpu_s(process: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(process: int, field: str) -> float:
    """A line of a process's memory: VmRSS is now, VmHWM the most there was."""
    text = Path(f"/proc/{process}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]


@contextmanager
def process(*command: str) -> Iterator[tuple[int, str]]:
    """A process that prints its address; gives its id and that."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:  # noqa: S603  # ours
        try:
            printed = iter(running.stdout or ())
            found = next(match for text in printed if (match := ADDRESS.search(text)))
            yield running.pid, found[0].decode()
        finally:
            running.kill()


@asynccontextmanager
async def pages(
    origin: str, enter: Callable[[aiohttp.ClientSession, int], Awaitable[None]]
) -> AsyncIterator[list[Follower]]:
    """Ten pages that follow."""
    async with AsyncExitStack() as used:
        followers, tasks = [], []
        for number in range(VIEWERS):
            jar = aiohttp.CookieJar(unsafe=True)
            http = await used.enter_async_context(aiohttp.ClientSession(cookie_jar=jar))
            await enter(http, number)
            followers.append(Follower(http, origin, is_measuring=number == 0))
            tasks.append(asyncio.create_task(followers[-1].follow()))
        yield followers
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def measure(kubeconfig: Path, *, is_one_token: bool) -> None:
    """Ten viewers, of one token or of ten."""
    maar = str(Path(sys.executable).with_name("maar"))
    command = [maar, "console", "--kubeconfig", str(kubeconfig), "--port", "0", "--no-history"]
    key = kubeconfig.with_name("admin.token").read_text().strip()
    with process(*command, *([] if is_one_token else ["--login", "token"])) as (console, address):
        origin = address.partition("/open")[0].rstrip("/")

        async def enter(http: aiohttp.ClientSession, number: int) -> None:
            if is_one_token:
                await (await http.get(address)).read()
                return
            form, headers = {"token": f"{key}-{number}"}, {"Sec-Fetch-Site": "same-origin"}
            await (await http.post(f"{origin}/login", data=form, headers=headers)).read()

        async with pages(origin, enter) as followers, AsyncExitStack() as used:
            jar = aiohttp.CookieJar(unsafe=True)
            another = await used.enter_async_context(aiohttp.ClientSession(cookie_jar=jar))
            began = time.perf_counter()
            await enter(another, 0)
            loaded = [await rows_s(another, origin, topics, began) for topics in (TREE, EVERYTHING)]
            await asyncio.sleep(3)
            bare = used.enter_context(process(sys.executable, __file__, "reference", str(kubeconfig)))[0]
            api = await used.enter_async_context(ApiServer(await load(kubeconfig)))
            before, began = (cpu_s(console), cpu_s(bare)), time.monotonic()
            changes = await change(api, SECONDS)
            await asyncio.sleep(1)
            took = time.monotonic() - began
            after = cpu_s(console), cpu_s(bare)
            parts = [(end - start) / took for start, end in zip(before, after, strict=True)]
            later = [
                median([await rows_s(another, origin, topics) for _ in range(5)])
                for topics in (TREE, EVERYTHING)
            ]
            what = "one token" if is_one_token else "ten tokens"
            print(f"  {VIEWERS} viewers of {what}, {changes / took:.0f} changes a second for {took:.0f} s")
            report(parts, console, followers, loaded, later)
            print(
                f"    sent                {sum(one.bytes for one in followers) / took / 1e6:.1f} MB a second"
            )


def report(
    parts: list[float], console: int, followers: list[Follower], loaded: list[float], later: list[float]
) -> None:
    """Print the figures, and what is aimed at."""
    now, most = memory_mb(console, "VmRSS"), memory_mb(console, "VmHWM")
    delays = sorted(followers[0].delays)
    print(f"    CPU, part of a core {parts[0]:.3f}   reference {parts[1]:.3f}   (under 0.1)")
    print(f"    memory              {now:.0f} MB, at most {most:.0f} MB   (under 300 MB)")
    print(
        f"    change to event     median {_part(delays, 0.5):.2f} s, 99 % {_part(delays, 0.99):.2f} s, "
        f"most {_part(delays, 1):.2f} s, of {len(delays)}   (under 1 s)"
    )
    print(f"    the tree, all rows  {loaded[0]:.2f} s, {loaded[1]:.2f} s when it starts   (tree: 1 s)")
    print(f"    the tree, all rows  {later[0]:.2f} s, {later[1]:.2f} s later")


async def rows_s(http: aiohttp.ClientSession, origin: str, topics: str, began: float | None = None) -> float:
    """How long rows take, since a moment or since now."""
    start = time.perf_counter() if began is None else began
    async with http.get(f"{origin}/api/rows?topics={topics}") as answer:
        await answer.read()
    return time.perf_counter() - start


def _part(ordered: list[float], part: float) -> float:
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else float("nan")


async def main() -> None:
    """Make the cluster, and measure both ways."""
    with tempfile.TemporaryDirectory() as folder, process(sys.executable, __file__, "server", folder):
        kubeconfig = Path(folder) / "kubeconfig"
        async with ApiServer(await load(kubeconfig)) as api:
            began = time.monotonic()
            await fill(api)
            print(
                f"  {QUEUES} queues, {JOBS} jobs with a pod group and a pod each, {NODES} nodes: "
                f"written in {time.monotonic() - began:.0f} s"
            )
        for is_one_token in (True, False):
            await measure(kubeconfig, is_one_token=is_one_token)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["server", folder]:
            uvloop.run(api_server(Path(folder)))
        case ["reference", kubeconfig]:
            uvloop.run(reference(Path(kubeconfig)))
        case _:
            uvloop.run(main())
