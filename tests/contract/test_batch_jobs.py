"""Jobs of batch/v1: Kubernetes' job controller and the one that Maar has inside do the same."""

from typing import Any

import pytest

from maar.core.model.kinds import plain
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done, Refused
from maar.kube.paths import PODS, ResourcePath
from maar.kube.write import create, delete, get, patch, patch_status
from support.manifests import Json, make
from support.until import until_async

pytestmark = pytest.mark.anyio

JOBS = ResourcePath("batch/v1", "jobs", namespaced=True)
MARK = "batch.kubernetes.io/job-completion-index"
FAIL_JOB = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}


def job(**spec: object) -> Json:
    """A job of one pod, unless its spec says otherwise; nothing schedules it."""
    container = {"name": "main", "image": "none"}
    template = {"spec": {"schedulerName": "another", "restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"template": template, **spec},
    }


async def pods(api: ApiServer, namespace: str) -> list[Json]:
    """The pods of the job by name."""
    found: Any = plain(await api.request("GET", PODS.all(namespace), None, None, "application/json"))
    return sorted(found["items"], key=lambda one: str(one["metadata"]["name"]))


async def read(api: ApiServer, namespace: str) -> Json:
    """The job as it is now."""
    found = await get(api, JOBS, f"{namespace}/j")
    assert isinstance(found, Done)
    value: Json = plain(found.body)  # type: ignore[assignment]
    return value


async def end(api: ApiServer, namespace: str, name: str, phase: str, code: int = 0) -> None:
    """Let a pod end as a kubelet does."""
    times = {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}
    container = {
        "name": "main",
        "image": "none",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"terminated": {"exitCode": code, **times}},
    }
    status = {"phase": phase, "containerStatuses": [container]}
    assert isinstance(await patch_status(api, PODS, f"{namespace}/{name}", status), Done)


async def has(api: ApiServer, namespace: str, **counts: int) -> bool:
    """Whether the status has these counts."""
    status = (await read(api, namespace)).get("status", {})
    return all(status.get(name, 0) == count for name, count in counts.items())


async def conditions(api: ApiServer, namespace: str) -> list[tuple[str, str, str]]:
    """The conditions that hold, with reason and message."""
    status = (await read(api, namespace)).get("status", {})
    found = [one for one in status.get("conditions", ()) if one["status"] == "True"]
    return [(one["type"], one.get("reason", ""), one.get("message", "")) for one in found]


async def is_over(api: ApiServer, namespace: str) -> bool:
    """Whether the job is complete or has failed."""
    return any(one in ("Complete", "Failed") for one, _, _ in await conditions(api, namespace))


async def test_the_pods_of_an_indexed_job(api: ApiServer, namespace: str) -> None:
    made = await make(api, JOBS, namespace, job(completions=2, parallelism=2, completionMode="Indexed"))
    await until_async("both are there", lambda: has(api, namespace, active=2))
    uid = made["metadata"]["uid"]
    for index, pod in enumerate(await pods(api, namespace)):
        meta, spec = pod["metadata"], pod["spec"]
        assert meta["name"].startswith(f"j-{index}-")
        assert meta["generateName"] == f"j-{index}-"
        assert meta["labels"] == {
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": "j",
            "controller-uid": uid,
            "job-name": "j",
            MARK: str(index),
        }
        assert meta["annotations"] == {MARK: str(index)}
        assert meta["finalizers"] == ["batch.kubernetes.io/job-tracking"]
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
        field = {"apiVersion": "v1", "fieldPath": f"metadata.labels['{MARK}']"}
        variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": field}}
        assert spec["containers"][0]["env"] == [variable]
        assert (spec["hostname"], spec["schedulerName"]) == (f"j-{index}", "another")


async def test_a_job_that_completes(api: ApiServer, namespace: str) -> None:
    await make(api, JOBS, namespace, job(completions=3, parallelism=1, completionMode="Indexed"))
    for index in range(3):
        await until_async("the next is there", lambda: has(api, namespace, active=1))
        (name,) = [
            one["metadata"]["name"]
            for one in await pods(api, namespace)
            if one["metadata"]["labels"][MARK] == str(index)
        ]
        await end(api, namespace, name, "Succeeded")
        await until_async("it is counted", lambda count=index + 1: has(api, namespace, succeeded=count))  # type: ignore[misc]
    await until_async("the job is over", lambda: is_over(api, namespace))
    why = ("CompletionsReached", "Reached expected number of succeeded pods")
    assert await conditions(api, namespace) == [("SuccessCriteriaMet", *why), ("Complete", *why)]
    status = (await read(api, namespace))["status"]
    assert status["completedIndexes"] == "0-2"
    for field in ("ready", "terminating"):
        assert status[field] == 0
    assert {"startTime", "completionTime", "uncountedTerminatedPods"} <= status.keys()
    assert "active" not in status


