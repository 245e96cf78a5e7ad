"""Jobs on the embedded cluster: pods are made, counted and let go, whatever happens in between."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from maar.embedded.calls import Deletion, Propagation
from support.embedded import Document, EmbeddedCluster, opened

JOBS = "jobs.batch"
TRACKING = "batch.kubernetes.io/job-tracking"
TEMPLATE: Document = {
    "metadata": {"labels": {"app": "a"}, "annotations": {"note": "n"}},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
}


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with opened(tmp_path) as made:
        made.settle()
        yield made


def job(embedded: EmbeddedCluster, name: str = "j", /, **spec: object) -> Document:
    made = embedded.make(JOBS, name, spec={"template": TEMPLATE, **spec})
    embedded.settle()
    return made


def end(embedded: EmbeddedCluster, name: str, phase: str = "Succeeded") -> None:
    embedded.edit("pods", name, "status", status={"phase": phase})
    embedded.settle()


def status(embedded: EmbeddedCluster, name: str = "j") -> Document:
    found: Document = embedded.get(JOBS, name)["status"]
    return found


def conditions(embedded: EmbeddedCluster, name: str = "j") -> list[str]:
    return [one["type"] for one in status(embedded, name).get("conditions", ()) if one["status"] == "True"]


def events(embedded: EmbeddedCluster) -> list[tuple[str, str]]:
    found = embedded.cluster.all("events")
    return sorted((str(one["reason"]), str(one["message"])) for one in found)


def later(embedded: EmbeddedCluster, seconds: float) -> None:
    """Let time pass; controllers that start anew look at everything, and then the clock stands still."""
    embedded.clock.now += seconds
    embedded.settle(restart=True)


def test_pods_are_made_as_the_template_says(embedded: EmbeddedCluster) -> None:
    made = job(embedded)
    [name] = embedded.names("pods")
    pod, uid = embedded.get("pods", name), made["metadata"]["uid"]
    assert name.startswith("j-")
    assert len(name) == len("j-xxxxx")
    meta = pod["metadata"]
    assert meta["labels"] == {
        "app": "a",
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": uid,
        "job-name": "j",
    }
    assert (meta["annotations"], meta["finalizers"]) == ({"note": "n"}, [TRACKING])
    assert meta["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "j",
            "uid": uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert status(embedded) == {
        "active": 1,
        "ready": 0,
        "terminating": 0,
        "startTime": embedded.cluster.now(),
        "uncountedTerminatedPods": {},
    }
    assert events(embedded) == [("SuccessfulCreate", f"Created pod: {name}")]


def test_pods_of_an_indexed_job_know_their_index(embedded: EmbeddedCluster) -> None:
    named = {"name": "JOB_COMPLETION_INDEX", "value": "mine"}
    containers = [{"name": "c", "image": "i"}, {"name": "d", "image": "i", "env": [named]}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers}}
    job(embedded, "k" * 63, completions=12, parallelism=12, completionMode="Indexed", template=template)
    names = sorted(embedded.names("pods"))
    pods = [embedded.get("pods", name) for name in names]
    mark = "batch.kubernetes.io/job-completion-index"
    indexes = {one["metadata"]["labels"][mark] for one in pods}
    assert indexes == {one["metadata"]["annotations"][mark] for one in pods} == {str(n) for n in range(12)}
    for pod in pods:
        index = pod["metadata"]["labels"][mark]
        first, second = pod["spec"]["containers"]
        assert pod["spec"]["hostname"] == f"{'k' * 63}-{index}"
        assert f"-{index}-" in pod["metadata"]["name"]
        assert first["env"][0]["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{mark}']"
        assert second["env"] == [named]


def test_a_success_outlives_its_pod(embedded: EmbeddedCluster) -> None:
    job(embedded, completions=2)
    [first] = embedded.names("pods")
    embedded.edit("pods", first, "status", status={"phase": "Succeeded"})
    embedded.cluster.delete("pods", "default", first)
    assert first in embedded.names("pods"), "it is not counted yet"
    embedded.settle(restart=True)
    assert status(embedded)["succeeded"] == 1
    [second] = embedded.names("pods")
    end(embedded, second)
    assert conditions(embedded) == ["SuccessCriteriaMet", "Complete"]
    assert status(embedded)["succeeded"] == 2
    embedded.cluster.delete("pods", "default", second)
    later(embedded, 600.0)
    assert (embedded.names("pods"), status(embedded)["succeeded"]) == ([], 2)
    assert ("Completed", "Job completed") in events(embedded)


def test_a_failure_is_retried_later_and_the_last_one_ends_the_job(embedded: EmbeddedCluster) -> None:
    job(embedded, backoffLimit=1)
    [first] = embedded.names("pods")
    end(embedded, first, "Failed")
    assert (status(embedded)["failed"], embedded.names("pods")) == (1, [first])
    later(embedded, 5.0)
    assert embedded.names("pods") == [first]
    later(embedded, 5.0)
    [second] = [one for one in embedded.names("pods") if one != first]
    end(embedded, second, "Failed")
    assert conditions(embedded) == ["FailureTarget", "Failed"]
    assert ("BackoffLimitExceeded", "Job has reached the specified backoff limit") in events(embedded)
    later(embedded, 600.0)
    assert sorted(embedded.names("pods")) == sorted((first, second)), "their logs can still be read"


def test_a_deadline_that_passed_while_nothing_ran_ends_the_job(embedded: EmbeddedCluster) -> None:
    job(embedded, activeDeadlineSeconds=60)
    later(embedded, 30.0)
    assert conditions(embedded) == []
    later(embedded, 30.0)
    assert conditions(embedded) == ["FailureTarget", "Failed"]
    assert embedded.names("pods") == []


def test_a_suspended_job_has_no_pods_until_it_is_resumed(embedded: EmbeddedCluster) -> None:
    job(embedded, suspend=True)
    assert (embedded.names("pods"), conditions(embedded), "startTime" in status(embedded)) == (
        [],
        ["Suspended"],
        False,
    )
    embedded.edit(JOBS, "j", spec={"suspend": False})
    embedded.settle()
    assert (len(embedded.names("pods")), conditions(embedded)) == (1, [])
    embedded.clock.now += 100.0
    embedded.edit(JOBS, "j", spec={"suspend": True})
    embedded.settle()
    assert (embedded.names("pods"), conditions(embedded)) == ([], ["Suspended"])
    assert status(embedded).get("failed", 0) == 0
    embedded.edit(JOBS, "j", spec={"suspend": False})
    embedded.settle()
    assert status(embedded)["startTime"] == embedded.cluster.now()
    reasons = [reason for reason, _ in events(embedded)]
    assert reasons == [*["Resumed"] * 2, *["SuccessfulCreate"] * 2, "SuccessfulDelete", *["Suspended"] * 2]


def test_a_finished_job_goes_when_its_time_to_live_is_over(embedded: EmbeddedCluster) -> None:
    job(embedded, ttlSecondsAfterFinished=100)
    end(embedded, *embedded.names("pods"))
    later(embedded, 50.0)
    assert embedded.names(JOBS) == ["j"]
    later(embedded, 50.0)
    assert (embedded.names(JOBS), embedded.names("pods")) == ([], [])


@pytest.mark.parametrize("how", ["Background", "Foreground", "Orphan"])
@pytest.mark.parametrize("phase", ["Pending", "Succeeded"])
def test_a_deleted_job_holds_no_pod_back(embedded: EmbeddedCluster, how: Propagation, phase: str) -> None:
    job(embedded, parallelism=2, completions=5)
    first, _ = embedded.names("pods")
    embedded.edit("pods", first, "status", status={"phase": phase})
    embedded.cluster.delete(JOBS, "default", "j", Deletion(propagation=how))
    embedded.settle()
    left = [embedded.get("pods", name)["metadata"] for name in embedded.names("pods")]
    assert embedded.names(JOBS) == []
    assert len(left) == (2 if how == "Orphan" else 0)
    assert [(one.get("finalizers"), one.get("ownerReferences")) for one in left] == [(None, None)] * len(left)


def test_a_job_of_the_same_name_is_another_job(embedded: EmbeddedCluster) -> None:
    job(embedded, completions=1)
    [old] = embedded.names("pods")
    embedded.edit("pods", old, "status", status={"phase": "Succeeded"})
    embedded.cluster.delete(JOBS, "default", "j", Deletion(propagation="Background"))
    job(embedded, completions=1)
    assert status(embedded).get("succeeded", 0) == 0
    assert len(embedded.names("pods")) == 1
    assert old not in embedded.names("pods")


def test_a_quota_makes_a_job_wait_and_an_event_says_why(embedded: EmbeddedCluster) -> None:
    embedded.make("resourcequotas", "q", spec={"hard": {"pods": "1"}})
    job(embedded, parallelism=3, completions=3)
    [first] = embedded.names("pods")
    refusals = [message for reason, message in events(embedded) if reason == "FailedCreate"]
    assert all("Error creating: pods" in one and "exceeded quota: q" in one for one in refusals)
    assert refusals
    end(embedded, first)
    later(embedded, 0.0)
    assert status(embedded)["succeeded"] == 1
    assert len(embedded.names("pods")) == 2


def test_a_namespace_with_a_job_can_be_deleted(embedded: EmbeddedCluster) -> None:
    embedded.make("namespaces", "gone")
    embedded.settle()
    embedded.make(JOBS, "j", "gone", spec={"template": TEMPLATE, "parallelism": 3, "completions": 9})
    embedded.settle()
    assert len(embedded.names("pods", "gone")) == 3
    embedded.cluster.delete("namespaces", "", "gone")
    embedded.settle()
    assert "gone" not in embedded.names("namespaces")


def test_what_a_status_says_is_json_as_kubernetes_writes_it(embedded: EmbeddedCluster) -> None:
    job(embedded)
    end(embedded, *embedded.names("pods"))
    now = embedded.cluster.now()
    last = status(embedded)["conditions"][-1]
    assert json.loads(json.dumps(last)) == {
        "type": "Complete",
        "status": "True",
        "reason": "CompletionsReached",
        "message": "Reached expected number of succeeded pods",
        "lastProbeTime": now,
        "lastTransitionTime": now,
    }
