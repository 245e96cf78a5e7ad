"""From the start of the program to its first decision, a large cluster listed from a real kube-apiserver."""

import asyncio
import resource
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter, process_time, time

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from maar.apps.scheduler.scheduler import Scheduler
from maar.core.engine import Engine
from maar.core.model.node import Node
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.listing import read_pages
from maar.kube.outcome import Conflict, Done, Outcome
from maar.kube.paths import resource_path_of
from maar.kube.write import create, patch
from maar.kube.writers import Writers
from support.control_plane import ControlPlane, find_binaries

NODES, PODS, GANG = 5_000, 100_000, 10
SHAPES = 50
CRDS = Path(__file__).parents[1] / "deploy" / "crds"
TARGET = "target under 30 s"

Made = Callable[[], Awaitable[Outcome]]


def main() -> None:
    """Fill a control plane, then start the scheduler on it in a process of its own."""
    if find_binaries() is None:
        print("  skipped: there is no control plane; make kubernetes builds one")
        return
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        plane.kubectl("apply", "-f", str(CRDS))
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all")
        seconds = asyncio.run(fill(plane.kubeconfig))
        print(f"  {NODES:,} nodes and {PODS:,} pods in gangs of {GANG}, made in {seconds:.0f} s")
        reference = asyncio.run(bare(plane.kubeconfig))
        printed = subprocess.run(  # noqa: S603  # ourselves
            [sys.executable, __file__, str(plane.kubeconfig), str(time())],
            check=True,
            capture_output=True,
            text=True,
        )
    print(f"  {'pages of nodes, pods and groups, unread':<46}{reference:>9.1f} s")
    print(f"  {'from start to first decision':<46}{printed.stdout.strip()}   {TARGET}")


async def fill(kubeconfig: Path) -> float:
    """Make the objects; a quarter of the pods waits, the others are where they run."""
    started, failed = perf_counter(), list[Outcome]()

    def settle(outcome: Outcome) -> None:
        if not isinstance(outcome, Done | Conflict):
            failed.append(outcome)

    async with ApiServer(await load(kubeconfig)) as server, Writers() as writers:
        for key, make in objects(server):
            writers.submit(key, make, settle)
        await writers.idle()
    if failed:
        raise SystemExit(f"{len(failed)} objects could not be made, the first: {failed[0]}")
    return perf_counter() - started


def objects(server: ApiServer) -> Iterator[tuple[str, Made]]:
    """What there is in the cluster, each with what makes it."""
    size = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    status = {"capacity": size, "allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]}
    for number in range(NODES):
        name = f"node-{number}"
        yield name, partial(create, server, resource_path_of(Node), name, named(Node, name, status=status))
        # Admission taints a new node, and nobody here takes the taint away.
        yield name, partial(patch, server, resource_path_of(Node), name, {"spec": {"taints": None}})
    for number in range(PODS // GANG):
        name, place = f"train-{number}", resource_path_of(PodGroup)
        group = named(PodGroup, name, spec={"minMember": GANG})
        yield f"group {name}", partial(create, server, place, f"default/{name}", group)
    for number in range(PODS):
        group_name = f"train-{number // GANG}"
        name, key = f"{group_name}-{number % GANG}", f"default/{group_name}-{number % GANG}"
        requests = {"cpu": f"{(number // GANG % SHAPES + 1) * 20}m", "memory": "1Gi"}
        spec: dict[str, object] = {
            "schedulerName": "volcano",
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
        }
        if number // GANG % 4:
            spec["nodeName"] = f"node-{number % NODES}"
        document = named(Pod, name, annotations={GROUP_ANNOTATION: group_name}, spec=spec)
        yield key, partial(create, server, resource_path_of(Pod), key, document)


def named(
    kind: type[Node | Pod | PodGroup],
    name: str,
    annotations: dict[str, str] | None = None,
    **parts: object,
) -> dict[str, object]:
    """An object as it is sent."""
    metadata = {"name": name, "annotations": annotations or {}}
    return {"apiVersion": kind.api_version, "kind": kind.__name__, "metadata": metadata, **parts}


async def bare(kubeconfig: Path) -> float:
    """List the same and read none of it."""
    async with ApiServer(await load(kubeconfig)) as server:
        started = perf_counter()
        for kind in (Node, PodGroup, Pod):
            await read_pages(server, resource_path_of(kind).all(), {}, ignore)
        return perf_counter() - started


def ignore(items: Iterable[object]) -> None:
    """Do nothing with a page."""


async def decide_once(kubeconfig: Path, started: float) -> None:
    """Run the scheduler until it has decided for the first time; say how long that took from the start."""
    engine = Engine()
    async with ApiServer(await load(kubeconfig)) as server:
        scheduler = Scheduler(server, engine)
        running = asyncio.create_task(scheduler.run())
        await scheduler.first_decision.wait()
        took, used = time() - started, process_time()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    known = f"{len(engine.tables.nodes):,} nodes, {len(engine.tables.pods):,} pods"
    print(f"{took:>9.1f} s   ({used:.1f} s of our own processor, {known}, {memory:.0f} MB)")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(decide_once(Path(sys.argv[1]), float(sys.argv[2])))
    else:
        main()
