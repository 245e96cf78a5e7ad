"""From the start of the scheduler to its first decision, beside a bare list of the same objects.

An API server in processes of its own has 5,000 nodes and 100,000 pods in gangs of ten, three in
four of which run; the nodes have room for no other. It is the embedded one, or with `--real` that
of Kubernetes (`make kubernetes`), where it takes minutes to make the objects. The scheduler lists
them on loopback and decides. The bare list reads the same pages of the same kinds, several kinds at
a time as the scheduler does, and decodes nothing. Both are processes, from their start; they take
turns, and the least times count.
"""

import argparse
import asyncio
import cProfile
import gc
import json
import pstats
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from time import process_time, time
from typing import IO, Any, Final, cast

import uvloop
from decode_bench import SHAPES, TEAMS, pod, shape

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from maar.apps.scheduler.scheduler import WATCHED, Scheduler
from maar.core.engine import Engine
from maar.core.model.node import Node
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.embedded.access import ADMINISTRATOR
from maar.embedded.assembly import assemble
from maar.embedded.nodes.pod_logs import PodLogs
from maar.embedded.server import OPEN_TO_ALL, Server
from maar.embedded.store import Key, Store
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.listing import PAGE, TIMEOUT_S
from maar.kube.paths import resource_path_of
from maar.serving.http_server import HttpServer
from maar.serving.listening import listen
from maar.serving.visits import Bounds
from support.control_plane import ControlPlane
from support.kubeconfigs import written

NODES, PODS, GANG = 5_000, 100_000, 10
RUNNING: Final = PODS * 3 // 4
TARGET: Final = 1.5
_TOKEN: Final = "secret"  # noqa: S105  # of a server that lives as long as the benchmark
_CONTINUE: Final = re.compile(rb'"continue":"([^"]+)"')
_HEAD: Final = 1_000  # bytes of a page, in which its metadata is
_MANY: Final = 1_000  # connections
_FILLED_WITHIN_S: Final = 600
_AT_A_TIME: Final = 64
CRDS: Final = Path(__file__).parents[1] / "deploy" / "crds"

Kind = type[Node | Pod | PodGroup]
Document = dict[str, Any]
Serving = Callable[[Path], AbstractContextManager[Path]]


def main() -> None:
    """Fill a server, then let the scheduler and the bare list take turns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="processes of each")
    parser.add_argument("--real", action="store_true", help="on the API server of Kubernetes")
    parser.add_argument(
        "--profile", action="store_true", help="say where the time goes, function by function"
    )
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--decide", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--list", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--started", type=float, default=0.0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        uvloop.run(serve(given.serve))
    elif given.decide:
        profile = cProfile.Profile()
        if given.profile:
            profile.enable()
        uvloop.run(decide(given.decide, given.started))
        profile.disable()
        if given.profile:
            pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(40)
    elif given.list:
        uvloop.run(bare_list(given.list, given.started))
    else:
        compare(real if given.real else embedded, given.rounds, is_profiled=given.profile)


def compare(serving: Serving, rounds: int, *, is_profiled: bool) -> None:
    """Print the least times of both, and their ratio."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as kubeconfig:
        if is_profiled:
            measured("--decide", kubeconfig, "--profile")
            return
        least: dict[str, list[float]] = {}
        for _ in range(rounds):
            for what in ("--list", "--decide"):
                took = measured(what, kubeconfig)
                least[what] = list(map(min, least.get(what, took), took))
    bare, decided = least["--list"], least["--decide"]
    ratio = decided[0] / bare[0]
    print(f"{NODES:,} nodes, {PODS:,} pods and {PODS // GANG:,} groups, {serving.__name__} API server:")
    for name, (seconds, cpu) in (("bare list", bare), ("restart to first decision", decided)):
        print(f"  {name:<28}{seconds:>8.2f} s, {cpu:.2f} s of its own processor")
    print(f"  {ratio:.2f}x the bare list (target at most {TARGET}x)")


def measured(what: str, kubeconfig: Path, *more: str) -> list[float]:
    """The seconds that a process takes, and those of its own processor."""
    command = [sys.executable, __file__, what, str(kubeconfig), "--started", str(time()), *more]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603  # ourselves
    return list(json.loads(done.stdout))


