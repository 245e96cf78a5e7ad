"""Rules that a server keeps without being asked: quotas, priorities, namespaces, and Maar's own kinds."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from maar.core.model.job import Job
from maar.core.model.kinds import from_json
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Conflict, Done, Gone, Refused
from maar.kube.paths import PODS, ResourcePath, resource_path_of
from maar.kube.write import create, delete, get, patch, patch_status
from support.manifests import CONFIG_MAPS, Json, body, config_map, make, pod, there, unique
from support.until import until_async

pytestmark = pytest.mark.anyio

QUOTAS = ResourcePath("v1", "resourcequotas", namespaced=True)
PRIORITY_CLASSES = ResourcePath("scheduling.k8s.io/v1", "priorityclasses", namespaced=False)
NAMESPACES = ResourcePath("v1", "namespaces", namespaced=False)
QUEUES, GROUPS, JOBS = (resource_path_of(kind) for kind in (Queue, PodGroup, Job))


async def test_a_quota_is_enforced_and_counted(api: ApiServer, namespace: str) -> None:
    hard = {"requests.cpu": "2", "pods": "10", "volcano.sh/namespace.weight": "3"}
    quota: Json = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": hard},
    }
    await make(api, QUOTAS, namespace, quota)

    def used(cpu: str) -> Callable[[], Awaitable[bool]]:
        async def holds() -> bool:
            status = (await there(api, QUOTAS, f"{namespace}/q")).get("status", {})
            return bool(status.get("used", {}).get("requests.cpu") == cpu)

        return holds

    await until_async("it is in force", used("0"))
    for name in ("a", "b"):
        await make(api, PODS, namespace, pod(name))
    outcome = await create(api, PODS, f"{namespace}/c", pod("c"))
    assert isinstance(outcome, Refused)
    assert (outcome.code, outcome.reason) == (403, "Forbidden")
    assert "exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=2" in outcome.message
    await until_async("it is counted", used("2"))
    assert isinstance(await delete(api, PODS, f"{namespace}/a"), Done)
    await until_async("what is gone is not counted", used("1"))
    # A real API server admits by a copy of its own, which may be older than what it answers.
    await until_async("there is room again", lambda: is_accepted(api, namespace, pod("c")))


async def test_a_priority_class_becomes_a_number(api: ApiServer, namespace: str) -> None:
    name = unique("urgent")
    document: Json = {
        "apiVersion": PRIORITY_CLASSES.api_version,
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": 1_234,
        "preemptionPolicy": "Never",
    }
    await make(api, PRIORITY_CLASSES, "", document)
    await until_async(
        "the class is known", lambda: is_accepted(api, namespace, pod("p", priorityClassName=name))
    )
    spec = (await there(api, PODS, f"{namespace}/p"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1_234, "Never")
    assert (await make(api, PODS, namespace, pod("plain")))["spec"]["priority"] == 0
    missing = await create(api, PODS, f"{namespace}/q", pod("q", priorityClassName=unique("none")))
    assert isinstance(missing, Refused)
    assert (missing.code, missing.reason) == (403, "Forbidden")
    assert "no PriorityClass with name" in missing.message


async def test_a_deleted_namespace_takes_everything_with_it(api: ApiServer, namespace: str) -> None:
    await make(api, CONFIG_MAPS, namespace, config_map("c"))
    assert isinstance(await delete(api, NAMESPACES, namespace), Done)

    async def is_gone() -> bool:
        return isinstance(await get(api, NAMESPACES, namespace), Gone)

    refused = await create(api, CONFIG_MAPS, f"{namespace}/d", config_map("d"))
    assert isinstance(refused, Refused | Gone)
    await until_async("the namespace is gone", is_gone)
    assert isinstance(await get(api, CONFIG_MAPS, f"{namespace}/c"), Gone)


async def test_a_pod_comes_back_with_what_maar_reads(api: ApiServer, namespace: str) -> None:
    document = pod("p", nodeSelector={"disk": "ssd"}, tolerations=[{"key": "gpu", "operator": "Exists"}])
    made = await create(api, PODS, f"{namespace}/p", document)
    assert isinstance(made, Done)
    read = from_json(Pod, made.body)
    assert read.key == f"{namespace}/p"
    assert read.metadata.creation_timestamp is not None
    assert read.spec.scheduler_name == "volcano"
    assert read.spec.node_selector == {"disk": "ssd"}
    assert read.request["cpu"] == 1_000
    assert read.status.phase == "Pending"


@pytest.mark.usefixtures("crds")
async def test_a_queue_gets_its_defaults_and_counts_changes_of_its_spec(api: ApiServer) -> None:
    name = unique("queue")
    made = await make(api, QUEUES, "", queue(name, {"guarantee": {"resource": {"cpu": "2"}}}))
    assert made["metadata"]["generation"] == 1
    assert made["spec"]["weight"] == 1
    changed = body(await patch(api, QUEUES, name, {"spec": {"weight": 4}}))
    assert (changed["metadata"]["generation"], changed["spec"]["weight"]) == (2, 4)
    status = {"state": "Open", "deserved": {"cpu": "2"}, "share": "0.50"}
    written = body(await patch_status(api, QUEUES, name, status))
    assert written["metadata"]["generation"] == 2, "a status is no new generation"
    assert written["status"] == status
    kept = body(await patch(api, QUEUES, name, {"status": {"share": "inf"}, "spec": {"weight": 5}}))
    assert (kept["status"], kept["spec"]["weight"]) == (status, 5)
    assert isinstance(await delete(api, QUEUES, name), Done)


@pytest.mark.usefixtures("crds")
async def test_an_invalid_queue_is_refused_with_the_field(api: ApiServer) -> None:
    name = unique("queue")
    for spec, field in (
        ({"weight": 0}, "spec.weight"),
        ({"weight": "heavy"}, "spec.weight"),
        ({"capability": {"cpu": "2c"}}, "spec.capability.cpu"),
        ({"dequeueStrategy": "random"}, "spec.dequeueStrategy"),
    ):
        outcome = await create(api, QUEUES, name, queue(name, spec))
        assert isinstance(outcome, Refused), spec
        assert (outcome.code, outcome.reason) == (422, "Invalid"), spec
        assert any(cause.field.startswith(field.rpartition(".")[0]) for cause in outcome.causes), outcome


@pytest.mark.usefixtures("crds")
async def test_a_pod_group_has_conditions_and_a_phase(api: ApiServer, namespace: str) -> None:
    document: Json = {
        "apiVersion": GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": 2, "minResources": {"cpu": "1500m"}},
    }
    await make(api, GROUPS, namespace, document)
    condition = {
        "type": "Unschedulable",
        "status": "True",
        "reason": "NotEnoughResources",
        "transitionID": "7",
    }
    status = {"phase": "Inqueue", "conditions": [condition], "running": 1}
    outcome = await patch_status(api, GROUPS, f"{namespace}/g", status)
    assert isinstance(outcome, Done)
    read = from_json(PodGroup, outcome.body)
    assert (read.spec.queue, read.status.phase, read.status.running) == ("default", "Inqueue", 1)
    assert [one.transition_id for one in read.status.conditions] == ["7"]
    assert isinstance(await create(api, GROUPS, f"{namespace}/g", document), Conflict)


@pytest.mark.usefixtures("crds")
async def test_a_job_keeps_its_templates_as_they_were_written(api: ApiServer, namespace: str) -> None:
    template: dict[str, Any] = {
        "metadata": {"labels": {"app": "train"}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "train:7", "args": ["--lr", "0.1"]}],
        },
    }
    task = {"name": "worker", "replicas": 2, "template": template}
    document: Json = {
        "apiVersion": JOBS.api_version,
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"minAvailable": 2, "tasks": [task]},
    }
    made = await make(api, JOBS, namespace, document)
    assert made["spec"]["tasks"][0]["template"] == template


def queue(name: str, spec: Json) -> Json:
    """A queue."""
    return {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


async def is_accepted(api: ApiServer, namespace: str, document: Json) -> bool:
    """Whether a pod could be created."""
    return isinstance(await create(api, PODS, f"{namespace}/{document['metadata']['name']}", document), Done)
