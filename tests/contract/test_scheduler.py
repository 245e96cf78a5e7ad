"""The scheduler on API servers: when it decides, and what it writes to whom."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from maar.apps.scheduler.observer import NullObserver
from maar.apps.scheduler.scheduler import Scheduler, Timing
from maar.core.engine import Engine
from maar.core.model.plan import Plan
from maar.core.model.pod_group import READY_ANNOTATION
from maar.core.model.volume import SELECTED_NODE_ANNOTATION
from maar.core.policy.configuration import DEFAULT
from maar.kube.api_server import ApiServer
from maar.kube.paths import CLAIMS, PODS, ResourcePath
from support.manifests import Json, make, make_node, there, unique
from support.until import until_async

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("crds")]

CLASSES = ResourcePath("storage.k8s.io/v1", "storageclasses", namespaced=False)
GROUPS = ResourcePath("scheduling.volcano.sh/v1beta1", "podgroups", namespaced=True)
OURS = "rhythm"  # a scheduler name that nobody else has


class Restless(NullObserver):
    """Makes news whenever something was decided, as a busy cluster does."""

    def __init__(self) -> None:
        self.decisions = 0
        self.scheduler: Scheduler | None = None

    def decided(self, plan: Plan, seconds: float) -> None:  # noqa: ARG002  # as it is called
        """Count, and make news."""
        self.decisions += 1
        if self.scheduler is not None:
            self.scheduler.configure(DEFAULT)


@asynccontextmanager
async def running(scheduler: Scheduler) -> AsyncIterator[None]:
    task = asyncio.create_task(scheduler.run())
    try:
        await scheduler.first_decision.wait()
        yield
    finally:
        scheduler.stop()
        await task


async def test_news_that_comes_during_a_decision_is_gathered_too(api: ApiServer) -> None:
    observer = Restless()
    scheduler = Scheduler(api, Engine(scheduler_name=OURS), Timing(gather=0.2), observer)
    async with running(scheduler):
        observer.scheduler, before = scheduler, observer.decisions
        scheduler.configure(DEFAULT)
        await asyncio.sleep(1.0)
        assert 1 <= observer.decisions - before <= 5
        observer.scheduler = None


async def test_a_claim_with_the_name_of_its_pod_learns_its_node(api: ApiServer, namespace: str) -> None:
    name = unique("same")
    await make_node(api)
    binding = {"provisioner": "example.com/some", "volumeBindingMode": "WaitForFirstConsumer"}
    await make(api, CLASSES, "", {"metadata": {"name": name}, **binding})
    await make(api, CLAIMS, namespace, {"metadata": {"name": name}, "spec": claimed(name)})
    group = {"minMember": 1, "queue": "default"}
    header = {"apiVersion": GROUPS.api_version, "kind": "PodGroup", "metadata": {"name": name}}
    await make(api, GROUPS, namespace, {**header, "spec": group})
    await make(api, PODS, namespace, pod_with_claim(name))

    async def is_chosen() -> bool:
        claim = await there(api, CLAIMS, f"{namespace}/{name}")
        return bool(claim["metadata"].get("annotations", {}).get(SELECTED_NODE_ANNOTATION))

    async with running(Scheduler(api, Engine(scheduler_name=OURS))):
        await until_async("the claim has its node", is_chosen)


async def test_a_completed_group_with_a_new_pod_runs_and_says_what_it_was_ready_with(
    api: ApiServer, namespace: str
) -> None:
    name = unique("again")
    key = f"{namespace}/{name}"
    await make_node(api)
    header = {"apiVersion": GROUPS.api_version, "kind": "PodGroup", "metadata": {"name": name}}
    spec = {"minMember": 1, "queue": "default", "minResources": {"count/pods": "1", "requests.cpu": "1m"}}
    await make(api, GROUPS, namespace, {**header, "spec": spec, "status": {"phase": "Completed"}})
    await make(
        api, PODS, namespace, {**pod_with_claim(name), "spec": {**plain_spec(), "schedulerName": OURS}}
    )

    async def is_running() -> bool:
        group = await there(api, GROUPS, key)
        is_ready = group["metadata"].get("annotations", {}).get(READY_ANNOTATION) == "1"
        return bool(group["status"]["phase"] == "Running" and is_ready)

    async with running(Scheduler(api, Engine(scheduler_name=OURS))):
        await until_async("the group runs", is_running)
    assert (await there(api, PODS, key))["spec"]["nodeName"]


def plain_spec() -> Json:
    return {"tolerations": [{"operator": "Exists"}], "containers": [{"name": "main", "image": "none"}]}


def claimed(storage_class: str) -> Json:
    return {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }


def pod_with_claim(name: str) -> Json:
    return {
        "metadata": {"name": name, "annotations": {"scheduling.k8s.io/group-name": name}},
        "spec": {
            "schedulerName": OURS,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "image": "none"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
        },
    }
