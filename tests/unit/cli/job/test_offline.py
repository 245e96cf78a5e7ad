"""The job commands without a cluster: wrong command lines, Volcano's words, and what is read and made."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from maar.cli.cron_and_flow import job_of
from maar.cli.job.logs import pod_labels
from maar.cli.main import maar_app, vcctl_app
from maar.core.model.job_flow import Flow, FlowDependsOn, JobFlow, JobFlowSpec
from maar.core.model.kinds import from_document
from maar.core.views.drawing import plain
from maar.core.views.flow_text import FlowView, flow_lines
from maar.core.views.job_rows import pod_state
from maar.core.views.job_summary import PodSummary
from support.commands import Run, run
from support.golden import GOLDEN

__all__ = ["run"]

TAKES = "maar cron create takes CronJob of batch.volcano.sh/v1alpha1"
PODS = yaml.safe_load(Path(__file__).with_name("pod_states.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("app", [maar_app, vcctl_app])
def test_help_says_of_every_command_what_the_command_says_of_itself(app: typer.Typer) -> None:
    group: Any = typer.main.get_command(app)
    for name, place in group.places.items():
        command = group.loaded(name)
        assert place.help == inspect.cleandoc(command.help or "").partition("\n")[0], name
        assert command.name == name


def test_help_imports_no_command() -> None:
    """What takes long to import is imported by the command that needs it."""
    program = """
import sys
from maar.cli.entry import maar
sys.argv = ["maar", "--help"]
try:
    maar()
except SystemExit:
    slow = {"numpy", "aiohttp", "rich", "yaml", "msgspec", "asyncio"}
    print(sorted(slow & set(sys.modules)), file=sys.stderr)
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("Usage: maar [OPTIONS] COMMAND")
    assert shown.stderr == "[]\n"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (
            "maar job list --phase sleeping",
            "'sleeping' is not a phase of jobs; choose from Pending,",
        ),
        ("maar job run j --image i --replicas 0", "Input should be greater than or equal to 1"),
        ("maar job run", "say what to run: -f FILE, or a name with --image, but not both"),
        ("maar job list --within 3s", "--first, --within and --config are for planned starts; add --start"),
        ("maar job run a -f b.yaml", "say what to run: -f FILE, or a name with --image, but not both"),
        ("maar job run a", "the pods need an image; add --image"),
        ("maar job run a --image i --requests cpu=2c", "cpu: '2c' is not a quantity"),
        ("maar job run a --image i --dry-run=client", "'client' is not one of"),
        ("maar job delete", "say which: give names, or labels with -l, but not both"),
        ("maar job suspend a -l b=c", "say which: give names, or labels with -l, but not both"),
        ("maar cron resume", "say which: give names, or labels with -l, but not both"),
        ("maar cron create", "say what to make: -f FILE"),
        ("maar flow delete", "say which: give names, or labels with -l, but not both"),
        ("maar job list -w -o json", "use -o wide or -o name, or kubectl get jobs -w -o json"),
        ("maar pod list -w -o yaml", "use -o wide or -o name, or kubectl get pods -w -o yaml"),
        ("maar cron list -w -o yaml", "use -o wide or -o name, or kubectl get cronjobs -w -o yaml"),
        ("maar job vieww", "Did you mean 'view'?"),
    ],
)
def test_a_wrong_command_line_leaves_with_2(command: str, sentence: str, run: Run) -> None:
    ended = run(*command.split())
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("vcctl job run", "Failed to run job: job name cannot be left blank"),
        ("vcctl job run -f job.txt", "Failed to run job: only support yaml file, not job.txt; name a file"),
        ("vcctl job view", "Failed to view job: job name is mandatory to view a particular job"),
        ("vcctl job suspend", "Failed to suspend job: job name is mandatory to suspend a particular job"),
        ("vcctl job resume", "Failed to resume job: job name is mandatory to resume a particular job"),
        ("vcctl job delete", "Failed to delete job: job name is mandatory to delete a particular job"),
        ("vcctl jobflow create", "Failed to create jobflow: a file is mandatory; add -f FILE"),
        ("vcctl jobflow get", "Failed to get jobflow: jobflow name is mandatory; add -N NAME"),
        ("vcctl jobtemplate delete", "Failed to delete jobtemplate: jobtemplate name is mandatory; add -N"),
        ("vsub", "Failed to: job name cannot be left blank"),
        ("vsub -n a -c 'b", 'Failed to: the command "\'b" cannot be split into words: No closing quotation'),
        ("vcancel", "Failed to: job name is mandatory to cancel a particular job"),
        ("vsuspend", "Failed to: job name is mandatory to suspend a particular job"),
        ("vresume", "Failed to: job name is mandatory to resume a particular job"),
    ],
)
def test_volcanos_commands_fail_in_its_words_on_standard_error(command: str, sentence: str, run: Run) -> None:
    ended = run(*command.split())
    assert (ended.code, ended.out) == (255, "")
    assert ended.err.startswith(sentence)


