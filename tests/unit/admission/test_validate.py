"""`maar validate`: what a pipeline reads, and the exit codes it acts on."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from maar.cli.validate import validate
from support.hostile_text import laughs, merges

HERE = Path(__file__).parent / "manifests"
GOLDEN = Path(__file__).parents[2] / "golden"
QUEUE = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q},"

app = typer.Typer()
app.command()(validate)


def run(*arguments: str, stdin: str = "", folder: Path = HERE) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return CliRunner().invoke(app, arguments, input=stdin)


def test_what_would_be_refused_is_listed_and_the_exit_code_is_1() -> None:
    result = run("-f", "pipeline")
    assert result.exit_code == 1
    assert result.stdout == (GOLDEN / "validate-pipeline.txt").read_text(encoding="utf-8")
    assert result.stderr == "note: ConfigMap (1): not read\n"


def test_what_is_there_already_counts() -> None:
    result = run("-f", "pipeline", "--against", "there")
    assert result.exit_code == 1
    assert result.stdout == (GOLDEN / "validate-against.txt").read_text(encoding="utf-8")
    assert "there/cluster.yaml, document 4: Queue broken: spec.weight: expected `int`" in result.stderr


def test_programs_read_json() -> None:
    result = run("-f", "pipeline", "-o", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == json.loads(
        (GOLDEN / "validate-pipeline.json").read_text(encoding="utf-8")
    )


def test_what_would_be_accepted_leaves_with_0() -> None:
    result = run("-f", "-", stdin=f"{QUEUE} spec: {{weight: 2}}}}")
    assert (result.exit_code, result.stdout) == (0, "1 object: 0 refused, 0 warnings\n")


def test_the_options_of_admission_are_options_here() -> None:
    status = "{allocatable: {cpu: 1}, conditions: [{type: Ready, status: 'True'}]}"
    node = f"{{apiVersion: v1, kind: Node, metadata: {{name: node}}, status: {status}}}"
    files = f"{node}\n---\n{QUEUE} spec: {{guarantee: {{resource: {{cpu: 9}}}}}}}}"
    assert "[queue-guarantee-total]" in run("-f", "-", stdin=files).stdout
    result = run("-f", "-", "--guarantee-over-total", "warn", stdin=files)
    assert result.exit_code == 0
    assert "warning: [queue-guarantee-too-large]" in result.stdout


def test_a_tree_is_as_deep_as_it_may_be() -> None:
    queues = "\n---\n".join(
        f"{{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {{name: q{number}}}, "
        f"spec: {{parent: {f'q{number - 1}' if number else 'root'}, capability: {{cpu: 1}}}}}}"
        for number in range(6)
    )
    assert "[queue-depth]" in run("-f", "-", stdin=queues).stdout
    assert run("-f", "-", "--max-queue-depth", "6", stdin=queues).exit_code == 0
    assert run("-f", "-", "--max-queue-depth", "6", "--child-capability", "max", stdin=queues).exit_code == 0


def test_a_job_plugin_can_be_disabled() -> None:
    job = (
        "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: j}, spec: {plugins: {%s: []},"
        " tasks: [{name: master, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}},"
        " {name: worker, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]}}"
    )
    assert run("-f", "-", stdin=job % "ssh").exit_code == 0
    refused = run("-f", "-", "--disable-job-plugin", "ssh", stdin=job % "ssh")
    assert "[job-plugin] spec.plugins.ssh is not installed" in refused.stdout
    assert run("-f", "-", "--disable-job-plugin", "ssh", stdin=job % "mpi").exit_code == 0


@pytest.mark.parametrize(
    ("stdin", "sentence"),
    [
        ("kind: [", "error: standard input: not YAML"),
        ("[" * 100_000, "standard input: not YAML: line 1, column 101: nested more than 100 levels deep"),
        (laughs(10), "aliases stand for more than 1000000 values; use fewer"),
        (merges(40), "aliases stand for more than 1000000 values; use fewer"),
        (
            "kind: Queue\nmetadata: {name: a}\nspec:\n  weight: 1\n  weight: 2",
            'line 5, column 3: the key "weight" is in this mapping already, in line 4; remove one of them',
        ),
        (
            "kind: Queue\nmetadata: {name: a}\nkind: Queue\nmetadata: {name: b}",
            "if a second object begins here, put a line with --- before line 3",
        ),
        ("- 1", "error: standard input, document 1: not an object of Kubernetes: it has no kind"),
        ("{apiVersion: v1, kind: Pod}", "error: standard input, document 1: Pod: metadata.name is missing"),
        (
            "{apiVersion: v1, kind: Node, metadata: {name: node}, status: {allocatable: {cpu: 2c}}}",
            "error: standard input, document 1: Node node: status.allocatable.cpu: '2c' is not a quantity",
        ),
    ],
)
def test_what_cannot_be_read_leaves_with_2(stdin: str, sentence: str) -> None:
    result = run("-f", "-", stdin=stdin)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("version", "kind", "metadata", "reported"),
    [
        ("scheduling.volcano.sh/v1beta1", "Queue", "name: Team_A", "RFC 1123 subdomain"),
        ("scheduling.volcano.sh/v1beta1", "Queue", f"name: {'x' * 254}", "no more than 253 characters"),
        ("batch.volcano.sh/v1alpha1", "Job", "generateName: -a-", "RFC 1123 subdomain"),
        ("v1", "Namespace", "name: a.b", "must not contain dots"),
        ("v1", "Node", "name: N1", "RFC 1123 subdomain"),
        ("v1", "ResourceQuota", "name: q, namespace: a.b", "must not contain dots"),
        ("policy/v1", "PodDisruptionBudget", "name: a/b", "may not contain '/'"),
    ],
)
def test_a_name_that_no_cluster_takes_is_refused(
    version: str, kind: str, metadata: str, reported: str
) -> None:
    result = run("-f", "-", stdin=f"{{apiVersion: {version}, kind: {kind}, metadata: {{{metadata}}}}}")
    assert result.exit_code == 1, result.output
    assert "refused: [object-name] metadata." in result.stdout
    assert reported in result.stdout


def test_a_name_that_a_cluster_takes_is_not_refused() -> None:
    budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: A_b}}"
    assert run("-f", "-", stdin=budget).exit_code == 0


MANY_PROBLEMS = """
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {"a b": x, c: 1, d: x y, "ok/e": ""}, annotations: {B/c: "x y", two: 2}}
spec:
  initContainers: [{name: d, image: i}]
  containers: [{name: C C, image: i}, {name: d, image: i}, {image: i}]
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j}
spec:
  tasks:
  - replicas: 1
    template:
      metadata: {labels: {"-": a}}
      spec: {containers: [{name: C C, image: i}, {name: c, image: i}, {name: c, image: i}]}
