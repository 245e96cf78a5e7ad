"""An embedded cluster with nodes for tests: pods are made and bound in one step, time is as a test says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maar.embedded.assembly import assemble
from maar.embedded.calls import Call
from maar.embedded.cluster import Cluster
from maar.embedded.kinds.pods import bind
from maar.embedded.nodes.specification import parse, register
from maar.embedded.nodes.virtual import VirtualNodes
from maar.embedded.store import Store

Fields = dict[str, Any]


class Clock:
    """A time that passes when a test says so."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time now."""
        return self.now


@contextmanager
def embedded(folder: Path, *specifications: str, clock: Clock | None = None) -> Iterator[Cluster]:
    """A cluster in a folder, with virtual nodes."""
    store = Store(folder)
    try:
        cluster = assemble(store)
        if clock is not None:
            cluster.clock = clock
        if specifications:
            register(cluster, parse(*specifications))
        yield cluster
    finally:
        store.close()


def pod(name: str, annotations: dict[str, str] | None = None, cpu: str = "1", **spec: object) -> Fields:
    """A pod with one container, whose fields `spec` may replace."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }


def place(cluster: Cluster, value: Fields, node: str = "node-1") -> None:
    """Create a pod and bind it."""
    cluster.create("pods", "default", value)
    target: Fields = {"target": {"kind": "Node", "name": node}}
    bind(cluster, "default", value["metadata"]["name"], target, Call())


def seen(cluster: Cluster, name: str) -> Fields:
    """The status of a pod."""
    found = cluster.read("pods", "default", name)
    assert found is not None, f"pod {name} is gone"
    status = found["status"]
    assert isinstance(status, dict)
    return status


def settle(nodes: VirtualNodes) -> float:
    """Let virtual nodes do all that is due; gives the seconds until there is more."""
    while not (pause := nodes.step()):
        pass
    return pause


def pass_time(clock: Clock, nodes: VirtualNodes, seconds: float) -> None:
    """Let time pass, and everything happen at its moment."""
    end = clock.now + seconds
    while clock.now < end:
        clock.now = min(end, clock.now + settle(nodes))
    settle(nodes)
