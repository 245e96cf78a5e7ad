"""How long a review takes: 50 a second with 1,000 queues, beside a request that does nothing."""

import asyncio
import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from typing import IO, Final, cast

import aiohttp
import uvloop

from maar.apps.webhooks.program import https_server, serve_with, spare_what_is_known
from maar.apps.webhooks.reviewer import AdmissionReviewer
from maar.apps.webhooks.server import WebhookServer
from maar.core.admission.request import Options
from maar.core.model.events import Upserted
from maar.core.model.kinds import from_document
from maar.core.model.namespace import Namespace
from maar.core.model.node import Node
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.kube.certificates import renewed
from maar.serving.listening import listen

PER_SECOND: Final = 50
SECONDS: Final = 9
PARENTS, CHILDREN = 10, 99  # 1,000 queues, beside root and default
GROUPS: Final = 5_000
TARGET_MS: Final = 10
SERVE: Final = "serve"


def queue(name: str, parent: str) -> dict[str, object]:
    """A queue whose reservation and ceiling have to be added up with its siblings'."""
    cpu = 2 * (CHILDREN + 1) if parent == "root" else 1
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {
            "parent": parent,
            "weight": 1,
            "state": "Open",
            "guarantee": {"resource": {"cpu": str(cpu)}},
            "capability": {"cpu": str(2 * cpu), "memory": f"{4 * cpu}Gi"},
        },
    }


def known() -> AdmissionReviewer:
    """A judge of a cluster with a thousand queues and some work."""
    judge = AdmissionReviewer(Options())
    parents = [f"team-{number}" for number in range(PARENTS)]
    leaves = [(f"{parent}-{number}", parent) for parent in parents for number in range(CHILDREN)]
    size = {"cpu": "10000", "memory": "40000Gi", "pods": "100000"}
    ready = {"allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]}
    judge.feed(
        [
            Upserted(object=from_document(Node, {"metadata": {"name": "n"}, "status": ready})),
            Upserted(object=from_document(Namespace, {"metadata": {"name": "default"}})),
            *(Upserted(object=from_document(Queue, queue(name, "root"))) for name in parents),
            *(Upserted(object=from_document(Queue, queue(*names))) for names in leaves),
            *(
                Upserted(
                    object=from_document(PodGroup, group(f"g-{number}", leaves[number % len(leaves)][0]))
                )
                for number in range(GROUPS)
            ),
        ]
    )
    judge.warm.set()
    return judge


def group(name: str, leaf: str) -> dict[str, object]:
    """A pod group in a queue."""
    spec = {"queue": leaf, "minMember": 4, "minResources": {"cpu": "4", "memory": "8Gi"}}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def job(leaf: str) -> dict[str, object]:
    """A job of two tasks."""
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}}
    container = {"name": "main", "image": "busybox", "command": ["sleep", "60"], "resources": resources}
    template = {"spec": {"containers": [container]}}
    tasks = [{"name": name, "replicas": 4, "minAvailable": 4, "template": template} for name in ("a", "b")]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default"},
        "spec": {"queue": leaf, "schedulerName": "volcano", "minAvailable": 8, "tasks": tasks},
    }


def pod(leaf: str) -> dict[str, object]:
    """A pod that asks for a queue."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {"scheduling.volcano.sh/queue-name": leaf}},
        "spec": {"schedulerName": "volcano", "containers": [container]},
    }


def reviews() -> Iterator[tuple[str, bytes]]:
    """What users of a busy cluster write, one after the other."""
    leaf, parent = "team-3-7", "team-3"
    changed = queue(leaf, parent)
    changed["spec"] = {**cast(dict[str, object], changed["spec"]), "weight": 7}
    asked = [
        ("queues/mutate", "CREATE", queue("new", parent), None),
        ("queues/validate", "CREATE", queue("new", parent), None),
        ("queues/validate", "UPDATE", changed, queue(leaf, parent)),
        ("queues/validate", "DELETE", None, {**queue(leaf, parent), "status": {"state": "Closed"}}),
        ("podgroups/mutate", "CREATE", group("new", leaf), None),
        ("podgroups/validate", "CREATE", group("new", leaf), None),
        ("jobs/mutate", "CREATE", job(leaf), None),
        ("jobs/validate", "CREATE", job(leaf), None),
        ("pods/validate", "CREATE", pod(leaf), None),
        ("queues/validate", "CREATE", {**queue("q", parent), "spec": {"weight": 0}}, None),  # is refused
    ]
    for path, operation, new, old in cycle(asked):
        resource = path.partition("/")[0]
        request = {
            "uid": "bench",
            "operation": operation,
            "resource": {"resource": resource},
            "name": "new",
            "namespace": "" if resource == "queues" else "default",
            "object": new,
            "oldObject": old,
            "userInfo": {"username": "bench"},
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        yield path, json.dumps(review).encode()


async def serve() -> None:
    """Serve as `maar webhooks` does, with what the bench knows; ends with its input."""
    place = listen("127.0.0.1", 0)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serve_with(tls, renewed(None, ("127.0.0.1",), datetime.now(UTC)))
    server = https_server(WebhookServer(known()), tls)
    spare_what_is_known()
    print(place.getsockname()[1], flush=True)
    serving = asyncio.create_task(server.serve(sockets=[place]))
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await serving


async def drive(port: int) -> dict[str, list[float]]:
    """Ask for both by turns, at a steady pace whatever the answers take; milliseconds by what was asked."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    took: dict[str, list[float]] = {
        "review": [],
        "nothing": [],
        "woken": [],
    }  # how late the driver itself gets its turn
    connector = aiohttp.TCPConnector(ssl=trusting)
    async with aiohttp.ClientSession(f"https://127.0.0.1:{port}", connector=connector) as session:

        async def ask(name: str, path: str, body: bytes, due: float) -> None:
            async with session.post(path, data=body) as answer:
                text = await answer.read()
            if answer.status != 200:  # noqa: PLR2004  # OK
                raise RuntimeError(f"{path}: {answer.status} {text[:300]!r}")
            took[name].append((time.perf_counter() - due) * 1_000)

        asked, begin = reviews(), time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for number in range(PER_SECOND * SECONDS):
                path, body = next(asked)
                for place, (name, where) in enumerate((("review", f"/{path}"), ("nothing", "/healthz"))):
                    due = begin + (number + place / 2) / PER_SECOND
                    await asyncio.sleep(max(0.0, due - time.perf_counter()))
                    took["woken"].append((time.perf_counter() - due) * 1_000)
                    tasks.create_task(ask(name, where, body, due))
    warm_up = PER_SECOND  # a second of connecting
    return {name: times[warm_up:] for name, times in took.items()}


@contextmanager
def serving() -> Iterator[int]:
    """The server in a process of its own; gives its port."""
    command = [sys.executable, str(Path(__file__)), SERVE]
    with subprocess.Popen(  # noqa: S603  # this script
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield int(cast(IO[str], process.stdout).readline())
        cast(IO[str], process.stdin).close()


def main() -> None:
    """Measure, and print both beside each other."""
    with serving() as port:
        took = uvloop.run(drive(port))
    for name, times in took.items():
        p99 = quantiles(times, n=100)[98]
        print(f"  {name:<10}p50 {median(times):6.2f} ms   p99 {p99:6.2f} ms   of {len(times)}")
    print(f"  {PER_SECOND} of each a second, with 1,000 queues; target: reviews p99 below {TARGET_MS} ms")


if __name__ == "__main__":
    if sys.argv[1:] == [SERVE]:
        uvloop.run(serve())
    else:
        main()