@pytest.mark.parametrize(
    ("spec", "code", "why"),
    [
        ({"backoffLimit": 0}, 1, ("BackoffLimitExceeded", "Job has reached the specified backoff limit")),
        (
            {"podFailurePolicy": {"rules": [FAIL_JOB]}},
            42,
            (
                "PodFailurePolicy",
                "Container main for pod {pod} failed with exit code 42 matching FailJob rule at index 0",
            ),
        ),
    ],
)
async def test_a_job_that_fails(
    api: ApiServer, namespace: str, spec: Json, code: int, why: tuple[str, str]
) -> None:
    await make(api, JOBS, namespace, job(**spec))
    await until_async("its pod is there", lambda: has(api, namespace, active=1))
    (pod,) = await pods(api, namespace)
    name = pod["metadata"]["name"]
    await end(api, namespace, name, "Failed", code)
    await until_async("the job is over", lambda: is_over(api, namespace))
    said = (why[0], why[1].format(pod=f"{namespace}/{name}"))
    assert await conditions(api, namespace) == [("FailureTarget", *said), ("Failed", *said)]
    assert await has(api, namespace, failed=1, active=0)


async def test_an_index_that_fails_on_its_own(api: ApiServer, namespace: str) -> None:
    await make(api, JOBS, namespace, job(completions=1, completionMode="Indexed", backoffLimitPerIndex=0))
    assert (await read(api, namespace))["spec"]["backoffLimit"] == 2**31 - 1
    await until_async("its pod is there", lambda: has(api, namespace, active=1))
    (pod,) = await pods(api, namespace)
    assert pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "0"
    await end(api, namespace, pod["metadata"]["name"], "Failed", 1)
    await until_async("the job is over", lambda: is_over(api, namespace))
    said = ("FailedIndexes", "Job has failed indexes")
    assert await conditions(api, namespace) == [("FailureTarget", *said), ("Failed", *said)]
    assert (await read(api, namespace))["status"]["failedIndexes"] == "0"


async def test_a_job_that_is_suspended_and_resumed(api: ApiServer, namespace: str) -> None:
    await make(api, JOBS, namespace, job())
    await until_async("its pod is there", lambda: has(api, namespace, active=1))
    assert isinstance(await patch(api, JOBS, f"{namespace}/j", {"spec": {"suspend": True}}), Done)
    await until_async("its pod is gone", lambda: has(api, namespace, active=0, terminating=0))
    assert await conditions(api, namespace) == [("Suspended", "JobSuspended", "Job suspended")]
    assert await pods(api, namespace) == []
    assert isinstance(await patch(api, JOBS, f"{namespace}/j", {"spec": {"suspend": False}}), Done)
    await until_async("it has a pod again", lambda: has(api, namespace, active=1))
    assert await conditions(api, namespace) == []
    assert await has(api, namespace, failed=0)


async def test_a_deleted_pod_is_a_failure(api: ApiServer, namespace: str) -> None:
    await make(api, JOBS, namespace, job(backoffLimit=0))
    await until_async("its pod is there", lambda: has(api, namespace, active=1))
    (pod,) = await pods(api, namespace)
    assert isinstance(await delete(api, PODS, f"{namespace}/{pod['metadata']['name']}"), Done)
    await until_async("the job is over", lambda: is_over(api, namespace))
    assert await has(api, namespace, failed=1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"completionMode": "Indexed", "parallelism": 2},
            "spec.completions: Required value: when completion",
        ),
        ({"completionMode": "Other"}, 'spec.completionMode: Unsupported value: "Other"'),
        (
            {"activeDeadlineSeconds": -1},
            "spec.activeDeadlineSeconds: Invalid value: -1: must be greater than",
        ),
        ({"ttlSecondsAfterFinished": -1}, "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater"),
        ({"backoffLimitPerIndex": 1}, "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed"),
        (
            {"completionMode": "Indexed", "maxFailedIndexes": 1},
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
        ),
        (
            {"podFailurePolicy": {"rules": [{**FAIL_JOB, "action": "FailIndex"}]}},
            'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoff',
        ),
        (
            {"podFailurePolicy": {"rules": [{"action": "FailJob"}]}},
            "specifying one of OnExitCodes and OnPodConditions is required",
        ),
    ],
)
async def test_a_job_that_makes_no_sense(api: ApiServer, namespace: str, spec: Json, message: str) -> None:
    outcome = await create(api, JOBS, f"{namespace}/j", job(**spec))
    assert isinstance(outcome, Refused)
    assert message in outcome.message


async def test_completions_grow_with_parallelism_only(api: ApiServer, namespace: str) -> None:
    await make(api, JOBS, namespace, job(completions=2, parallelism=2, completionMode="Indexed"))
    alone = await patch(api, JOBS, f"{namespace}/j", {"spec": {"completions": 3}})
    assert isinstance(alone, Refused)
    assert "can only be modified in tandem with spec.parallelism" in alone.message
    both = {"spec": {"completions": 3, "parallelism": 3}}
    assert isinstance(await patch(api, JOBS, f"{namespace}/j", both), Done)
    await until_async("the third is there", lambda: has(api, namespace, active=3))
