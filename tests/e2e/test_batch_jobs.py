"""Jobs of Kubernetes on `maar up`, with the real kubectl: the first thing that anybody applies."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.maar_up import MaarUp
from support.needs_kubernetes import needs_kubernetes
from support.processes import bounded
from support.programs import find_binaries
from support.until import wait_until

JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: %(name)s
  annotations: {%(annotations)s}
spec:
  %(spec)s
  template:
    metadata:
      annotations: {%(notes)s}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: busybox, resources: {requests: {cpu: "%(cpu)s"}}}]
"""


def manifest(
    name: str, *spec: str, run_for: str = "1s", code: int = 0, cpu: str = "1", annotations: str = ""
) -> str:
    """A Job for virtual nodes; each argument is a line of its spec."""
    notes = f'maar.sh/run-for: {run_for}, maar.sh/exit-code: "{code}"'
    lines = "\n  ".join(spec or ("backoffLimit: 6",))
    return JOB % {"name": name, "spec": lines, "notes": notes, "cpu": cpu, "annotations": annotations}


def status(up: MaarUp, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(up.kubectl("get", "job", name, "-o", "json").stdout)["status"]
    return found


def pods(up: MaarUp, name: str) -> list[dict[str, Any]]:
    found = up.kubectl("get", "pods", "-l", f"job-name={name}", "-o", "json").stdout
    items: list[dict[str, Any]] = json.loads(found)["items"]
    return items


def has_succeeded(up: MaarUp, name: str, least: int) -> bool:
    return int(status(up, name).get("succeeded", 0)) >= least


def suspend(up: MaarUp, name: str, *, wanted: bool) -> None:
    up.kubectl("patch", "job", name, "--type=merge", "-p", json.dumps({"spec": {"suspend": wanted}}))


@pytest.fixture
def local(tmp_path: Path) -> Iterator[MaarUp]:
    """`maar up` with this machine as its only node."""
    needs_kubernetes()
    with MaarUp(tmp_path, "--local") as running:
        yield running


def test_the_first_job_of_a_newcomer_runs(local: MaarUp) -> None:
    made = local.kubectl("create", "job", "hello", "--image=busybox", "--", "echo", "hi")
    assert (made.stdout, made.stderr) == ("job.batch/hello created\n", "")
    local.kubectl("wait", "--for=condition=complete", "job/hello")
    assert local.kubectl("logs", "job/hello").stdout == "hi\n"
    names, row = local.kubectl("get", "jobs").stdout.splitlines()
    assert names.split() == ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"]
    assert row.split()[:3] == ["hello", "Complete", "1/1"]
    described = local.kubectl("describe", "job", "hello").stdout
    assert "1 Succeeded / 0 Failed" in described
    assert "Created pod: hello-" in described
    assert "Job completed" in described
    local.kubectl("delete", "job", "hello")
    wait_until("its pods are gone", lambda: pods(local, "hello") == [])


def test_each_pod_of_an_indexed_job_knows_which_it_is(local: MaarUp) -> None:
    script = "echo index $JOB_COMPLETION_INDEX"
    command = json.dumps(["sh", "-c", script])
    document = manifest("parts", "completions: 3", "parallelism: 3", "completionMode: Indexed", cpu="10m")
    local.kubectl(
        "apply", "-f", "-", stdin=document.replace("image: busybox", f"image: busybox, command: {command}")
    )
    local.kubectl("wait", "--for=condition=complete", "job/parts")
    assert status(local, "parts")["completedIndexes"] == "0-2"
    said = {local.kubectl("logs", one["metadata"]["name"]).stdout for one in pods(local, "parts")}
    assert said == {"index 0\n", "index 1\n", "index 2\n"}


def test_a_job_that_is_watched_completes_and_can_be_applied_again(up: MaarUp) -> None:
    binaries = find_binaries()
    assert binaries is not None
    environment = {**os.environ, "KUBECONFIG": str(up.kubeconfig)}
    document = manifest("watched", "completions: 3", "parallelism: 2")
    with bounded(
        subprocess.Popen(
            [binaries / "kubectl", "get", "jobs", "-w"], env=environment, stdout=subprocess.PIPE, text=True
        )
    ) as watching:
        assert watching.stdout is not None
        assert up.kubectl("apply", "-f", "-", stdin=document).stderr == ""
        seen = ""
        while "Complete" not in seen:
            seen = watching.stdout.readline()
        watching.kill()
    assert seen.split()[:3] == ["watched", "Complete", "3/3"]
    assert up.kubectl("apply", "-f", "-", stdin=document).stdout == "job.batch/watched unchanged\n"
    assert len(pods(up, "watched")) == 3


def test_a_job_that_fails_says_why(up: MaarUp) -> None:
    up.kubectl("apply", "-f", "-", stdin=manifest("fails", "backoffLimit: 0", code=3))
    up.kubectl("wait", "--for=condition=failed", "job/fails")
    found = status(up, "fails")
    assert (found["failed"], found["conditions"][-1]["reason"]) == (1, "BackoffLimitExceeded")
    described = up.kubectl("describe", "job", "fails").stdout
    assert "Job has reached the specified backoff limit" in described
    assert len(pods(up, "fails")) == 1


def test_a_failure_policy_ends_a_job_without_a_retry(up: MaarUp) -> None:
    rule = "{action: FailJob, onExitCodes: {operator: In, values: [42]}}"
    up.kubectl(
        "apply", "-f", "-", stdin=manifest("policy", f"podFailurePolicy: {{rules: [{rule}]}}", code=42)
    )
    up.kubectl("wait", "--for=condition=failed", "job/policy")
    last = status(up, "policy")["conditions"][-1]
    assert last["reason"] == "PodFailurePolicy"
    assert "failed with exit code 42 matching FailJob rule at index 0" in last["message"]


def test_a_deadline_ends_a_job_and_its_pods(up: MaarUp) -> None:
    up.kubectl("apply", "-f", "-", stdin=manifest("late", "activeDeadlineSeconds: 2", run_for="1h"))
    up.kubectl("wait", "--for=condition=failed", "job/late")
    assert status(up, "late")["conditions"][-1]["reason"] == "DeadlineExceeded"
    wait_until("its pods are gone", lambda: pods(up, "late") == [])


def test_a_job_is_suspended_and_resumed(up: MaarUp) -> None:
    up.kubectl("apply", "-f", "-", stdin=manifest("paused", "parallelism: 2", "completions: 2", run_for="1h"))
    wait_until("both run", lambda: status(up, "paused").get("ready") == 2)
    suspend(up, "paused", wanted=True)
    up.kubectl("wait", "--for=condition=Suspended", "job/paused")
    wait_until("their pods are gone", lambda: pods(up, "paused") == [])
    assert up.kubectl("get", "job", "paused").stdout.splitlines()[1].split()[1] == "Suspended"
    suspend(up, "paused", wanted=False)
    wait_until("both run again", lambda: status(up, "paused").get("ready") == 2)
    assert status(up, "paused").get("failed", 0) == 0
    up.kubectl("delete", "job", "paused")


def test_a_finished_job_goes_by_itself(up: MaarUp) -> None:
    up.kubectl("apply", "-f", "-", stdin=manifest("short", "ttlSecondsAfterFinished: 1"))
    up.kubectl("wait", "--for=delete", "job/short")
    assert pods(up, "short") == []


def test_a_gang_starts_together_or_not_at_all(up: MaarUp) -> None:
    """Four nodes have eight processors each: three pods of six fit, five do not."""
    marks = 'scheduling.volcano.sh/group-min-member: "%s"'
    for name, size in (("fits", 3), ("large", 5)):
        lines = (f"parallelism: {size}", f"completions: {size}")
        document = manifest(name, *lines, run_for="1h", cpu="6", annotations=marks % size)
        up.kubectl("apply", "-f", "-", stdin=document)
    wait_until("three run", lambda: status(up, "fits").get("ready") == 3)
    wait_until("all five are there", lambda: len(pods(up, "large")) == 5)
    groups = json.loads(up.kubectl("get", "pg", "-o", "json").stdout)["items"]
    minima = {one["metadata"]["ownerReferences"][0]["name"]: one["spec"]["minMember"] for one in groups}
    assert (minima["fits"], minima["large"]) == (3, 5)
    assert [one["spec"].get("nodeName") for one in pods(up, "large")] == [None] * 5
    up.kubectl("delete", "job", "fits", "large")


def test_nothing_is_lost_when_maar_up_is_killed(up: MaarUp) -> None:
    document = manifest("killed", "completions: 12", "parallelism: 4", "completionMode: Indexed")
    up.kubectl("apply", "-f", "-", stdin=document)
    for done in (1, 4, 8):
        wait_until("some are done", partial(has_succeeded, up, "killed", done))
        up.stop(signal.SIGKILL)
        up.start()
    up.kubectl("wait", "--for=condition=complete", "job/killed")
    found = status(up, "killed")
    assert (found["succeeded"], found["completedIndexes"]) == (12, "0-11")
    assert found.get("failed", 0) == 0
    assert len(pods(up, "killed")) == 12
