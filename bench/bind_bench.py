"""Binds against a real kube-apiserver through the client, beside a bare loop of a general HTTP client."""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import aiohttp
import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Done, Outcome
from maar.kube.paths import PODS
from maar.kube.write import bind, create
from maar.kube.writers import AT_ONCE, Writers
from support.control_plane import ControlPlane, find_binaries

ROUNDS = 30  # of each, in turn: what else the machine does meets both
PODS_A_ROUND = 100
NODES = [f"node-{number}" for number in range(100)]
NAMESPACE = "default"
TARGET = "target at least 0.90"

Round = Callable[[list[str]], Awaitable[None]]


def main() -> None:
    """Print binds a second of both, and their ratio."""
    if find_binaries() is None:
        print("  skipped: there is no control plane; make kubernetes builds one")
        return
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        plane.make_nodes(NODES)
        asyncio.run(compare(plane))


async def compare(plane: ControlPlane) -> None:
    """Bind as many pods one way as the other, round by round."""
    credentials = await load(plane.kubeconfig)
    pods = [f"{NAMESPACE}/pod-{number}" for number in range(2 * ROUNDS * PODS_A_ROUND)]
    connector = aiohttp.TCPConnector(limit=AT_ONCE, ssl=credentials.tls)
    headers = {"Authorization": credentials.proofs.authorization, "Content-Type": "application/json"}
    async with (
        ApiServer(credentials) as server,
        Writers() as writers,
        aiohttp.ClientSession(plane.server, connector=connector, headers=headers) as session,
    ):
        await carry_out(writers, {key: partial(create, server, PODS, key, pod(key)) for key in pods})
        ways: dict[str, Round] = {"bare": partial(bare, session), "client": partial(client, server, writers)}
        seconds, cpu = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0)
        for number in range(2 * ROUNDS):
            way = ("bare", "client", "client", "bare")[number % 4]  # nobody is always first
            some = pods[number * PODS_A_ROUND : (number + 1) * PODS_A_ROUND]
            started, used = perf_counter(), process_time()
            await ways[way](some)
            seconds[way] += perf_counter() - started
            cpu[way] += process_time() - used
    count = ROUNDS * PODS_A_ROUND
    print(f"  {count:,} binds each, {AT_ONCE} at a time, {len(NODES)} nodes")
    for way in ways:
        each = cpu[way] / count * 1e6
        rate = count / seconds[way]
        print(f"  {way:<46}{rate:>9.0f} binds/s   {each:>6.0f} us of our own processor each")
    print(f"  {'client / bare':<46}{seconds['bare'] / seconds['client']:>9.2f}           {TARGET}")


async def bare(session: aiohttp.ClientSession, pods: list[str]) -> None:
    """As little as a program can do to bind pods."""
    todo = iter(enumerate(pods))

    async def work() -> None:
        for number, key in todo:
            name = key.partition("/")[2]
            target = {"kind": "Node", "name": NODES[number % len(NODES)]}
            body = msgspec.json.encode({"metadata": {"name": name}, "target": target})
            path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/binding"
            async with session.post(path, data=body) as answer:
                await answer.read()
                answer.raise_for_status()

    await asyncio.gather(*[work() for _ in range(AT_ONCE)])


async def say(session: aiohttp.ClientSession, namespace: str, count: int) -> None:
    """As little as a program can do to write events about pods."""
    todo = iter(range(count))
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    async def work() -> None:
        for number in todo:
            event = {
                "metadata": {"name": f"said-{number}"},
                "involvedObject": {"kind": "Pod", "namespace": namespace, "name": f"pod-{number}"},
                "reason": "Scheduled",
                "message": f"Successfully assigned {namespace}/pod-{number} to node-{number % 100}",
                "type": "Normal",
                "source": {"component": "bare"},
                "firstTimestamp": moment,
                "lastTimestamp": moment,
                "count": 1,
            }
            path = f"/api/v1/namespaces/{namespace}/events"
            async with session.post(path, data=msgspec.json.encode(event)) as answer:
                await answer.read()
                answer.raise_for_status()

    await asyncio.gather(*[work() for _ in range(AT_ONCE)])


async def client(server: ApiServer, writers: Writers, pods: list[str]) -> None:
    """The way the scheduler does it."""
    await carry_out(
        writers,
        {key: partial(bind, server, key, NODES[number % len(NODES)]) for number, key in enumerate(pods)},
    )


async def carry_out(writers: Writers, writes: dict[str, Callable[[], Awaitable[Outcome]]]) -> None:
    """Write everything; stop at what is not done."""
    outcomes: list[Outcome] = []
    for key, write in writes.items():
        writers.submit(key, write, outcomes.append)
    await writers.idle()
    failed = [outcome for outcome in outcomes if not isinstance(outcome, Done)]
    if failed or len(outcomes) != len(writes):
        raise SystemExit(f"{len(failed)} of {len(writes)} writes failed, the first with {failed[:1]}")


def pod(key: str) -> dict[str, object]:
    """A pod that waits for us."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": key.partition("/")[2]},
        "spec": {"schedulerName": "volcano", "containers": [container]},
    }


if __name__ == "__main__":
    main()