---
{apiVersion: v1, kind: Node, metadata: {name: node, labels: {a/b/c: "1"}}}
"""


def test_labels_and_containers_that_no_cluster_takes_are_refused() -> None:
    result = run("-f", "-", "-o", "json", stdin=MANY_PROBLEMS)
    assert result.exit_code == 1, result.output
    found = [(one["kind"], one["rule"], one["field"]) for one in json.loads(result.stdout)["refused"]]
    task = "spec.tasks[0].template"
    assert found == [
        ("Pod", "object-label", "metadata.labels[a b]"),
        ("Pod", "object-label", "metadata.labels.c"),
        ("Pod", "object-label", "metadata.labels.d"),
        ("Pod", "object-label", "metadata.annotations.two"),
        ("Pod", "object-container", "spec.containers[0].name"),
        ("Pod", "object-container", "spec.containers[1].name"),
        ("Pod", "object-container", "spec.containers[2].name"),
        ("Job", "job-template", f"{task}.spec.containers[0].name"),
        ("Job", "job-template", f"{task}.spec.containers[2].name"),
        ("Job", "job-template", f"{task}.metadata.labels.-"),
        ("Node", "object-label", "metadata.labels[a/b/c]"),
    ]


@pytest.mark.parametrize("name", ["true", "1", "1.5", "0x10", "[a]", "yes"])
def test_a_name_that_is_no_text_is_said_to_be_none_and_hides_no_verdict(name: str) -> None:
    queue = f"{QUEUE} spec: {{weight: 0}}}}"
    result = run("-f", "-", stdin=f"{queue}\n---\n{queue.replace('name: q', f'name: {name}')}")
    assert result.exit_code == 2
    assert "document 2: Queue: metadata.name is " in result.stderr
    assert "which is no text; put it in quotes" in result.stderr
    assert "document 1: Queue q: refused" in result.stdout


@pytest.mark.parametrize(
    ("version", "kind", "meant"),
    [
        ("scheduling.volcano.sh/v1beta1", "queue", "apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue?"),
        ("scheduling.volcano.sh/v1", "Queue", "apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue?"),
        ("''", "Queue", "there is no apiVersion; did you mean apiVersion: scheduling.volcano.sh/v1beta1"),
        ("v1", "Queue", "no cluster has kind Queue in v1; did you mean"),
        ("scheduling.volcano/v1beta1", "PodGruop", "kind: PodGroup?"),
        ("batch.volcano.sh/v1", "job", "apiVersion: batch.volcano.sh/v1alpha1, kind: Job?"),
        ("v1", "pods", "apiVersion: v1, kind: Pod?"),
    ],
)
def test_a_kind_that_is_misspelt_is_an_error_with_its_place(version: str, kind: str, meant: str) -> None:
    text = f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: x}}}}"
    result = run("-f", "-", stdin=f"{QUEUE} spec: {{}}}}\n---\n{text}")
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: standard input, document 2: ")
    assert meant in result.stderr
    assert "1 object: 0 refused" in result.stdout


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("batch/v1", "Job"),
        ("rabbitmq.com/v1beta1", "Queue"),
        ("scheduling.k8s.io/v1alpha2", "PodGroup"),
        ("batch/v1", "CronJob"),
        ("storage.k8s.io/v1", "CSINode"),
        ("topology.volcano.sh/v1alpha1", "HyperNode"),
    ],
)
def test_kinds_of_others_are_counted_and_are_no_success_by_themselves(version: str, kind: str) -> None:
    text = f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: x}}}}"
    result = run("-f", "-", stdin=f"{QUEUE} spec: {{}}}}\n---\n{text}")
    assert (result.exit_code, result.stderr) == (0, f"note: {kind} (1): not read\n")
    result = run("-f", "-", stdin=text)
    assert result.exit_code == 2
    assert "error: there is nothing to check; maar validate knows Command, CronJob, Job, " in result.stderr


def test_a_flood_of_verdicts_is_cut_off_and_counted() -> None:
    result = run("-f", "-", stdin=f"{QUEUE} spec: {{weight: 0}}}}\n---\n" * 1_200 + "1\n---\n" * 1_200)
    assert result.stdout.splitlines()[-2:] == [
        "... and 200 more like these",
        "1200 objects: 1200 refused, 0 warnings",
    ]
    assert result.stderr.splitlines()[-1] == "... and 200 more like these"


def test_a_folder_that_is_not_there_leaves_with_2() -> None:
    for arguments in (("-f", "nowhere"), ("-f", "pipeline", "--against", "nowhere")):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "nowhere: there is no such file or folder" in result.stderr


def test_a_queue_that_comes_too_early_is_tried_again(tmp_path: Path) -> None:
    def tree(team: int, child: int) -> str:
        return "\n---\n".join(
            f"{{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {{name: {name}}}, "
            f"spec: {{parent: {parent}, guarantee: {{resource: {{cpu: {cpu}}}}}}}}}"
            for name, parent, cpu in (("team", "root", team), ("child", "team", child))
        )

    (tmp_path / "there.yaml").write_text(tree(8, 8), encoding="utf-8")
    (tmp_path / "lower.yaml").write_text(tree(4, 4), encoding="utf-8")
    (tmp_path / "higher.yaml").write_text(tree(9, 9), encoding="utf-8")
    for change in ("lower", "higher"):
        assert run("-f", f"{change}.yaml", "--against", "there.yaml", folder=tmp_path).exit_code == 0


def test_the_examples_of_cron_jobs_and_flows_are_good() -> None:
    folder = Path(__file__).parents[3] / "examples" / "jobs"
    result = run("-f", str(folder / "cronjob.yaml"), "-f", str(folder / "jobflow.yaml"))
    assert (result.exit_code, result.stdout) == (0, "7 objects: 0 refused, 0 warnings\n")


def test_texts_without_quotes_are_read_as_kubectl_reads_them() -> None:
    container = "{name: main, image: y, args: [n, 8080, 'n'], env: [{name: A, value: on}]}"
    pod = f"{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{container}]}}}}"
    result = run("-f", "-", stdin=pod)
    assert result.exit_code == 1
    assert [line.partition("refused: ")[2] for line in result.stdout.splitlines()[:-1]] == [
        f"[object-container] spec.containers[0].{field} is {value}, which is no text; put it in quotes"
        for field, value in (
            ("image", "true"), ("args[0]", "false"), ("args[1]", "8080"), ("env[0].value", "true"),
        )
    ]  # fmt: skip
