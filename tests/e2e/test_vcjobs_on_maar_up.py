"""Stories of Volcano's jobs on `maar up`: the same phases, also where the program is killed meanwhile."""

import json
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.maar_up import MaarUp
from support.needs_kubernetes import needs_kubernetes
from support.processes import Group
from support.story import Document
from support.story_vcjobs import (
    COMMAND,
    JOB_NAME,
    VCJOB,
    Watches,
    command,
    numbers,
    phase_of,
    template,
    vcjob,
)
from support.until import wait_until

RESTART = [{"events": ["PodFailed", "PodEvicted"], "action": "RestartJob"}]
ALIVE = ("pending", "running", "terminating")


@pytest.fixture
def own(folder: Path) -> Iterator[MaarUp]:
    """A cluster that a test may kill."""
    needs_kubernetes()
    with MaarUp(folder) as running:
        yield running


@pytest.fixture
def watches(up: MaarUp, folder: Path) -> Iterator[Watches]:
    with Group(folder) as beside:
        yield Watches(up.kubectl, beside, up.environment)


def task(replicas: int, **annotations: str) -> Document:
    """A task whose pods run as long and end as annotations say."""
    notes = {f"maar.sh/{name.replace('_', '-')}": text for name, text in annotations.items()}
    return {"replicas": replicas, "template": {**template(), "metadata": {"annotations": notes}}}


def apply(up: MaarUp, *documents: Document) -> None:
    up.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))


def get(up: MaarUp, job: str) -> Document:
    found = up.kubectl("get", VCJOB, job, "-o", "json", "--ignore-not-found").stdout
    return dict(json.loads(found)) if found else {}


def pods(up: MaarUp, job: str) -> list[str]:
    found = up.kubectl("get", "pods", "-l", f"{JOB_NAME}={job}", "-o", "json").stdout
    return [one["status"]["phase"] for one in json.loads(found)["items"]]


def until(up: MaarUp, job: str, phase: str, wanted: Mapping[str, int] | None = None) -> None:
    """Wait until a job is in a phase, with these counters."""

    def holds() -> bool:
        found = get(up, job)
        counters = {name: found.get("status", {}).get(name, 0) for name in wanted or {}}
        return phase_of(found) == phase and counters == (wanted or {})

    wait_until(lambda: f"{job} is {phase} with {wanted}; it is {get(up, job).get('status')}", holds)


def evict(up: MaarUp, pod: str) -> None:
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": "default"},
    }
    path = f"/api/v1/namespaces/default/pods/{pod}/eviction"
    up.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))


def delete(up: MaarUp, *jobs: str) -> None:
    """A job is gone at once, and its pods soon."""
    up.kubectl("delete", VCJOB, *jobs, "--wait=false")
    assert [job for job in jobs if get(up, job)] == []
    wait_until("their pods are gone", lambda: not any(pods(up, job) for job in jobs))


def test_a_job_ends_well_or_fails_after_its_last_run(up: MaarUp, watches: Watches) -> None:
    failing = vcjob("fails", {"w": task(2, run_for="1s", exit_code="3")}, maxRetry=2, policies=RESTART)
    apply(up, vcjob("life", {"w": task(2, run_for="1s")}), failing)
    ended = watches.until("life", "Pending", "Running", "Completed")
    assert numbers(ended, "succeeded", *ALIVE) == [2, 0, 0, 0]
    pending = watches.states("life")[0]["metadata"]["resourceVersion"]
    assert watches.first("podgroups", "life-") < int(pending)
    until(up, "fails", "Failed", {"retryCount": 2})
    assert "exit code 3" in get(up, "fails")["status"]["state"]["message"]
    wait_until("only failed pods are kept", lambda: set(pods(up, "fails")) == {"Failed"})
    delete(up, "life", "fails")


def test_a_job_is_suspended_resumed_and_evicted(up: MaarUp, watches: Watches) -> None:
    apply(up, vcjob("held", {"w": task(2)}, maxRetry=1, policies=RESTART))
    watches.until("held", "Pending", "Running")
    until(up, "held", "Running", {"running": 2})
    command(up.kubectl, "held", "AbortJob")
    ended = watches.until("held", "Pending", "Running", "Aborting", "Aborted")
    assert numbers(ended, *ALIVE) == [0, 0, 0]
    command(up.kubectl, "held", "ResumeJob")
    phases = ("Pending", "Running", "Aborting", "Aborted", "Restarting", "Pending", "Running")
    watches.until("held", *phases)
    until(up, "held", "Running", {"running": 2})
    evict(up, "held-w-0")
    again = watches.until("held", *phases, "Restarting", "Pending", "Running")
    assert numbers(again, "retryCount", "version") == [0, 3]
    delete(up, "held")


def test_jobs_go_on_when_the_whole_program_was_killed(own: MaarUp) -> None:
    apply(
        own,
        vcjob("held", {"w": task(1)}),
        vcjob("moved", {"w": task(2)}, maxRetry=1, policies=RESTART),
        vcjob("ends", {"w": task(2, run_for="4s")}),
        vcjob("fails", {"w": task(1, run_for="3s", exit_code="1")}, maxRetry=3, policies=RESTART),
        vcjob("old", {"w": task(1, run_for="3s")}, ttlSecondsAfterFinished=3),
    )
    for job, running in {"held": 1, "moved": 2, "ends": 2}.items():
        until(own, job, "Running", {"running": running})
    evict(own, "moved-w-1")
    command(own.kubectl, "held", "AbortJob")
    own.stop(signal.SIGKILL)
    own.start()
    until(own, "held", "Aborted", dict.fromkeys(ALIVE, 0))
    until(own, "moved", "Running", {"running": 2, "version": 1})
    until(own, "ends", "Completed", {"succeeded": 2})
    command(own.kubectl, "held", "ResumeJob")
    own.stop(signal.SIGKILL)
    own.start()
    until(own, "held", "Running", {"running": 1, "version": 2})
    until(own, "fails", "Failed", {"retryCount": 3, "failed": 1})
    wait_until("its time is over", lambda: not get(own, "old"))
    for job in ("held", "moved", "ends"):
        assert numbers(get(own, job)["status"], "retryCount") == [0]
    wait_until("no Command is left", lambda: not own.kubectl("get", COMMAND, "-o", "name").stdout)
    delete(own, "held", "moved", "ends", "fails")
    wait_until("no pod is left", lambda: not own.kubectl("get", "pods", "-o", "name").stdout)
