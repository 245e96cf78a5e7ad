"""`maar job list --start` on API servers; statuses and groups are written as the controller of jobs does."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maar.core.model.job import Job
from maar.core.model.pod_group import PodGroup
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Outcome
from maar.kube.paths import resource_path_of
from maar.kube.write import delete, patch
from support.commands import Run, run
from support.manifests import NODES, make, node, unique

__all__ = ["run"]

pytestmark = pytest.mark.usefixtures("crds", "anyio_backend")


def on_server(work: Callable[[ApiServer], Awaitable[object]]) -> None:
    """Do something with a client of its own."""

    async def session() -> None:
        async with ApiServer(await load(None, None)) as server:
            await work(server)

    asyncio.run(session())


@pytest.fixture
def place(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A node of its own, without the taint that a real API server gives new ones."""
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    name = unique("starts")
    on_server(lambda server: make(server, NODES, "", node(name)))
    on_server(lambda server: patch(server, NODES, name, {"spec": {"taints": None}}))
    yield name
    on_server(lambda server: delete(server, NODES, name))


@pytest.fixture
def jobs(run: Run, place: str) -> Iterator[tuple[str, str]]:
    """Two jobs without pods yet: one fits on the node that there is, the other on none."""
    assert place
    small, large = unique("small"), unique("large")
    for name, cpu in ((small, "1"), (large, "100")):
        arguments = ("--image", "none", "--requests", f"cpu={cpu}", "--scheduler", "volcano")
        assert run("maar", "job", "run", name, *arguments).code == 0
        stored = json.loads(run("maar", "job", "view", name, "-o", "json").out)
        on_server(partial(admit, job=stored, cpu=cpu))
    yield small, large
    for name in (small, large):
        run("maar", "job", "delete", name)


async def admit(server: ApiServer, job: Any, cpu: str) -> Outcome:  # noqa: ANN401  # plain data
    """Begin a job: its status, and its pod group."""
    metadata = job["metadata"]
    owner = {"apiVersion": Job.api_version, "kind": "Job", "controller": True}
    owner |= {"name": metadata["name"], "uid": metadata["uid"]}
    group = {
        "apiVersion": PodGroup.api_version,
        "kind": "PodGroup",
        "metadata": {"name": f"{metadata['name']}-{metadata['uid']}", "ownerReferences": [owner]},
        "spec": {"minMember": 1, "queue": "default", "minResources": {"cpu": cpu}},
    }
    await make(server, resource_path_of(PodGroup), "default", group)
    status = {"status": {"state": {"phase": "Pending"}}}
    path = resource_path_of(Job)
    return await patch(server, path, f"default/{metadata['name']}", status, subresource="status")


def test_a_list_with_planned_starts(run: Run, jobs: tuple[str, str]) -> None:
    small, large = jobs
    listed = run("maar", "job", "list", "--start")
    rows = {line.split()[0]: line.split() for line in listed.out.splitlines()}
    assert rows["NAME"][-2:] == ["START", "CERTAINTY"]
    assert rows[large][-2:] == ["unknown", "unknown"]
    assert rows[small][-1] == "exact"
    found = json.loads(run("maar", "job", "list", "--start", "-o", "json").out)["items"]
    planned = {one["metadata"]["name"]: one["status"]["plannedStart"] for one in found}
    assert planned[small]["because"] == planned[small]["waitsFor"] == ""
    assert planned[large]["time"] is None
    assert planned[large]["because"].startswith("It does not start when others end: ")


def test_starts_are_not_watched(run: Run, jobs: tuple[str, str]) -> None:
    assert jobs
    refused = run("maar", "job", "list", "--start", "-w")
    assert refused.code == 2
    assert "--start is worked out once" in refused.err
