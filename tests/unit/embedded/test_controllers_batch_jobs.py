"""Jobs on the embedded cluster: pods are made, counted and let go, whatever happens in between."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from maar.embedded.calls import Deletion, Propagation
from support.embedded import Document, Town, opened

JOBS = "jobs.batch"
TRACKING = "batch.kubernetes.io/job-tracking"
TEMPLATE: Document = {
    "metadata": {"labels": {"app": "a"}, "annotations": {"note": "n"}},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
}


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with opened(tmp_path) as made:
        made.settle()
        yield made


def job(town: Town, name: str = "j", /, **spec: object) -> Document:
    made = town.make(JOBS, name, spec={"template": TEMPLATE, **spec})
    town.settle()
    return made


def end(town: Town, name: str, phase: str = "Succeeded") -> None:
    town.edit("pods", name, "status", status={"phase": phase})
    town.settle()


def status(town: Town, name: str = "j") -> Document:
    found: Document = town.get(JOBS, name)["status"]
    return found


def conditions(town: Town, name: str = "j") -> list[str]:
    return [one["type"] for one in status(town, name).get("conditions", ()) if one["status"] == "True"]


def events(town: Town) -> list[tuple[str, str]]:
    found = town.cluster.all("events")
    return sorted((str(one["reason"]), str(one["message"])) for one in found)


def later(town: Town, seconds: float) -> None:
    """Let time pass; controllers that start anew look at everything, and then the clock stands still."""
    town.clock.now += seconds
    town.settle(restart=True)


def test_pods_are_made_as_the_template_says(town: Town) -> None:
    made = job(town)
    [name] = town.names("pods")
    pod, uid = town.get("pods", name), made["metadata"]["uid"]
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
    assert status(town) == {
        "active": 1,
        "ready": 0,
        "terminating": 0,
        "startTime": town.cluster.now(),
        "uncountedTerminatedPods": {},
    }
    assert events(town) == [("SuccessfulCreate", f"Created pod: {name}")]


def test_pods_of_an_indexed_job_know_their_index(town: Town) -> None:
    named = {"name": "JOB_COMPLETION_INDEX", "value": "mine"}
    containers = [{"name": "c", "image": "i"}, {"name": "d", "image": "i", "env": [named]}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers}}
    job(town, "k" * 63, completions=12, parallelism=12, completionMode="Indexed", template=template)
    names = sorted(town.names("pods"))
    pods = [town.get("pods", name) for name in names]
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


def test_a_success_outlives_its_pod(town: Town) -> None:
    job(town, completions=2)
    [first] = town.names("pods")
    town.edit("pods", first, "status", status={"phase": "Succeeded"})
    town.cluster.delete("pods", "default", first)
    assert first in town.names("pods"), "it is not counted yet"
    town.settle(restart=True)
    assert status(town)["succeeded"] == 1
    [second] = town.names("pods")
    end(town, second)
    assert conditions(town) == ["SuccessCriteriaMet", "Complete"]
    assert status(town)["succeeded"] == 2
    town.cluster.delete("pods", "default", second)
    later(town, 600.0)
    assert (town.names("pods"), status(town)["succeeded"]) == ([], 2)
    assert ("Completed", "Job completed") in events(town)


def test_a_failure_is_retried_later_and_the_last_one_ends_the_job(town: Town) -> None:
    job(town, backoffLimit=1)
    [first] = town.names("pods")
    end(town, first, "Failed")
    assert (status(town)["failed"], town.names("pods")) == (1, [first])
    later(town, 5.0)
    assert town.names("pods") == [first]
    later(town, 5.0)
    [second] = [one for one in town.names("pods") if one != first]
    end(town, second, "Failed")
    assert conditions(town) == ["FailureTarget", "Failed"]
    assert ("BackoffLimitExceeded", "Job has reached the specified backoff limit") in events(town)
    later(town, 600.0)
    assert sorted(town.names("pods")) == sorted((first, second)), "their logs can still be read"


def test_a_deadline_that_passed_while_nothing_ran_ends_the_job(town: Town) -> None:
    job(town, activeDeadlineSeconds=60)
    later(town, 30.0)
    assert conditions(town) == []
    later(town, 30.0)
    assert conditions(town) == ["FailureTarget", "Failed"]
    assert town.names("pods") == []


def test_a_suspended_job_has_no_pods_until_it_is_resumed(town: Town) -> None:
    job(town, suspend=True)
    assert (town.names("pods"), conditions(town), "startTime" in status(town)) == ([], ["Suspended"], False)
    town.edit(JOBS, "j", spec={"suspend": False})
    town.settle()
    assert (len(town.names("pods")), conditions(town)) == (1, [])
    town.clock.now += 100.0
    town.edit(JOBS, "j", spec={"suspend": True})
    town.settle()
    assert (town.names("pods"), conditions(town)) == ([], ["Suspended"])
    assert status(town).get("failed", 0) == 0
    town.edit(JOBS, "j", spec={"suspend": False})
    town.settle()
    assert status(town)["startTime"] == town.cluster.now()
    reasons = [reason for reason, _ in events(town)]
    assert reasons == [*["Resumed"] * 2, *["SuccessfulCreate"] * 2, "SuccessfulDelete", *["Suspended"] * 2]


def test_a_finished_job_goes_when_its_time_to_live_is_over(town: Town) -> None:
    job(town, ttlSecondsAfterFinished=100)
    end(town, *town.names("pods"))
    later(town, 50.0)
    assert town.names(JOBS) == ["j"]
    later(town, 50.0)
    assert (town.names(JOBS), town.names("pods")) == ([], [])


@pytest.mark.parametrize("how", ["Background", "Foreground", "Orphan"])
@pytest.mark.parametrize("phase", ["Pending", "Succeeded"])
def test_a_deleted_job_holds_no_pod_back(town: Town, how: Propagation, phase: str) -> None:
    job(town, parallelism=2, completions=5)
    first, _ = town.names("pods")
    town.edit("pods", first, "status", status={"phase": phase})
    town.cluster.delete(JOBS, "default", "j", Deletion(propagation=how))
    town.settle()
    left = [town.get("pods", name)["metadata"] for name in town.names("pods")]
    assert town.names(JOBS) == []
    assert len(left) == (2 if how == "Orphan" else 0)
    assert [(one.get("finalizers"), one.get("ownerReferences")) for one in left] == [(None, None)] * len(left)


def test_a_job_of_the_same_name_is_another_job(town: Town) -> None:
    job(town, completions=1)
    [old] = town.names("pods")
    town.edit("pods", old, "status", status={"phase": "Succeeded"})
    town.cluster.delete(JOBS, "default", "j", Deletion(propagation="Background"))
    job(town, completions=1)
    assert status(town).get("succeeded", 0) == 0
    assert len(town.names("pods")) == 1
    assert old not in town.names("pods")


def test_a_quota_makes_a_job_wait_and_an_event_says_why(town: Town) -> None:
    town.make("resourcequotas", "q", spec={"hard": {"pods": "1"}})
    job(town, parallelism=3, completions=3)
    [first] = town.names("pods")
    refusals = [message for reason, message in events(town) if reason == "FailedCreate"]
    assert all("Error creating: pods" in one and "exceeded quota: q" in one for one in refusals)
    assert refusals
    end(town, first)
    later(town, 0.0)
    assert status(town)["succeeded"] == 1
    assert len(town.names("pods")) == 2


def test_a_namespace_with_a_job_can_be_deleted(town: Town) -> None:
    town.make("namespaces", "gone")
    town.settle()
    town.make(JOBS, "j", "gone", spec={"template": TEMPLATE, "parallelism": 3, "completions": 9})
    town.settle()
    assert len(town.names("pods", "gone")) == 3
    town.cluster.delete("namespaces", "", "gone")
    town.settle()
    assert "gone" not in town.names("namespaces")


def test_what_a_status_says_is_json_as_kubernetes_writes_it(town: Town) -> None:
    job(town)
    end(town, *town.names("pods"))
    now = town.cluster.now()
    last = status(town)["conditions"][-1]
    assert json.loads(json.dumps(last)) == {
        "type": "Complete",
        "status": "True",
        "reason": "CompletionsReached",
        "message": "Reached expected number of succeeded pods",
        "lastProbeTime": now,
        "lastTransitionTime": now,
    }
