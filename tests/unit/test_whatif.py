"""`maar whatif` and `maar.whatif`: what a change would do, in words, data and columns, and exit codes."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import yaml

import maar
from maar.core.answers.whatif.known_objects import BadChangeError
from support.golden import compare
from support.until import TIMEOUT_S

ROOT = Path(__file__).parents[2]
TEAMS = "docs/examples/two-teams.yaml"
NOON = "2026-01-31T12:00:00Z"
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
HALF_PAST = datetime(2026, 1, 31, 12, 30, tzinfo=UTC).timestamp()
WEIGHT = ("--set", "queue/serving.weight=3")
JOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "ml"},
    "spec": {
        "queue": "research",
        "minAvailable": 2,
        "tasks": [
            {
                "name": "worker",
                "replicas": 2,
                "template": {
                    "spec": {
                        "containers": [
                            {"name": "main", "image": "none", "resources": {"requests": {"cpu": "4"}}}
                        ]
                    }
                },
            }
        ],
    },
}


def run(*arguments: str, stdin: str = "", source: str = TEAMS) -> subprocess.CompletedProcess[str]:
    program = [f"{sys.prefix}/bin/maar", "whatif", "-f", source, "--now", NOON, *arguments]
    return subprocess.run(
        program, input=stdin, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )


def test_a_soft_guarantee_is_a_field_as_any_other() -> None:
    asked = run("--set", "queue/serving.deserved.cpu=11", "-o", "json")
    assert asked.returncode == 0, asked.stderr
    deserved = json.loads(asked.stdout)["queues"]["serving"]["deserved"]
    assert (deserved["before"]["cpu"], deserved["after"]["cpu"]) == ("8", "11")


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("weight", WEIGHT, 3),
        ("nodes", ("--add-nodes", "1x8cpu,32Gi"), 0),
        ("drain", ("--drain", "node-2"), 3),
        ("delete", ("--delete", "podgroup/web/batch"), 3),
        ("nothing", ("--set", "queue/serving.reclaimable=false"), 0),
        ("together", (*WEIGHT, "--add-nodes", "1x8cpu,32Gi", "--drain", "node-2"), 3),
    ],
)
def test_an_answer_reads_as_it_is_written_down(name: str, arguments: tuple[str, ...], code: int) -> None:
    result = run(*arguments)
    assert (result.returncode, result.stderr) == (code, "")
    compare(f"whatif-{name}.txt", "\n".join(line.rstrip() for line in result.stdout.splitlines()) + "\n")


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_an_answer_is_data(output: str) -> None:
    result = run(*WEIGHT, "-o", output)
    assert result.returncode == 3
    compare(f"whatif-weight.{output}", result.stdout)
    data = json.loads(result.stdout) if output == "json" else yaml.safe_load(result.stdout)
    assert data["evicts"] is True
    assert data == maar.whatif(TEAMS_PATH, set={"queue/serving.weight": 3}, now=NOW, starts=10).data()


TEAMS_PATH = ROOT / TEAMS


def test_a_submitted_job_is_asked_about_from_a_file_or_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(JOB), encoding="utf-8")
    result = run("--submit", str(file), "--add-nodes", "2x8cpu,32Gi")
    assert "ml/train    research    0 → 2" in result.stdout
    assert result.returncode == 0
    again = run("--submit", "-", "--add-nodes", "2x8cpu,32Gi", stdin=yaml.safe_dump(JOB))
    assert again.stdout == result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ((), 2, "there is no change: give --set, --add-nodes, --drain, --delete or --submit"),
        (("--set", "foo"), 2, "--set foo: it has no value; write foo=VALUE"),
        (("--set", "foo=3"), 2, "--set foo: it names nothing that can be changed; write queue/NAME"),
        (
            ("--set", "queue/serving=3"),
            2,
            "--set queue/serving: it names no field; write queue/serving.FIELD",
        ),
        (
            ("--delete", "report"),
            2,
            "--delete report: it names nothing that can be changed; write queue/NAME",
        ),
        (("--set", "queue/serving.wight=3"), 1, "did you mean weight?"),
        (("--set", "queue/serving.weight=0"), 1, "[queue-weight] spec.weight is 0"),
        (("--set", "queue/servin.weight=1"), 1, "there is no queue servin; did you mean serving?"),
        (("--add-nodes", "4x8"), 2, "--add-nodes '4x8': '8' is less than 1Mi of memory"),
        (
            ("--add-nodes", "none"),
            1,
            "--add-nodes 'none': neither nodes of a size, nor a file that exists: wr",
        ),
        (
            ("--add-nodes", "huge"),
            1,
            "--add-nodes 'huge': neither nodes of a size, nor a file that exists: wr",
        ),
        (("--drain", "node-9"), 1, "there is no node node-9; did you mean node-2?"),
        (("--submit", "nowhere.yaml"), 1, "nowhere.yaml: there is no such file"),
        (("--submit", "Makefile"), 1, "not YAML"),
        (("--delete", "job/web/report"), 1, "there is no job web/report"),
        ((*WEIGHT, "--now", "noon"), 1, "is not a time"),
        ((*WEIGHT, "--starts", "-1"), 2, "--starts"),
    ],
)
def test_bad_input_is_a_sentence(arguments: tuple[str, ...], code: int, sentence: str) -> None:
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (code, "")
    assert sentence in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_a_change_that_is_malformed_is_refused_before_a_cluster_is_asked() -> None:
    asked = [f"{sys.prefix}/bin/maar", "whatif", "--set", "foo", "--kubeconfig", "none"]
    result = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (result.returncode, "--set foo: it has no value" in result.stderr) == (2, True)


def test_a_running_cluster_is_asked_at_no_other_time() -> None:
    asked = [f"{sys.prefix}/bin/maar", "whatif", *WEIGHT, "--now", NOON, "--kubeconfig", "none"]
    result = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "--now is for clusters in files" in result.stderr


def test_a_snapshot_is_asked_at_its_own_time(tmp_path: Path) -> None:
    taken = {
        "apiVersion": "maar.sh/v1",
        "kind": "Snapshot",
        "time": "2026-01-31T12:29:00Z",
        "configuration": {"actions": "enqueue, allocate"},  # nothing reclaims there
    }
    file = tmp_path / "snapshot.yaml"
    items = yaml.safe_load((ROOT / TEAMS).read_text(encoding="utf-8"))["items"]
    file.write_text(yaml.safe_dump_all([taken, *items]), encoding="utf-8")
    answer = maar.whatif(file, set={"queue/serving.weight": 3}, starts=1)
    assert not answer.evicts
    row = answer.jobs.group.index("web/report")
    assert answer.jobs.start_before[row] == datetime(2026, 1, 31, 13, tzinfo=UTC).timestamp()


def test_columns_are_arrays_of_numbers_and_lists_of_names() -> None:
    answer = maar.whatif(TEAMS_PATH, set={"queue/serving.weight": 3}, now=NOW, starts=5)
    jobs = answer.jobs
    row = jobs.group.index("web/report")
    assert (jobs.running_before[row], jobs.running_after[row]) == (0, 4)
    assert jobs.start_before[row] == HALF_PAST
    assert jobs.start_after[row] == NOW.timestamp()
    assert jobs.evicted.dtype == answer.queues.deserved_after.dtype == np.int64
    parts = answer.to_dict()
    assert all(len({len(column) for column in part.values()}) == 1 for part in parts.values())
    assert answer.evicts
    assert set(answer.evictions.beneficiary) == {"web/report"}
    assert repr(answer) == "<WhatIf: 4 binds, 4 evictions; print() shows it>"


def test_objects_of_a_program_are_asked_about_and_submitted() -> None:
    items = yaml.safe_load((ROOT / TEAMS).read_text(encoding="utf-8"))["items"]
    answer = maar.whatif(items, submit=JOB, add_nodes="1x8cpu,32Gi", now=NOW)
    assert answer.jobs.running_after[answer.jobs.job.index("ml/train")] == 2
    with pytest.raises(maar.BadChangeError, match="there is no queue x"):
        maar.whatif(items, set={"queue/x.weight": 1})
    with pytest.raises(maar.PlanError, match="add_nodes '4x8': '8' is less than 1Mi of memory"):
        maar.whatif(items, add_nodes="4x8")
    with pytest.raises(maar.PlanError, match="there is nothing to plan with"):
        maar.whatif([], drain="node-1")


def test_deciding_without_the_change_comes_first() -> None:
    """A job that would start anyway is not what the change does."""
    items = yaml.safe_load((ROOT / TEAMS).read_text(encoding="utf-8"))["items"]
    free = [one for one in items if one["kind"] != "Pod" or not one["metadata"]["name"].startswith("sweep")]
    answer = maar.whatif(free, set={"queue/serving.priority": 1}, now=NOW)
    row = answer.jobs.group.index("web/report")
    assert (answer.jobs.running_before[row], answer.jobs.running_after[row]) == (4, 4)


def test_those_who_are_evicted_for_are_named_by_their_jobs(tmp_path: Path) -> None:
    items = yaml.safe_load((ROOT / TEAMS).read_text(encoding="utf-8"))["items"]
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "controller": True, "uid": "5f3c"}
    for one in items:
        if one["kind"] == "PodGroup":
            one["metadata"]["ownerReferences"] = [{**owner, "name": f"owner-{one['metadata']['name']}"}]
    file = tmp_path / "owned.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    said = run(*WEIGHT, source=str(file)).stdout.partition("Would evict")[2]
    assert "for web/owner-" in said


def test_present_is_left_as_it_was() -> None:
    first = maar.whatif(TEAMS_PATH, drain="node-1", now=NOW).data()
    assert first == maar.whatif(TEAMS_PATH, drain="node-1", now=NOW).data()


def test_starts_are_left_out_where_thousands_wait_unless_they_are_asked_for(tmp_path: Path) -> None:
    group = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g%d, namespace: a}}"
    file = tmp_path / "many.yaml"
    file.write_text("\n---\n".join(group % number for number in range(1_001)))
    note = "1,001 pod groups wait, and planned starts are left out; --starts 10 adds them"
    assert note in " ".join(run("--add-nodes", "1x1cpu,1Gi", source=str(file)).stderr.split())
    asked = run("--add-nodes", "1x1cpu,1Gi", "--starts", "1", source=str(file))
    assert asked.returncode == 0
    assert "left out" not in asked.stderr


@pytest.mark.parametrize(
    "given", ["queue/serving.weight=3", ["queue/serving.weight=3"], {"queue/serving.weight": 3}]
)
def test_fields_are_set_by_texts_as_on_the_command_line_or_by_values(
    given: str | list[str] | dict[str, object],
) -> None:
    answer = maar.whatif(TEAMS_PATH, set=given, now=NOW)
    assert answer.data() == maar.whatif(TEAMS_PATH, set={"queue/serving.weight": "3"}, now=NOW).data()


def test_a_text_that_sets_nothing_is_refused_with_what_to_write() -> None:
    with pytest.raises(
        BadChangeError, match=r"x: it has no value; write x=VALUE, such as queue/research\.weight=3"
    ):
        maar.whatif(TEAMS_PATH, set="x", now=NOW)


def test_an_amount_without_the_field_that_holds_it_names_that_field() -> None:
    for field, meant in (("cpu", "cpu"), ("nvidia.com/gpu", "nvidia.com/gpu")):
        with pytest.raises(BadChangeError, match=rf"did you mean guarantee\.resource\.{meant}\?"):
            maar.whatif(TEAMS_PATH, set=f"queue/serving.guarantee.{field}=2", now=NOW)
