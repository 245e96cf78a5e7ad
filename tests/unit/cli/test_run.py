"""The parts of `maar run`: indices, the job, what travels, and what is read from a cluster."""

import pytest

from maar.cli.run.following import exit_code_of, first_failure, has_started, message_of, why_not_scheduled
from maar.cli.run.here import travelling, variables
from maar.cli.run.job import BadArrayError, Place, RunRequest, indices, job_document, name_for
from maar.core.model.job import Job
from maar.core.model.kinds import from_document
from maar.core.model.pod_group import PodGroup
from maar.core.views.job_summary import PodSummary


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0-3", (0, 1, 2, 3)),
        ("7", (7,)),
        ("1,3,5", (1, 3, 5)),
        ("9,0-20:10,10", (9, 0, 10, 20)),
        (" 1 , 2-3", (1, 2, 3)),
    ],
)
def test_indices(text: str, found: tuple[int, ...]) -> None:
    assert indices(text) == found


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "0-9:0", "0-9%2", "0-10000", "1,,2", "1.5"])
def test_what_names_no_indices_is_refused(text: str) -> None:
    with pytest.raises(BadArrayError, match=r"; (write|make|give)"):
        indices(text)


def test_the_job_of_a_command() -> None:
    request = RunRequest(
        name="train",
        namespace="vision",
        command=["python", "-c", "print('$HOME $(date)')"],
        queue="research",
        resources={"cpu": "4", "nvidia.com/gpu": "1"},
        replicas=2,
        after="prepare",
        variables={"A": "$B"},
    )
    place = Place("", "/data", {"A": "0", "PATH": "/bin"}, {"maar.sh/node": "local"})
    amounts = {"cpu": "4", "nvidia.com/gpu": "1"}
    container = {
        "name": "main",
        "image": "local",
        "command": ["python", "-c", "print('$$HOME $$(date)')"],
        "env": [{"name": "A", "value": "$$B"}, {"name": "PATH", "value": "/bin"}],
        "workingDir": "/data",
        "resources": {"requests": amounts, "limits": amounts},
    }
    pod = {"restartPolicy": "Never", "containers": [container], "nodeSelector": {"maar.sh/node": "local"}}
    document = job_document(request, place)
    assert document == {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "vision", "annotations": {"maar.sh/after": "prepare"}},
        "spec": {
            "queue": "research",
            "minAvailable": 2,
            "plugins": {"env": [], "svc": []},
            "tasks": [{"name": "main", "replicas": 2, "template": {"spec": pod}}],
        },
    }
    assert from_document(Job, document).spec.queue == "research"


def test_an_array_starts_with_any_pod_and_has_its_indices() -> None:
    array = RunRequest(name="fan", namespace="n", command=["do", "it"], array=(5, 7, 9))
    spec = job_document(array, Place("busybox"))["spec"]
    assert isinstance(spec, dict)
    [task] = spec["tasks"]
    assert (spec["minAvailable"], task["replicas"], spec["plugins"]) == (1, 3, {"env": []})
    assert spec["minSuccess"] == 3
    [container] = task["template"]["spec"]["containers"]
    assert container["command"][-2:] == ["do", "it"]
    assert container["env"] == [{"name": "MAAR_ARRAY", "value": "5,7,9"}]
    assert container["image"] == "busybox"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python3", "python3-x1"),
        ("/opt/My Tool_2.sh", "my-tool-2-x1"),
        ("./7zip", "run-7zip-x1"),
        ("...", "run-x1"),
        ("a" * 80, f"{'a' * 30}-x1"),
    ],
)
def test_names_say_what_runs(command: str, name: str) -> None:
    assert name_for([command], "x1") == name


def test_secrets_and_what_belongs_to_the_terminal_do_not_travel() -> None:
    here = travelling(
        {
            "PATH": "/bin",
            "PWD": "/x",
            "SSH_AUTH_SOCK": "/s",
            "CUDA_VISIBLE_DEVICES": "0",
            "VC_MAIN_HOSTS": "a",
            "HF_TOKEN": "t",
            "aws_secret_access_key": "k",
            "GITHUB_PAT": "p",
            "MYSQL_PWD": "p",
            "DATABASE_URL": "postgres://db",
            "OPENAI_KEY": "k",
            "JWT": "j",
            "LDAP_PW": "p",
            "DBPASS": "p",
            "PRIVKEY": "k",
            "SLACK_WEBHOOK_URL": "https://hooks",
            "https_proxy": "http://me:word@proxy:3128",
            "SESSION": "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln",
            "TIKTOKEN_CACHE_DIR": "/cache",
            "TOKENIZERS_PARALLELISM": "false",
            "KEYBOARD_LAYOUT": "de",
            "no_proxy": "http://proxy:3128",
            "BASH_FUNC_module%%": "() { :; }",
            "LINES_OF": "a\nb",
        }
    )
    assert here.sent == {
        "PATH": "/bin",
        "LINES_OF": "a\nb",
        "TIKTOKEN_CACHE_DIR": "/cache",
        "TOKENIZERS_PARALLELISM": "false",
        "KEYBOARD_LAYOUT": "de",
        "no_proxy": "http://proxy:3128",
    }
    assert here.withheld == [
        "DATABASE_URL", "DBPASS", "GITHUB_PAT", "HF_TOKEN", "JWT", "LDAP_PW", "MYSQL_PWD", "OPENAI_KEY",
        "PRIVKEY", "SESSION", "SLACK_WEBHOOK_URL", "aws_secret_access_key", "https_proxy",
    ]  # fmt: skip
    assert variables(["A=b=c", "HF_TOKEN"], {"HF_TOKEN": "t"}) == {"A": "b=c", "HF_TOKEN": "t"}


def pod(index: int, phase: str, code: int | None = None, message: str = "") -> PodSummary:
    ended = {"terminated": {"exitCode": code, "reason": "OOMKilled" if code == 137 else "Error"}}
    statuses = [] if code is None else [{"state": ended}]
    return from_document(
        PodSummary,
        {
            "metadata": {
                "name": f"j-main-{index}",
                "uid": "u",
                "labels": {"volcano.sh/task-index": str(index)},
            },
            "status": {"phase": phase, "containerStatuses": statuses, "message": message},
        },
    )


def test_the_first_failure_by_index_counts() -> None:
    pods = [pod(10, "Failed", 3), pod(9, "Failed", 137), pod(0, "Succeeded", 0), pod(1, "Pending")]
    failed = first_failure(pods)
    assert failed is not None
    shown = (failed.metadata.name, exit_code_of(failed), message_of(failed))
    assert shown == ("j-main-9", 137, "OOMKilled")
    refused = pod(2, "Failed", message="Pod was rejected")
    assert (exit_code_of(refused), message_of(refused)) == (1, "Pod was rejected")
    assert has_started(refused)
    assert first_failure([pod(0, "Succeeded", 0), pod(1, "Running")]) is None


def test_why_a_group_waits_is_its_newest_reason_and_not_that_it_was_let_in() -> None:
    conditions = [
        {"type": "Unschedulable", "status": "True", "message": "old"},
        {"type": "Unschedulable", "status": "True", "message": "it needs 5 GPUs"},
        {"type": "Admitted", "status": "True", "message": "its queue has room"},
        {"type": "Scheduled", "status": "True", "message": "no"},
        {"type": "Other", "status": "False", "message": "no"},
    ]
    assert (
        why_not_scheduled(from_document(PodGroup, {"status": {"conditions": conditions}}))
        == "it needs 5 GPUs"
    )
    assert why_not_scheduled(PodGroup()) == ""
