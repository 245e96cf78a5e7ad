"""Jobs that wait side by side on `maar up`: none keeps out another that nodes have room for."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from support.maar_up import MaarUp
from support.needs_kubernetes import needs_kubernetes
from support.story import Document
from support.story_vcjobs import JOB_NAME, VCJOB, phase_of, template, vcjob
from support.until import wait_until


@pytest.fixture
def two_nodes(folder: Path) -> Iterator[MaarUp]:
    """Two nodes of 8 processors."""
    needs_kubernetes()
    with MaarUp(folder, "--nodes", "2x8cpu,32Gi") as running:
        yield running


def task(replicas: int, cpu: int) -> Document:
    """A task whose pods run until they are ended."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": str(cpu)}}}
    return {"replicas": replicas, "template": template(containers=[container])}


def apply(up: MaarUp, *documents: Document) -> None:
    up.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))


def phase(up: MaarUp, job: str) -> str:
    return phase_of(json.loads(up.kubectl("get", VCJOB, job, "-o", "json").stdout))


def is_running(up: MaarUp, job: str) -> bool:
    return phase(up, job) == "Running"


def pods(up: MaarUp, job: str) -> list[Document]:
    return list(
        json.loads(up.kubectl("get", "pods", "-l", f"{JOB_NAME}={job}", "-o", "json").stdout)["items"]
    )


def test_a_job_that_can_never_run_keeps_nobody_out(two_nodes: MaarUp) -> None:
    apply(two_nodes, vcjob("large", {"w": task(1, 12)}))
    wait_until("large was let in", lambda: bool(pods(two_nodes, "large")))
    apply(two_nodes, vcjob("fits", {"w": task(4, 2)}, minAvailable=4))
    wait_until("fits runs", partial(is_running, two_nodes, "fits"))
    assert phase(two_nodes, "large") == "Pending"


VOLCANOS = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: overcommit}, {name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""


def test_elastic_jobs_that_are_let_in_together_all_start(folder: Path) -> None:
    needs_kubernetes()
    configuration = folder / "volcano.yaml"
    configuration.write_text(VOLCANOS)
    with MaarUp(folder, "--nodes", "2x8cpu,32Gi", "--config", str(configuration)) as up:
        names = [f"elastic-{number}" for number in range(3)]
        apply(up, *[vcjob(name, {"w": task(16, 1)}, minAvailable=2) for name in names])
        for name in names:
            wait_until(f"{name} runs", partial(is_running, up, name))
