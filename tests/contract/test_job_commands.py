"""The job commands on API servers: what they write, what they print, and what they say when refused.

Nobody carries out what is written here: statuses are written as the controller of jobs does.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from maar.core.model.job import Command, Job
from maar.core.model.kinds import plain
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Done
from maar.kube.paths import PODS, ResourcePath, resource_path_of
from maar.kube.write import create, patch
from support.commands import Ended, Run, run
from support.manifests import unique
from support.until import TIMEOUT_S

__all__ = ["run"]

pytestmark = pytest.mark.usefixtures("crds", "anyio_backend")

TITLE = "job.batch.volcano.sh"
EVENTS = ResourcePath("v1", "events", namespaced=True)

MANIFEST = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %s, labels: {team: %s}}
spec:
  minAvailable: 2
  queue: default
  tasks: [{name: worker, replicas: 2, template: {spec: {containers: [{name: main, image: busybox}]}}}]
"""


class Commands:
    """The programs on the server under test."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, program: str, *arguments: str, code: int = 0) -> Ended:
        ended = self._run(program, *arguments)
        assert ended.code == code, ended.err
        return ended

    def job(self, *arguments: str, code: int = 0) -> Ended:
        """Run `maar job`."""
        return self("maar", "job", *arguments, code=code)

    def stored(self, name: str) -> Any:  # noqa: ANN401  # plain data
        """A job as the server has it."""
        return json.loads(self.job("view", name, "-o", "json").out)


@pytest.fixture
def commands(run: Run, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    return Commands(run)


@pytest.fixture
def name(commands: Commands, run: Run) -> Iterator[str]:
    """A name for a job, which is gone afterwards."""
    name = unique("job")
    yield name
    run("maar", "job", "delete", name)
    assert commands.job("view", name, code=1).err.startswith(f"error: job default/{name} does not exist")


def on_server(work: Any) -> Any:  # noqa: ANN401  # a coroutine function of a server
    async def session() -> object:
        async with ApiServer(await load(None, None)) as server:
            return await work(server)

    return asyncio.run(session())


def write_status(name: str, status: dict[str, object]) -> None:
    place = resource_path_of(Job)
    outcome = on_server(
        lambda server: patch(server, place, f"default/{name}", {"status": status}, subresource="status")
    )
    assert isinstance(outcome, Done), outcome


def make(place: ResourcePath, document: dict[str, Any]) -> None:
    key = f"default/{document['metadata']['name']}"
    outcome = on_server(lambda server: create(server, place, key, document))
    assert isinstance(outcome, Done), outcome


def actions_for(name: str) -> list[Any]:
    async def ask(server: ApiServer) -> Any:  # noqa: ANN401  # plain data
        return plain(await server.request("GET", resource_path_of(Command).all("default")))

    return [one for one in on_server(ask)["items"] if one["target"]["name"] == name]


def test_a_job_is_run_from_flags(commands: Commands, name: str) -> None:
    made = commands.job(
        "run", name, "--image", "busybox:1", "--replicas", "3", "--min", "2", "--requests",
        "cpu=1,memory=1Gi",
        "--limits", "cpu=2", "--queue", "default", "--scheduler", "volcano", "--", "echo", "hello world",
    )  # fmt: skip
    assert made.out == f"{TITLE}/{name} created\n"
    spec = commands.stored(name)["spec"]
    assert (spec["minAvailable"], spec["queue"], spec["schedulerName"]) == (2, "default", "volcano")
    (task,) = spec["tasks"]
    assert (task["name"], task["replicas"]) == (name, 3)
    (container,) = task["template"]["spec"]["containers"]
    assert container["command"] == ["echo", "hello world"]
    assert container["resources"] == {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}
    assert task["template"]["spec"]["restartPolicy"] == "Never"


def test_jobs_are_run_from_files_and_a_refused_one_keeps_no_other_from_it(
    commands: Commands, name: str, tmp_path: Path
) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text("---".join(MANIFEST % (one, "a") for one in ("Bad_Name", name)), encoding="utf-8")
    ended = commands.job("run", "-f", str(file), code=1)
    assert ended.out == f"{TITLE}/{name} created\n"
    assert "error: job default/Bad_Name: metadata.name: Invalid value" in ended.err
    again = commands.job("run", "-f", str(file), code=1)
    taken = f"error: job default/{name} exists already; delete it with maar job delete {name}"
    assert f"{taken}, or choose another name\n" in again.err


def test_a_dry_run_changes_nothing(commands: Commands, name: str) -> None:
    dry = commands.job("run", name, "--image", "busybox", "--dry-run=server")
    assert dry.out == f"{TITLE}/{name} created (server dry run)\n"
    assert commands.job("view", name, code=1).out == ""
    commands.job("run", name, "--image", "busybox")
    dry = commands.job("delete", name, "--dry-run=server")
    assert dry.out == f"{TITLE}/{name} deleted (server dry run)\n"
    assert commands.job("suspend", name, "--dry-run=server").out.endswith("suspended (server dry run)\n")
    assert actions_for(name) == []
    shown = commands.job("run", f"{name}-2", "--image", "busybox", "--dry-run=server", "-o", "yaml")
    assert yaml.safe_load(shown.out)["metadata"]["name"] == f"{name}-2"


def test_jobs_are_listed_in_every_form(commands: Commands, name: str, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(MANIFEST % (name, name), encoding="utf-8")
    assert commands.job("run", "-f", str(file), "-o", "name").out == f"{TITLE}/{name}\n"
    write_status(
        name, {"state": {"phase": "Pending", "reason": "QueueAtCapability"}, "pending": 2, "minAvailable": 2}
    )
    table = commands.job("list", "-l", f"team={name}").out.splitlines()
    assert table[0].split() == ["NAME", "QUEUE", "STATUS", "PODS", "RETRIES", "AGE"]
    assert table[1].split()[:6] == [name, "default", "Pending", "(QueueAtCapability)", "0/0/0/2", "0"]
    row = commands.job("list", "-l", f"team={name}", "-A", "-o", "wide").out.splitlines()[1].split()
    assert row[:2] == ["default", name]
    assert commands.job("list", "-l", f"team={name}", "-o", "name").out == f"{TITLE}/{name}\n"
    assert name in commands.job("list", "-q", "default", "--phase", "pending").out
    unknown = commands.job("list", "-q", "another", "-l", f"team={name}", code=1)
    assert unknown.err.startswith("error: queue another does not exist")
    none = commands.job("list", "--phase", "running", "-l", f"team={name}")
    assert (none.out, none.err) == ("", "No jobs found in namespace default with these labels\n")
    listed = json.loads(commands.job("list", "-o", "json", "-l", f"team={name}").out)
    assert [one["metadata"]["name"] for one in listed["items"]] == [name]
    assert json.loads(commands.job("list", "-o", "json", "--phase", "aborted").out)["items"] == []


def test_a_job_is_shown_with_what_belongs_to_it(commands: Commands, name: str) -> None:
    commands.job("run", name, "--image", "busybox", "-r", "2")
    uid = commands.stored(name)["metadata"]["uid"]
    waits = "queue default is at its capability: cpu 4 of 4 used, 2 wanted"
    write_status(name, {"state": {"phase": "Pending", "message": waits}, "pending": 1, "minAvailable": 2})
    labels = {"volcano.sh/job-name": name, "volcano.sh/task-spec": name, "volcano.sh/task-index": "0"}
    pod = f"{name}-{name}-0"
    make(
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod, "namespace": "default", "labels": labels},
            "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "busybox"}]},
        },
    )
    about = {"apiVersion": Job.api_version, "kind": "Job", "namespace": "default", "name": name, "uid": uid}
    make(
        EVENTS,
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name}.1", "namespace": "default"},
            "involvedObject": about,
            "type": "Warning",
            "reason": "FailedCreate",
            "message": "a quota refuses it",
        },
    )
    shown = commands.job("view", name).out
    assert shown.startswith(f"job default/{name}  Pending  in queue default\n")
    assert f"\n{waits}\n" in shown
    assert f"{pod} " in shown
    assert "FailedCreate: a quota refuses it" in shown
    listed = commands("maar", "pod", "list", "-j", name).out.splitlines()
    assert listed[1].split()[:4] == [pod, "0/1", "Pending", "0"]
    volcanos = commands("vcctl", "pod", "list", "-j", name).out.splitlines()
    assert volcanos[0].split() == ["Name", "Ready", "Status", "Restart", "Age"]
    assert volcanos[1].split()[0] == pod
    wrong = commands("vcctl", "pod", "list", "-j", name, "-q", "another", code=255)
    assert wrong.err == f"Failed to list pods: job {name} is in queue default, not in queue another\n"
    assert "FailedCreate" in commands("vcctl", "job", "view", "-N", name).out
    waiting = commands.job("logs", name)
    assert waiting.err == f"note: pod {pod} is Pending and has printed nothing yet\n"
    assert commands("maar", "pod", "list", "-l", "nobody=has-this").out == ""


@pytest.mark.parametrize(("verb", "phase", "done", "action"), [
    ("suspend", "Running", "suspended", "AbortJob"),
    ("resume", "Aborted", "resumed", "ResumeJob"),
])  # fmt: skip
def test_an_order_is_left_for_the_job(  # a row of the table above
    commands: Commands, name: str, verb: str, phase: str, done: str, action: str
) -> None:
    commands.job("run", name, "--image", "busybox")
    write_status(name, {"state": {"phase": phase}})
    ended = commands.job(verb, "nobody-there", name, code=1)
    assert ended.out == f"{TITLE}/{name} {done}\n"
    assert ended.err == "error: job default/nobody-there does not exist; maar job list shows those that do\n"
    assert commands("vcctl", "job", verb, "-N", name) == (0, "", "")
    assert commands(f"v{verb}", "-n", name) == (0, "", "")
    found = actions_for(name)
    assert [one["action"] for one in found] == [action] * 3
    for one in found:
        assert one["metadata"]["name"].startswith(f"{name}-{action.lower()}-")
        (owner,) = one["metadata"]["ownerReferences"]
        uid = commands.stored(name)["metadata"]["uid"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", uid, True)
        assert (one["target"]["kind"], one["target"]["name"], one["target"]["uid"]) == ("Job", name, uid)


def test_jobs_that_an_order_does_not_concern_are_left_as_they_are(commands: Commands, name: str) -> None:
    commands.job("run", name, "--image", "busybox")
    for phase, verb in (("Aborting", "suspend"), ("Running", "resume")):
        write_status(name, {"state": {"phase": phase}})
        assert commands.job(verb, name).out == f"{TITLE}/{name} unchanged\n"
    write_status(name, {"state": {"phase": "Completed"}})
    ended = commands.job("suspend", name, code=1)
    assert ended.err.startswith(f"error: job default/{name} is Completed and cannot be suspended; ")
    assert actions_for(name) == []


def test_jobs_are_deleted_by_labels(commands: Commands, tmp_path: Path) -> None:
    team = unique("team")
    names = [unique("job"), unique("job")]
    file = tmp_path / "jobs.yml"
    file.write_text("---".join(MANIFEST % (one, team) for one in names), encoding="utf-8")
    commands.job("run", "-f", str(file))
    gone = commands.job("delete", "-l", f"team={team}", "--cascade", "foreground").out.splitlines()
    assert sorted(gone) == sorted(f"{TITLE}/{one} deleted" for one in names)
    assert commands.job("list", "-l", f"team={team}").out == ""


def test_a_misspelt_job_is_guessed(commands: Commands, name: str) -> None:
    commands.job("run", name, "--image", "busybox")
    for verb in ("view", "logs", "suspend", "resume", "delete"):
        said = commands.job(verb, f"{name}x", code=1).err.splitlines()
        assert said == [f"error: job default/{name}x does not exist; did you mean {name}?"]


def test_a_list_is_watched_until_somebody_interrupts(commands: Commands, name: str, kubeconfig: Path) -> None:
    commands.job("run", name, "--image", "busybox")
    watching = subprocess.Popen(
        [sys.executable, "-c", "from maar.cli.entry import maar; maar()", "job", "list", "-w"],
        env={**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert watching.stdout is not None
        rows = (line.split() for line in watching.stdout)
        assert next(row for row in rows if row[0] == name)[2] == "Pending"
        write_status(name, {"state": {"phase": "Running"}, "running": 1})
        assert next(row for row in rows if row[0] == name)[2:4] == ["Running", "1/0/0/1"]
        commands.job("delete", name)
        assert next(row for row in rows if row[0] == name)[2] == "Deleted"
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=TIMEOUT_S)
        assert (watching.returncode, out, err) == (130, "", "")
    finally:
        watching.kill()
        watching.communicate()


def test_volcanos_commands_run_list_show_and_delete(commands: Commands, name: str, tmp_path: Path) -> None:
    assert commands("vcctl", "job", "run", "-N", name, "-r", "2").out == f"run job {name} successfully\n"
    spec = commands.stored(name)["spec"]
    (container,) = spec["tasks"][0]["template"]["spec"]["containers"]
    assert (container["image"], container["resources"]["requests"]["memory"]) == ("busybox", "100Mi")
    assert spec["tasks"][0]["template"]["metadata"]["labels"] == {"job.volcano.sh": name}
    rows = commands("vcctl", "job", "list", "--selector", name[2:]).out.splitlines()
    assert rows[0].split()[:4] == ["Name", "Creation", "Phase", "JobType"]
    assert rows[1].split()[0] == name
    assert commands("vcctl", "job", "list", "--selector", "nobody-has-this").out == "No resources found\n"
    assert commands("vcctl", "job", "view", "-N", name).out.startswith(
        f"Name:       \t{name}\nNamespace:  \tdefault\n"
    )
    assert commands("vcctl", "job", "delete", "-N", name).out == f"delete job {name} successfully\n"
    file = tmp_path / "job.yaml"
    file.write_text(MANIFEST % (name, "a"), encoding="utf-8")
    assert commands("vcctl", "job", "run", "-f", str(file)).out == f"run job {name} successfully\n"
    twice = commands("vcctl", "job", "run", "-f", str(file), code=255)
    assert twice.out == ""
    assert twice.err.startswith(f"Failed to run job: job default/{name} exists already; ")


def test_volcanos_short_programs(commands: Commands, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOLCANO_DEFAULT_IMAGE", "alpine:3")
    monkeypatch.setenv("VOLCANO_SCHEDULER_NAME", "mine")
    made = commands("vsub", "-n", name, "-c", "echo 'hello world'")
    assert made.out == f"run job {name} successfully\n"
    spec = commands.stored(name)["spec"]
    (container,) = spec["tasks"][0]["template"]["spec"]["containers"]
    assert (container["image"], container["command"]) == ("alpine:3", ["echo", "hello world"])
    assert spec["schedulerName"] == "mine"
    assert name in commands("vjobs").out
    assert commands("vjobs", "-n", name).out.startswith(f"Name:       \t{name}\n")
    monkeypatch.setenv("VOLCANO_DEFAULT_JOB_NAMESPACE", "kube-system")
    assert commands("vjobs").out == "No resources found\n"
    assert commands("vcancel", "-n", name, "-N", "default").out == f"cancel job {name} successfully\n"
    gone = commands("vcancel", "-n", name, "-N", "default", code=255)
    assert gone.err == f"Failed to: job default/{name} does not exist; maar job list shows those that do\n"


def test_names_are_completed(commands: Commands, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commands.job("run", name, "--image", "busybox")
    for line, wanted in (
        (f"maar job view {name[:-2]}", name),
        ("maar job list --namespace kube-s", "kube-system"),
    ):
        monkeypatch.setenv("_MAAR_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
        assert wanted in commands("maar").out.splitlines()
    monkeypatch.delenv("_MAAR_COMPLETE")