@contextmanager
def embedded(folder: Path) -> Iterator[Path]:
    """The embedded API server with the objects in a process of its own; gives a kubeconfig for it."""
    command = [sys.executable, __file__, "--serve", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  # ourselves
    try:
        url = cast(IO[str], server.stdout).readline().strip()
        yield written(folder / "cluster.kubeconfig", url, {"token": _TOKEN})
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


@contextmanager
def real(folder: Path) -> Iterator[Path]:
    """The API server of Kubernetes with the objects; gives a kubeconfig for it."""
    plugins = "ServiceAccount,TaintNodesByCondition"  # whose controllers are not there
    with ControlPlane(folder, api_server_flags={"disable-admission-plugins": plugins}) as plane:
        for file in CRDS.glob("*.yaml"):
            plane.kubectl("apply", "--server-side", "-f", str(file))
        plane.kubectl("wait", "--for=condition=Established", "customresourcedefinitions", "--all")
        began = time()
        uvloop.run(fill(plane.kubeconfig))
        print(f"  the objects were made in {time() - began:.0f} s", flush=True)
        yield plane.kubeconfig


async def fill(kubeconfig: Path) -> None:
    """Make the objects; pods that run have their node and no status: that would take as long again."""
    async with ApiServer(await load(kubeconfig)) as server, asyncio.timeout(_FILLED_WITHIN_S):
        for team in range(TEAMS):
            document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{team}"}}
            await server.request("POST", "/api/v1/namespaces", body=json.dumps(document).encode())
        todo = objects()

        async def work() -> None:
            for kind, document in todo:
                await make(server, kind, document)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(_AT_A_TIME):
                tasks.create_task(work())


async def make(server: ApiServer, kind: Kind, document: Document) -> None:
    """Make an object over the API."""
    metadata = document["metadata"]
    for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        metadata.pop(name, None)
    path = resource_path_of(kind).all(metadata.get("namespace", ""))
    named = {"kind": kind.kind_name(), "apiVersion": kind.api_version, **document}
    await server.request("POST", path, body=json.dumps(named).encode(), timeout_s=TIMEOUT_S)


async def serve(folder: Path) -> None:
    """Serve the objects until told to end."""
    store = Store(folder / "data")
    with store.transaction():
        for kind, document in objects():
            put(store, kind, document)
    cluster = assemble(store)
    server = Server(cluster, {_TOKEN: ADMINISTRATOR}, PodLogs(cluster, folder).read)
    place = listen("127.0.0.1", 0)
    http = HttpServer(server, bounds=Bounds(_MANY, of_one_peer=_MANY, probes=OPEN_TO_ALL), finish_within_s=1)
    running = asyncio.create_task(http.serve(sockets=[place]))
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server.is_ready.set()
    print(f"http://127.0.0.1:{place.getsockname()[1]}", flush=True)
    await stop.wait()
    cluster.history.close()
    await http.finish(running)
    store.close()


def put(store: Store, kind: Kind, document: Document) -> None:
    """Put an object where the server finds it, as it is: with its status."""
    group = kind.api_version.rpartition("/")[0]
    metadata = document["metadata"]
    resource = f"{kind.plural}.{group}" if group else kind.plural
    key = Key(resource, metadata.get("namespace", ""), metadata["name"])

    def body(revision: int) -> bytes:
        metadata["resourceVersion"] = str(revision)
        named = {"kind": kind.kind_name(), "apiVersion": kind.api_version, **document}
        return json.dumps(named, separators=(",", ":")).encode()

    store.put(key, None, body)


def objects() -> Iterator[tuple[Kind, Document]]:
    """A full cluster: three in four gangs run, the others wait."""
    rng = random.Random(1)
    size = {"cpu": "2000", "memory": "16Ti", "nvidia.com/gpu": "500", "pods": str(RUNNING // NODES)}
    ready = [{"type": "Ready", "status": "True"}]
    for number in range(NODES):
        metadata = {"name": f"node-{number}", "uid": f"node-{number}", "labels": {"zone": f"z{number % 3}"}}
        yield Node, {"metadata": metadata, "status": {"allocatable": size, "conditions": ready}}
    shapes = [{**shape(rng), "schedulerName": "volcano"} for _ in range(SHAPES)]
    for number in range(PODS):
        of, is_running = number // GANG, number < RUNNING
        one: Any = pod(rng, number, of, shapes[of % SHAPES])
        if number % GANG == 0:
            group = {"name": f"train-{of}", "namespace": one["metadata"]["namespace"], "uid": f"group-{of}"}
            status = {"phase": "Running" if is_running else "Inqueue"}
            yield PodGroup, {"metadata": group, "spec": {"minMember": GANG}, "status": status}
        one["metadata"]["annotations"][GROUP_ANNOTATION] = f"train-{of}"
        one["spec"] = {
            **shapes[of % SHAPES],
            **({"nodeName": f"node-{number % NODES}"} if is_running else {}),
        }
        one["status"]["phase"] = "Running" if is_running else "Pending"
        yield Pod, one


async def decide(kubeconfig: Path, started: float) -> None:
    """Run the scheduler until it has decided for the first time."""
    gc.disable()  # as the program does until then
    engine = Engine()
    async with ApiServer(await load(kubeconfig)) as server:
        scheduler = Scheduler(server, engine)
        running = asyncio.create_task(scheduler.run())
        await scheduler.first_decision.wait()
        took, cpu = time() - started, process_time()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    known = len(engine.tables.nodes), len(engine.tables.pods)
    if known != (NODES, PODS):
        raise SystemExit(f"the scheduler knows {known} nodes and pods")
    print(json.dumps([took, cpu]))


async def bare_list(kubeconfig: Path, started: float) -> None:
    """Read all pages of the kinds that the scheduler watches."""
    async with ApiServer(await load(kubeconfig)) as server, asyncio.TaskGroup() as tasks:
        for kind in WATCHED:
            tasks.create_task(pages(server, resource_path_of(kind).all()))
    print(json.dumps([time() - started, process_time()]))


async def pages(server: ApiServer, path: str) -> None:
    """Read all pages of a kind, each when the one before has come."""
    query = {"limit": str(PAGE)}
    while True:
        data = await server.request("GET", path, query, timeout_s=TIMEOUT_S)
        following = _CONTINUE.search(data, 0, _HEAD)
        if following is None:
            return
        query["continue"] = following[1].decode()


if __name__ == "__main__":
    main()
