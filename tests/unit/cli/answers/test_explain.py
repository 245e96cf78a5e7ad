"""`maar explain` as users run it: what it prints of a waiting, a running, an evicted and a hopeless job."""

import json
from pathlib import Path
from typing import Final

import pytest
import yaml

from support.commands import Run, run
from support.golden import compare

__all__ = ["run"]

ROOT: Final = Path(__file__).parents[4]
CLUSTER: Final = ROOT / "docs" / "examples" / "explain"
AT: Final = ("-f", str(CLUSTER), "--now", "2026-02-02T10:00:00Z")
SUBJECTS: Final = {
    "waiting": ("podgroup", "resnet", "-n", "vision"),
    "running": ("podgroup", "sweep", "-n", "vision"),
    "evicted": ("job", "nightly", "-n", "data"),
    "never": ("podgroup", "index", "-n", "data"),
    "pod": ("pod", "nightly-3", "-n", "data"),
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_explanations(run: Run, name: str) -> None:
    ended = run("maar", "explain", *SUBJECTS[name], *AT)
    assert (ended.code, ended.err) == (0, "")
    compare(f"explain-{name}.txt", ended.out)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_an_explanation_as_data(run: Run, form: str) -> None:
    ended = run("maar", "explain", *SUBJECTS["waiting"], *AT, "-o", form)
    compare(f"explain-waiting.{form}", ended.out)
    data = json.loads(ended.out) if form == "json" else yaml.safe_load(ended.out)
    assert data["order"]["place"] == 2
    assert [one["change"]["change"] for one in data["changes"]["changes"]] == ["capability", "gone"]
    assert data["start"]["time"] == "2026-02-02T14:00:00Z"


def test_without_time_nothing_is_decided_again(run: Run) -> None:
    ended = run("maar", "explain", *SUBJECTS["waiting"], *AT, "--within", "0", "-o", "json")
    assert not json.loads(ended.out).keys() & {"changes", "start"}


def test_a_search_that_is_stopped_says_so(run: Run) -> None:
    ended = run("maar", "explain", *SUBJECTS["waiting"], *AT, "--within", "1ns")
    said = " ".join(ended.out.split())
    assert "not more capability or weight of its queues, more nodes like these" in said
    assert "of what 0 decisions could try (--within 5m tries more)" in said


REFUSED: Final = {
    ("podgroup", "resnett", "-n", "vision"): "pod group vision/resnett does not exist; did you mean resnet?",
    ("job", "nightley", "-n", "data"): "job data/nightley does not exist; did you mean nightly?",
    (
        "podgroup",
        "zebra",
        "-n",
        "data",
    ): "pod group data/zebra does not exist; there are index, nightly-u1, report",
    ("pod", "x", "-n", "empty"): "pod empty/x does not exist; namespace empty has none: choose with -n",
    (
        "podgroup",
        "sweep",
    ): "pod group default/sweep does not exist; there is one in namespace vision: add -n vision",
    ("job", "resnet", "-n", "vision"): (
        "job vision/resnet does not exist; there is a pod group of this name: "
        "maar explain podgroup resnet -n vision"
    ),
    ("pod", "<b>&amp;[red]{0}", "-n", "data"): (
        "pod data/<b>&amp;[red]{0} does not exist; "
        "there are index-0, nightly-0, nightly-1, nightly-2, nightly-3"
    ),
    ("pod", "a/b/c", "-n", "data"): "a/b/c: a name has no slash; write maar explain pod c -n a",
    ("job", "data/nightly"): "data/nightly: a name has no slash; write maar explain job nightly -n data",
}


@pytest.mark.parametrize("asked", REFUSED, ids=lambda asked: asked[1])
def test_what_does_not_exist(run: Run, asked: tuple[str, ...]) -> None:
    ended = run("maar", "explain", *asked, *AT)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"error: {REFUSED[asked]}\n"


def test_wrong_usage(run: Run) -> None:
    for wrong in (("cluster", "a"), ("pod",), ("pod", "a", "--within", "soon")):
        assert run("maar", "explain", *wrong, *AT).code == 2
    ended = run("maar", "explain", "pod", "a", "-f", str(CLUSTER), "--now", "noon")
    assert ended.err == "error: --now: 'noon' is not a time; write it as 2026-01-31T12:00:00Z\n"


POD: Final = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"schedulerName": "volcano", "containers": [{"name": "main"}]},
}


def explained(run: Run, tmp_path: Path, kind: str, *documents: object) -> str:
    """What is said of the first of some objects."""
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    ended = run("maar", "explain", kind, documents[0]["metadata"]["name"], "-f", str(file))  # type: ignore[index]
    assert ended.code == 0, ended.err
    return " ".join(ended.out.split())


def test_a_pod_of_another_scheduler(run: Run, tmp_path: Path) -> None:
    other = {**POD, "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "main"}]}}
    assert explained(run, tmp_path, "pod", other) == (
        "Pod default/p: it is for scheduler default-scheduler; "
        "Maar places pods whose schedulerName is volcano."
    )


def test_a_pod_without_a_group(run: Run, tmp_path: Path) -> None:
    assert explained(run, tmp_path, "pod", POD) == (
        "Pod default/p waits. PodGroupMissing: it names no pod group and none was made for it; check that "
        "`maar controllers` runs."
    )


def test_a_pod_whose_group_is_missing(run: Run, tmp_path: Path) -> None:
    named = {"name": "p", "annotations": {"scheduling.k8s.io/group-name": "g"}}
    assert explained(run, tmp_path, "pod", {**POD, "metadata": named}) == (
        "Pod default/p waits. PodGroupMissing: there is no pod group default/g for its pods; create it."
    )


JOB: Final = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}}


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (
            {"spec": {"schedulerName": "other"}},
            "its pods are for scheduler other; Maar places those of scheduler volcano.",
        ),
        (
            {"status": {"state": {"phase": "Completed"}}},
            "it is Completed and has no pod group any more.",
        ),
        ({}, "no pod group has been made for it; check that maar controllers runs."),
    ],
)
def test_a_job_without_a_group(run: Run, tmp_path: Path, parts: dict[str, object], sentence: str) -> None:
    found = explained(run, tmp_path, "job", {**JOB, **parts})
    assert found == f"Job default/j: {sentence}"


def test_a_queue_is_explained_as_maar_queue_explain_does(run: Run) -> None:
    of_queue = run("maar", "queue", "explain", "train", "-f", str(CLUSTER))
    assert of_queue.code == 0
    assert "deserves" in of_queue.out
    assert run("maar", "explain", "queue", "train", "-f", str(CLUSTER)).out == of_queue.out
    assert "queue x does not exist" in run("maar", "explain", "queue", "x", "-f", str(CLUSTER)).err
