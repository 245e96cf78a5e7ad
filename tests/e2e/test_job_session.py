"""A session of somebody with jobs, through the real programs on the embedded server.

Nothing but the API server runs: where the controller of jobs would act, the session writes what it
writes.
"""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from maar.core.model.job import Job
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Done
from maar.kube.paths import PODS, ResourcePath, resource_path_of
from maar.kube.write import create, patch
from support.maar_up import MaarUp
from support.until import TIMEOUT_S

SESSION = yaml.safe_load(Path(__file__).with_name("job_session.yaml").read_text(encoding="utf-8"))
AGES = re.compile(r"\b\d+m?\d*s\b")
STAMPS = re.compile(r"\d{4}-\d\d-\d\d")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaarUp]:
    with MaarUp(tmp_path_factory.mktemp("up"), alone=True) as running:
        yield running


def started(server: MaarUp, program: str, *arguments: str) -> "subprocess.Popen[str]":
    """A program as a user starts it; those that are installed call these functions."""
    command = [sys.executable, "-c", f"from maar.cli.entry import {program}; {program}()", *arguments]
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        command,
        cwd=Path(__file__).parents[2],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def write(kubeconfig: Path, step: dict[str, Any]) -> None:
    """Write what the controller and the kubelet would."""
    async with ApiServer(await load(kubeconfig)) as server:
        for document in step.get("make", ()):
            await done(create(server, PODS, f"default/{document['metadata']['name']}", document))
        for place, statuses in ((resource_path_of(Job), "jobs"), (PODS, "pods")):
            for name, status in step.get(statuses, {}).items():
                await status_of(server, place, name, status)


async def status_of(server: ApiServer, place: ResourcePath, name: str, status: object) -> None:
    await done(patch(server, place, f"default/{name}", {"status": status}, subresource="status"))


async def done(outcome: Any) -> None:  # noqa: ANN401  # a coroutine that gives an outcome
    assert isinstance(found := await outcome, Done), found


def words(text: str) -> list[list[str]]:
    """Lines without their blanks, which grow with ages; golden files hold the columns."""
    return [line.split() for line in text.splitlines()]


def test_a_session_with_jobs(server: MaarUp) -> None:
    for step in SESSION:
        if "run" not in step:
            asyncio.run(write(server.kubeconfig, step))
            continue
        program, *arguments = step["run"]
        ended = started(server, program, *arguments)
        out, err = ended.communicate(step.get("in", ""), timeout=TIMEOUT_S)
        shown = words(STAMPS.sub("DATE", AGES.sub("AGE", out)))
        expected = (step["run"], step.get("code", 0), words(step.get("out", "")))
        assert (step["run"], ended.returncode, shown) == expected, err
        warned = [line for line in err.splitlines() if "[no-controller]" not in line]
        assert (step["run"], warned) == (step["run"], step.get("err", "").splitlines())


def test_a_log_is_followed_until_the_job_ends(server: MaarUp) -> None:
    name = "followed"
    made = started(server, "maar", "job", "run", name, "--image", "busybox", "-r", "2")
    made.communicate(timeout=TIMEOUT_S)
    following = started(server, "maar", "job", "logs", name, "-f")
    assert following.stdout is not None
    try:
        for index in ("0", "1"):
            pod = f"{name}-{name}-{index}"
            labels = {"job-name": name, "task-spec": name, "task-index": index}
            document = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": pod,
                    "namespace": "default",
                    "labels": {f"volcano.sh/{label}": value for label, value in labels.items()},
                },
                "spec": {"nodeName": "node-1", "containers": [{"name": "main", "image": "busybox"}]},
            }
            running = container({"running": {"startedAt": "2026-03-01T12:00:00Z"}})
            asyncio.run(write(server.kubeconfig, {"make": [document], "pods": {pod: running}}))
            assert following.stdout.readline().startswith(f"[{pod}] started on virtual node node-1")
        for index in ("0", "1"):
            pod = f"{name}-{name}-{index}"
            ended = {"exitCode": 0, "startedAt": "2026-03-01T12:00:00Z", "finishedAt": "2026-03-01T12:00:01Z"}
            status = {**container({"terminated": ended, "running": None}), "phase": "Succeeded"}
            asyncio.run(write(server.kubeconfig, {"pods": {pod: status}}))
            assert following.stdout.readline() == f"[{pod}] ended with exit code 0\n"
        asyncio.run(write(server.kubeconfig, {"jobs": {name: {"state": {"phase": "Completed"}}}}))
        out, err = following.communicate(timeout=TIMEOUT_S)
        assert (following.returncode, out, err) == (0, "", "")
    finally:
        following.kill()
        following.communicate()


def container(state: dict[str, object]) -> dict[str, object]:
    one = {
        "name": "main",
        "image": "busybox",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "state": state,
    }
    return {"phase": "Running", "startTime": "2026-03-01T12:00:00Z", "containerStatuses": [one]}