@pytest.mark.parametrize("command", ["vcctl job list -x", "vsub -x", "vcctl dance"])
def test_volcanos_commands_leave_with_1_where_the_command_line_is_wrong(command: str, run: Run) -> None:
    ended = run(*command.split())
    assert (ended.code, ended.out) == (1, "")
    assert "No such" in ended.err


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("- 1", ["{file}, document 1: not an object of Kubernetes: it has no kind"]),
        ("", ["there is no document in {file}; name a file that has one"]),
        (
            "{apiVersion: batch/v1, kind: Job}\n---\n{kind: Queue}",
            [
                f"{{file}}, document 1: {TAKES}, not Job of batch/v1; use kubectl apply for it",
                f"{{file}}, document 2: {TAKES}, not Queue of no apiVersion; use kubectl apply for it",
            ],
        ),
        ("kind: [", ["{file}: not YAML: line 2, column 1: did not find expected node content"]),
    ],
)
def test_files_that_cannot_be_made_are_refused_with_their_place(
    text: str, sentences: list[str], tmp_path: Path, run: Run
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text, encoding="utf-8")
    ended = run("maar", "cron", "create", "-f", str(file))
    assert ended.code == 1
    said = ended.err.splitlines()
    assert len(said) == len(sentences)
    for line, sentence in zip(said, sentences, strict=True):
        assert line.startswith(f"error: {sentence.format(file=file)}")


@pytest.mark.parametrize("case", PODS, ids=lambda case: case["shown"][1])
def test_a_pod_is_shown_as_kubectl_shows_it(case: dict[str, Any]) -> None:
    pod = {
        "kind": "Pod",
        "metadata": case.get("metadata", {}),
        "spec": {"containers": case.get("containers", [])},
    }
    assert list(pod_state(from_document(PodSummary, {**pod, "status": case["status"]}))) == case["shown"]


def test_a_job_of_a_cron_job_is_its_own() -> None:
    documents = yaml.safe_load_all((GOLDEN / "job-objects.yaml").read_text(encoding="utf-8"))
    cron = next(one for one in documents if one["kind"] == "CronJob")
    job = job_of(cron, "")
    assert job["spec"] == cron["spec"]["jobTemplate"]["spec"]
    metadata: Any = job["metadata"]
    assert (metadata["generateName"], metadata["namespace"]) == ("hourly-manual-", "data")
    assert metadata["labels"] == {"team": "data"}
    assert metadata["annotations"] == {"why": "hourly", "cronjob.kubernetes.io/instantiate": "manual"}
    assert metadata["ownerReferences"][0]["uid"] == "u-hourly"
    named: Any = job_of(cron, "now")["metadata"]
    assert (named["name"], "generateName" in named) == ("now", False)


def test_pods_are_selected_by_job_task_and_index() -> None:
    assert pod_labels("j") == "volcano.sh/job-name=j"
    assert pod_labels("j", "t", 0) == "volcano.sh/job-name=j,volcano.sh/task-spec=t,volcano.sh/task-index=0"


def test_a_flow_that_goes_in_a_circle_is_drawn_with_every_job_once() -> None:
    def step(name: str, *targets: str) -> Flow:
        return Flow(name=name, depends_on=FlowDependsOn(targets=targets))

    steps = (step("a", "c"), step("b", "a"), step("c", "b"), step("d", "gone"))
    flow = JobFlow(spec=JobFlowSpec(flows=steps))
    lines = [plain(line) for line in flow_lines(FlowView(flow, [], []), 0.0)]
    for name in "abcd":
        assert len([line for line in lines if f"─ {name} " in line]) == 1
