"""`maar console` as a user runs it, and a cluster with enough in it to look at."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from support.processes import Group
from support.until import wait_until

MAAR: Final = str(Path(sys.executable).with_name("maar"))
_ADDRESS: Final = re.compile(r"open (http://\S+)")

Document = dict[str, object]


class Console:
    """The program in a process of its own; it ends with the block."""

    def __init__(self, folder: Path, kubeconfig: Path, *flags: str) -> None:
        folder.mkdir(exist_ok=True)
        self._processes = Group(folder)
        self._kubeconfig, self._flags = kubeconfig, flags

    def __enter__(self) -> Self:
        self._processes.__enter__()
        command = [MAAR, "console", "--kubeconfig", str(self._kubeconfig), "--port", "0", *self._flags]
        self._processes.start("console", command)
        wait_until("the console has printed its address", self._has_started)
        self.address = self._printed()
        self.url = self.address.partition("/open")[0]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.__exit__(kind, error, trace)

    def _has_started(self) -> bool:
        self._processes.check()
        return bool(self._printed())

    def _printed(self) -> str:
        found = _ADDRESS.search(self._processes.log("console").read_text(encoding="utf-8", errors="replace"))
        return found[1] if found else ""


def queue(name: str, parent: str = "root", **spec: object) -> Document:
    """A queue below another."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"parent": parent, **spec},
    }


def gang(name: str, in_queue: str, pods: int, cpu: str = "1") -> Iterator[Document]:
    """A pod group whose pods start together, and run for an hour where nodes are virtual."""
    yield {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": pods, "queue": in_queue},
    }
    for number in range(pods):
        annotations = {"scheduling.k8s.io/group-name": name, "maar.sh/run-for": "1h"}
        container = {
            "name": "main",
            "image": "none",
            "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}},
        }
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number}", "annotations": annotations},
            "spec": {"schedulerName": "volcano", "restartPolicy": "Never", "containers": [container]},
        }


def small_organisation() -> Iterator[Document]:
    """Queues with weights, guarantees and ceilings, jobs that run and one that waits."""
    yield queue("research", weight=3, guarantee={"resource": {"cpu": "8"}})
    yield queue("nlp", "research", weight=2)
    yield queue("vision", "research")
    yield queue("serving", weight=2, capability={"cpu": "16", "memory": "64Gi"})
    yield queue("teams")
    for number in range(1, 41):
        yield queue(f"team-{number}", "teams")
    yield from gang("train", "nlp", pods=6, cpu="2")
    yield from gang("serve", "serving", pods=4)
    yield from gang("crawl", "team-7", pods=8)
    yield from gang("large", "vision", pods=20, cpu="2")
