"""Stories of Volcano's jobs that wait, on a real cluster: for a quota, a claim, another job or task."""

import json
from collections.abc import Iterator
from functools import partial

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.story import Document, Story, cluster
from support.story_vcjobs import (
    VCJOB,
    finish,
    message,
    numbers,
    phase_of,
    pods_of_job,
    status,
    template,
    until_running,
    vcjob,
)
from support.story_workloads import UNTIL_ENDED

NAMESPACE = "tight"
STORAGE = {"resources": {"requests": {"storage": "1Gi"}}}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("waiting"), UNTIL_ENDED) as story:
        story.kubectl("create", "namespace", NAMESPACE)
        account = partial(story.get, "serviceaccount", "default", NAMESPACE)
        story.until_holds("it is ready for pods", account, bool)
        yield story


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.kubectl("delete", VCJOB, "--all", "-A")
    running.kubectl("delete", "resourcequotas,pvc", "--all", "-A")
    running.clear()


def until_said(story: Story, job: str, *words: str, namespace: str = "default") -> None:
    """Wait until a job says why it waits."""
    said = partial(message, story, job, namespace)
    story.until_holds(f"{job} says {words}", said, lambda seen: all(word in seen for word in words))


def phase(story: Story, job: str, namespace: str = "default") -> str:
    return phase_of(story.get(VCJOB, job, namespace))


def counters(story: Story, job: str, namespace: str = "default") -> list[int]:
    return numbers(status(story, job, namespace), "running", "retryCount", "version")


def quota(pods: int) -> Document:
    metadata = {"name": "few", "namespace": NAMESPACE}
    spec = {"hard": {"pods": str(pods)}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}


def test_a_quota_that_refuses_pods_makes_a_job_wait(story: Story) -> None:
    story.apply(quota(2))
    stored = partial(story.get, "resourcequota", "few", NAMESPACE)
    story.until_holds("it counts", stored, lambda one: "used" in one.get("status", {}))
    story.apply(
        vcjob("whole", {"w": 3}, namespace=NAMESPACE),
        vcjob("some", {"w": 3}, namespace=NAMESPACE, minAvailable=1),
        vcjob("beside", {"w": 1}),
    )
    until_running(story, "beside", "w-0")
    until_said(story, "whole", "quota", namespace=NAMESPACE)
    until_said(story, "some", "exceeded quota: few", namespace=NAMESPACE)
    assert phase(story, "whole", NAMESPACE) == "Pending"
    story.apply(quota(6))
    for job in ("whole", "some"):
        counted = partial(counters, story, job, NAMESPACE)
        story.until(f"{job} goes on", counted, [3, 0, 0])
        story.until(f"{job} says no more", partial(message, story, job, NAMESPACE), "")


def test_a_job_comes_after_another(story: Story) -> None:
    after = {"maar.sh/after": "first"}
    story.apply(vcjob("second", {"w": 1}, annotations=after))
    until_said(story, "second", "no such job")
    story.apply(vcjob("first", {"w": 1}))
    until_running(story, "first", "w-0")
    until_said(story, "second", "first", "Running")
    assert pods_of_job(story, "second") == {}
    finish(story, "first-w-0")
    until_running(story, "second", "w-0")


def test_a_task_comes_after_others(story: Story) -> None:
    late = {"replicas": 2, "dependsOn": {"name": ["early"]}}
    slow = {"replicas": 2, "template": template(nodeSelector={"kubernetes.io/hostname": "n1"})}
    story.kubectl("cordon", "n1")
    story.apply(vcjob("steps", {"late": late, "early": slow}, minAvailable=4))
    until_said(story, "steps", "1 is unschedulable")
    assert set(pods_of_job(story, "steps")) == {"steps-early-0", "steps-early-1"}
    story.kubectl("uncordon", "n1")
    until_running(story, "steps", "early-0", "early-1", "late-0", "late-1")
    story.until("the job runs", partial(phase, story, "steps"), "Running")
    made = {
        one["metadata"]["name"]: one["metadata"]["creationTimestamp"]
        for one in story.all("pods")
    }  # fmt: skip
    assert max(made["steps-early-0"], made["steps-early-1"]) <= min(
        made["steps-late-0"], made["steps-late-1"]
    )


def test_a_job_whose_pods_are_refused_harms_only_itself(story: Story) -> None:
    story.apply(
        vcjob("bad", {"w": {"replicas": 2, "template": template(serviceAccountName="absent")}}),
        *(vcjob(f"good-{number}", {"w": 1}) for number in range(3)),
    )
    for number in range(3):
        until_running(story, f"good-{number}", "w-0")
        finish(story, f"good-{number}-w-0")
        story.until("it completes", partial(phase, story, f"good-{number}"), "Completed")
    until_said(story, "bad", "Pod default/bad-w-", "absent")
    assert phase(story, "bad") == "Pending"
    assert counters(story, "bad") == [0, 0, 0]
    story.kubectl("create", "serviceaccount", "absent")
    until_running(story, "bad", "w-0", "w-1")
    story.kubectl("delete", "serviceaccount", "absent")


def test_an_event_says_why_a_job_waits(story: Story) -> None:
    large = [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "3"}}}]
    story.apply(vcjob("large", {"w": {"replicas": 3, "template": template(containers=large)}}))
    until_said(story, "large", "cpu")
    reasons = partial(story.events, "Job", "large")
    story.until_holds("an event says so", reasons, lambda seen: any(
        reason == "PodGroupPending" and "default:large unschedulable" in text for reason, text in seen
    ))  # fmt: skip
    patch = json.dumps([{"op": "replace", "path": "/spec/tasks/0/replicas", "value": 2},
                        {"op": "replace", "path": "/spec/tasks/0/minAvailable", "value": 2},
                        {"op": "replace", "path": "/spec/minAvailable", "value": 2}])  # fmt: skip
    story.kubectl("patch", VCJOB, "large", "--type=json", "-p", patch)
    until_running(story, "large", "w-0", "w-1")


def volume(name: str) -> Document:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def test_a_claim_that_is_named_must_be_there(story: Story) -> None:
    story.apply(*(volume(name) for name in ("v1", "v2")))
    made = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", **STORAGE}
    volumes = [{"mountPath": "/data", "volumeClaimName": "data"}, {"mountPath": "/own", "volumeClaim": made}]
    story.apply(vcjob("reads", {"w": 1}, volumes=volumes))
    until_said(story, "reads", "claim data is not there")
    assert pods_of_job(story, "reads") == {}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": made}
    story.apply(claim)
    until_running(story, "reads", "w-0")
    spec = story.get("pod", "reads-w-0")["spec"]
    mounted = [one.get("persistentVolumeClaim", {}).get("claimName") for one in spec["volumes"]]
    claims = [name for name in mounted if name]
    assert len(claims) == 2
    assert claims[0] == "data"
    assert claims[1].startswith("reads-pvc-")
    assert sorted(one["metadata"]["name"] for one in story.all("pvc")) == sorted(claims)
    story.kubectl("delete", VCJOB, "reads")
    story.until("its own claim goes with it", lambda: len(story.all("pvc")), 1)
    assert story.get("pvc", "data")
    story.kubectl("delete", "pv", "--all", "--wait=false")
