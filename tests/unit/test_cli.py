"""The command line as its users meet it: the real programs, their words and their exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from maar import __version__
from support.until import TIMEOUT_S

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden"
BIN = Path(sys.prefix) / "bin"
QUEUE = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q},"


def run(*command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    program = [str(BIN / command[0]), *command[1:]]
    return subprocess.run(
        program, input=stdin, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )


def refused(stdin: str) -> str:
    result = run("maar", "plan", "-f", "-", stdin=stdin)
    assert result.returncode == 1
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr.strip()


@pytest.mark.parametrize("asked", ["version", "--version"])
@pytest.mark.parametrize("program", ["maar", "vcctl", "kubectl-maar"])
def test_every_program_says_its_version(program: str, asked: str) -> None:
    result = run(program, asked)
    assert (result.returncode, result.stdout) == (0, f"maar {__version__}\n")


def test_the_plan_of_the_small_example_is_drawn() -> None:
    result = run("maar", "plan", "-f", "examples/small")
    assert result.returncode == 0
    assert result.stderr == ""
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines == (GOLDEN / "plan-small.txt").read_text(encoding="utf-8").splitlines()
    assert max(len(line) for line in lines[: lines.index("")]) <= 100


def test_a_plan_shows_one_resource_or_all_of_them() -> None:
    lines = run("maar", "plan", "-f", "examples/small", "-o", "wide").stdout.splitlines()
    assert lines[0].split()[:3] == ["QUEUE", "WEIGHT", "RESOURCE"]
    assert [line.split()[-5:-1] for line in lines[1:3]] == [
        ["cpu", "20", "24", "41"],
        ["memory", "40Gi", "96Gi", "88Gi"],
    ]
    lines = run("maar", "plan", "-f", "examples/small", "--resource", "memory").stdout.splitlines()
    assert lines[1].split()[1:4] == ["40Gi", "96Gi", "88Gi"]
    assert "memory is shown; -o wide shows cpu too" in lines
    refused = run("maar", "plan", "-f", "examples/small", "--resource", "gpu")
    assert refused.returncode == 2
    assert "there is nothing to show of it; choose cpu or" in refused.stderr


def test_a_misspelt_field_is_named_and_the_rest_is_planned() -> None:
    queue = f"{QUEUE} spec: {{wieght: 3}}}}"
    result = run("maar", "plan", "-f", "-", "-f", "examples/small", stdin=queue)
    assert result.returncode == 0
    assert "Queue q: unknown field spec.wieght (did you mean weight?)" in result.stderr
    assert "├─ q " in result.stdout


def test_a_queue_without_its_parent_is_set_aside_and_the_rest_is_planned() -> None:
    queue = f"{QUEUE} spec: {{parent: gone}}}}"
    result = run("maar", "plan", "-f", "-", "-f", "examples/small", stdin=queue)
    assert result.returncode == 0
    assert "queue q: SetAside: queue q has a parent that does not exist: create queue gone" in result.stderr
    assert "research" in result.stdout


def test_a_queue_with_a_bad_weight_is_set_aside_and_the_rest_is_planned() -> None:
    result = run("maar", "plan", "-f", "-", "-f", "examples/small", stdin=f"{QUEUE} spec: {{weight: 0}}}}")
    assert result.returncode == 0
    assert "queue q: SetAside: queue q: weight 0 is out of range: a weight is 1 to 65535" in result.stderr
    assert "research" in result.stdout


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_a_plan_is_data_for_programs(output: str) -> None:
    result = run("maar", "plan", "-f", "examples/small", "-o", output, "--cycles", "2")
    first, second = yaml.safe_load(result.stdout)["cycles"]
    assert first["evictions"][0] == {"pod": "vision/sweep-4", "for": "data/nightly", "action": "reclaim"}
    reported = (
        "reclaim for data/nightly of queue platform/etl: queue research/train uses cpu 20 of 11 deserved"
    )
    assert first["whyEvicted"]["vision/sweep-4"] == reported
    assert first["queues"]["platform"]["binding"]["cpu"] == "guarantee"
    assert second["binds"]["data/nightly-0"] == "node-3"
    assert second["podGroups"]["vision/jupyter"]["reason"] == "QueueAtCapability"


def test_victims_come_back_when_they_are_resubmitted() -> None:
    command = ("maar", "plan", "-f", "examples/small", "-o", "json", "--cycles", "2", "--resubmit-victims")
    waiting = yaml.safe_load(run(*command).stdout)["cycles"][1]["podGroups"]["vision/sweep"]
    assert waiting["reason"] == "ReservedForOthers"
    assert "what is idle under root is reserved for platform: cpu 4 wanted" in waiting["message"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--now", "yesterday"), "--now: 'yesterday' is not a time; write it as 2026-01-31T12:00:00Z"),
        (
            ("--config", "nowhere.yaml"),
            "nowhere.yaml: cannot be read: no such file or directory; name another file",
        ),
        (("--config", "README.md"), "README.md: not YAML"),
        (("--config", "examples/small/queues.yaml"), "not YAML"),
    ],
)
def test_bad_options_say_what_is_wrong(arguments: tuple[str, ...], sentence: str) -> None:
    result = run("maar", "plan", "-f", "examples/small", *arguments)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_configuration_with_mistakes_names_them_all(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("actions: enqueue, dance\ntiers: [{plugins: [{name: dancer}]}]\n", encoding="utf-8")
    result = run("maar", "plan", "-f", "examples/small", "--config", str(config))
    assert result.returncode == 1
    assert "unknown action 'dance'" in result.stderr
    assert "unknown plugin 'dancer'" in result.stderr


def test_lists_are_taken_apart_and_other_kinds_are_counted() -> None:
    other = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"
    items = f"{{apiVersion: v1, kind: List, items: [{other}, {QUEUE}}}]}}"
    result = run("maar", "plan", "-f", "-", stdin=items)
    assert result.returncode == 0
    assert "note: ConfigMap (1): not read" in result.stderr
    assert "no node can be used" in result.stderr


@pytest.mark.parametrize(
    ("stdin", "found"),
    [("", "no object"), ("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}", "Deployment (1)")],
)
def test_a_cluster_of_unrelated_objects_is_not_planned(stdin: str, found: str) -> None:
    reported = refused(stdin)
    assert f"error: there is nothing to plan with: found {found}; a cluster is Nodes, Queues, " in reported
    assert "kubectl get nodes,queues,podgroups,pods -A -o yaml prints them" in reported


@pytest.mark.parametrize(
    ("stdin", "sentence"),
    [
        ("kind: [", "error: standard input: not YAML: line 2, column 1: did not find expected"),
        ("[" * 100_000, "error: standard input: not YAML: line 1, column 101: nested more than 100 levels"),
        ("kind: Queue\nkind: Pod", "put a line with --- before line 2"),
        ("- 1", "error: standard input, document 1: not an object of Kubernetes: it has no kind"),
        (
            f"---\n---\n{QUEUE} spec: {{capability: {{cpu: 2c}}}}}}",
            "error: standard input, document 2: Queue q: spec.capability.cpu: '2c' is not a quantity",
        ),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: 1}]}}",
            "document 1: Pod p: spec.containers[0].name: expected `str`, got `int`",
        ),
        (
            "{apiVersion: v1, kind: Pod, metadata: 3}",
            "document 1: Pod without a name: metadata: expected `object`",
        ),
        ("{apiVersion: v1, kind: Pod}", "document 1: Pod: metadata.name is missing"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(stdin: str, sentence: str) -> None:
    assert sentence in refused(stdin)


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "nowhere.yaml: there is no such file or folder" in run("maar", "plan", "-f", "nowhere.yaml").stderr
    misspelt = run("maar", "plan", "-f", "examples/smal").stderr
    assert misspelt == (
        "error: examples/smal: there is no such file or folder; did you mean examples/small?\n"
    )
    assert "the folder has no .yaml, .yml, .json files" in run("maar", "plan", "-f", str(tmp_path)).stderr
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    assert "binary.yaml: not YAML: byte 0 is not UTF-8" in run("maar", "plan", "-f", str(tmp_path)).stderr


def test_what_another_command_prints_is_read_from_a_pipe() -> None:
    cluster = "docs/examples/explain/cluster.yaml"  # it has events, which are read too
    explain = f"{BIN / 'maar'} explain job nightly -n data --now 2026-02-02T10:00:00Z --within 0 -f"
    said = set[str]()
    for file in (cluster, f"- < {cluster}", f"<(cat {cluster})"):
        command = ["bash", "-c", f"{explain} {file}"]
        result = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
        assert (result.returncode, result.stderr) == (0, "")
        said.add(result.stdout)
    assert len(said) == 1
    twice = run("maar", "plan", "-f", "-", "-f", "-", stdin=(ROOT / cluster).read_text(encoding="utf-8"))
    assert twice.returncode == 0


def test_a_wrong_command_line_leaves_with_2() -> None:
    assert run("maar", "paln").returncode == 2
    assert run("maar", "plan").returncode == 2


def test_a_reader_that_leaves_early_sees_no_error() -> None:
    piped = f"{BIN / 'maar'} manifests | head -n 1"
    result = subprocess.run(["sh", "-c", piped], capture_output=True, text=True, check=False)
    assert result.stderr == ""
