"""The commands for cron jobs, job flows and job templates on API servers: what they write and print."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Ended, Run, run
from support.manifests import unique

__all__ = ["run"]

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.usefixtures("crds", "anyio_backend"),
    pytest.mark.skipif(
        not (ROOT / "deploy/crds/jobflows.flow.volcano.sh.yaml").exists(), reason="needs the CRDs of flows"
    ),
]

JOB = """{minAvailable: 1, queue: default, tasks: [{name: w, replicas: 2, template: {spec: {
  restartPolicy: Never, containers: [{name: c, image: busybox}]}}}]}"""
CRON = """
apiVersion: batch.volcano.sh/v1alpha1
kind: CronJob
metadata: {name: %s}
spec:
  schedule: "*/5 * * * *"
  timeZone: Europe/Amsterdam
  jobTemplate: {metadata: {labels: {team: a}}, spec: %s}
"""
FLOW = """
apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata: {name: %s}
spec: {flows: [{name: %s}]}
"""
TEMPLATE = """
apiVersion: flow.volcano.sh/v1alpha1
kind: JobTemplate
metadata: {name: %s}
spec: %s
"""


class Commands:
    """The programs on the server under test."""

    def __init__(self, run: Run, folder: Path) -> None:
        self._run, self._folder = run, folder

    def __call__(self, program: str, *arguments: str, code: int = 0) -> Ended:
        ended = self._run(program, *arguments)
        assert ended.code == code, ended.err
        return ended

    def file(self, text: str) -> str:
        """A file with manifests."""
        file = self._folder / "objects.yaml"
        file.write_text(text, encoding="utf-8")
        return str(file)


@pytest.fixture
def commands(run: Run, kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    return Commands(run, tmp_path)


@pytest.fixture
def cron(commands: Commands) -> Iterator[str]:
    """A cron job, which is gone afterwards."""
    name = unique("cron")
    made = commands("maar", "cron", "create", "-f", commands.file(CRON % (name, JOB)))
    assert made.out == f"cronjob.batch.volcano.sh/{name} created\n"
    yield name
    assert commands("maar", "cron", "delete", name).out == f"cronjob.batch.volcano.sh/{name} deleted\n"


@pytest.fixture
def flow(commands: Commands) -> Iterator[str]:
    """A flow of one job, made from a template of the same name; gone afterwards."""
    name = unique("flow")
    text = f"{TEMPLATE % (name, JOB)}---{FLOW % (name, name)}"
    made = commands("maar", "flow", "create", "-f", commands.file(text)).out.splitlines()
    assert made == [f"{kind}.flow.volcano.sh/{name} created" for kind in ("jobtemplate", "jobflow")]
    yield name
    assert commands("maar", "flow", "delete", name).out == f"jobflow.flow.volcano.sh/{name} deleted\n"
    deleted = commands("vcctl", "jobtemplate", "delete", "-N", name)
    assert deleted.out == f"Deleted JobTemplate: default/{name}\n"


def test_a_cron_job_is_listed_suspended_and_resumed(commands: Commands, cron: str) -> None:
    for verb, done, shown in (("suspend", "suspended", "True"), ("resume", "resumed", "False")):
        assert commands("maar", "cron", verb, cron).out == f"cronjob.batch.volcano.sh/{cron} {done}\n"
        assert commands("maar", "cron", verb, cron).out == f"cronjob.batch.volcano.sh/{cron} unchanged\n"
        rows = [line.split() for line in commands("maar", "cron", "list").out.splitlines()]
        row = next(row for row in rows if row[0] == cron)
        assert row[1:9] == ["*/5", "*", "*", "*", "*", "Europe/Amsterdam", shown, "0"]
    said = commands("maar", "cron", "view", f"{cron}x", code=1).err
    assert said == f"error: cron job default/{cron}x does not exist; did you mean {cron}?\n"


def test_a_job_of_a_cron_job_is_made_now(commands: Commands, cron: str) -> None:
    made = commands("maar", "cron", "trigger", cron, "-o", "json").out
    job = json.loads(made)["metadata"]
    assert job["name"].startswith(f"{cron}-manual-")
    assert (job["labels"]["team"], job["ownerReferences"][0]["name"]) == ("a", cron)
    shown = commands("maar", "cron", "view", cron).out
    assert shown.startswith(f"cron job default/{cron}  Active  */5 * * * *  Europe/Amsterdam\n")
    assert f"\n{job['name']}  Pending  0/0/0/2 " in shown
    dry = commands("maar", "cron", "trigger", cron, "--name", "by-hand", "--dry-run=server").out
    assert dry == "job.batch.volcano.sh/by-hand created (server dry run)\n"


def test_a_flow_is_listed_and_drawn(commands: Commands, flow: str) -> None:
    rows = [line.split() for line in commands("maar", "flow", "list").out.splitlines()]
    assert next(row for row in rows if row[0] == flow)[1:3] == ["Pending", "0/0/0/1"]
    rows = [line.split() for line in commands("maar", "flow", "templates").out.splitlines()]
    assert next(row for row in rows if row[0] == flow)[1:3] == ["default", "2"]
    shown = commands("maar", "flow", "view", flow).out
    assert shown.startswith(f"flow default/{flow}  Pending  0 of 1 jobs completed; made ")
    assert f"\n└─ {flow}  not made yet " in shown


def test_volcanos_commands_for_flows(commands: Commands, flow: str) -> None:
    for kind in ("jobflow", "jobtemplate"):
        for verb in (("list",), ("get", "-N", flow)):
            rows = [line.split() for line in commands("vcctl", kind, *verb).out.splitlines()]
            assert rows[0][:2] == ["Name", "Namespace"]
            assert [flow, "default"] in [row[:2] for row in rows]
    described = json.loads(commands("vcctl", "jobflow", "describe", "-N", flow, "-o", "json").out)
    assert described["spec"]["flows"] == [{"name": flow}]
    second = f"{flow}-second"
    file = commands.file(FLOW % (second, flow))
    assert commands("vcctl", "jobflow", "create", "-f", file).out == f"Created JobFlow: default/{second}\n"
    assert commands("vcctl", "jobflow", "delete", "-f", file).out == f"Deleted JobFlow: default/{second}\n"
    gone = commands("vcctl", "jobflow", "get", "-N", second, code=255)
    assert (
        gone.err == f"Failed to get jobflow: job flow default/{second} does not exist; did you mean {flow}?\n"
    )
