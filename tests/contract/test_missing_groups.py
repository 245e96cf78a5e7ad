"""What pods are told on API servers: that their group or pods of it are missing; once bound nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import pytest

from maar.apps.scheduler.observer import NullObserver
from maar.apps.scheduler.scheduler import Scheduler, Timing
from maar.core.engine import Engine
from maar.core.model.plan import Plan
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done
from maar.kube.paths import EVENTS, PODS, ResourcePath
from maar.kube.write import delete, patch
from support.faults import Hold, Proxy
from support.manifests import NODES, Json, body, make, make_node, node, there, unique
from support.until import until, until_async

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("crds")]

GROUPS: Final = ResourcePath("scheduling.volcano.sh/v1beta1", "podgroups", namespaced=True)
OURS: Final = "missing-groups"  # a scheduler name that nobody else has
NEVER_S: Final = 3600.0  # between looks where nothing has happened
QUIET_S: Final = 1.5  # after which what has been written about a pod is no news any more
TOO_MUCH: Final = "4000"  # CPUs: more than all nodes of the suite


class Binds(NullObserver):
    """Knows which pods were to be bound."""

    def __init__(self) -> None:
        self.pods = set[str]()

    def decided(self, plan: Plan, seconds: float) -> None:  # noqa: ARG002  # as it is called
        """Remember them."""
        self.pods |= {one.pod for one in plan.binds}


@asynccontextmanager
async def scheduling(
    api: ApiServer,
    observer: NullObserver = NullObserver(),  # noqa: B008
    tick_s: float = 0.5,
) -> AsyncIterator[None]:
    scheduler = Scheduler(api, Engine(scheduler_name=OURS), Timing(tick=tick_s), observer)
    task = asyncio.create_task(scheduler.run())
    try:
        await scheduler.first_decision.wait()
        yield
    finally:
        scheduler.stop()
        await task


async def make_group(api: ApiServer, namespace: str, name: str, least: int = 1) -> None:
    header = {"apiVersion": GROUPS.api_version, "kind": "PodGroup", "metadata": {"name": name}}
    await make(api, GROUPS, namespace, {**header, "spec": {"minMember": least, "queue": "default"}})


async def make_pod(
    api: ApiServer, namespace: str, name: str, group: str, cpu: str = "1m", **selector: str
) -> None:
    notes = {"scheduling.k8s.io/group-name": group} if group else {}
    need = {"requests": {"cpu": cpu}}
    spec: Json = {
        "schedulerName": OURS,
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": selector,
        "containers": [{"name": "main", "image": "none", "resources": need}],
    }
    await make(api, PODS, namespace, {"metadata": {"name": name, "annotations": notes}, "spec": spec})


async def reported(api: ApiServer, pod: str) -> tuple[str, str, str]:
    """The status, reason and message of the PodScheduled condition."""
    for one in (await there(api, PODS, pod))["status"].get("conditions", []):
        if one["type"] == "PodScheduled":
            return one["status"], one.get("reason", ""), one.get("message", "")
    return "", "", ""


async def has_reason(api: ApiServer, pod: str, reason: str) -> bool:
    return (await reported(api, pod))[:2] == ("False", reason)


async def is_bound(api: ApiServer, pod: str) -> bool:
    return (
        bool((await there(api, PODS, pod))["spec"].get("nodeName"))
        and (await reported(api, pod))[0] == "True"
    )


async def events(api: ApiServer, namespace: str, pod: str) -> list[str]:
    answer = await api.request("GET", EVENTS.all(namespace), {"fieldSelector": f"involvedObject.name={pod}"})
    return [f"{one['reason']}: {one['message']}" for one in body(Done(answer))["items"]]


async def test_a_pod_that_names_a_group_that_never_existed_is_told_and_runs_when_it_comes(
    api: ApiServer, namespace: str
) -> None:
    await make_node(api)
    pod = f"{namespace}/early"
    await make_pod(api, namespace, "early", "late-group")
    async with scheduling(api):
        await until_async("it is told", partial(has_reason, api, pod, "PodGroupMissing"))
        sentence = f"there is no pod group {namespace}/late-group for its pods; create it"
        assert (await reported(api, pod))[2] == sentence

        async def has_event() -> bool:
            return f"FailedScheduling: {sentence}" in await events(api, namespace, "early")

        await until_async("an event says so", has_event)
        await make_group(api, namespace, "late-group")
        await until_async("it runs", partial(is_bound, api, pod))


async def test_a_group_that_is_deleted_takes_the_reason_of_its_waiting_pods_with_it(
    api: ApiServer, namespace: str
) -> None:
    await make_node(api)
    pod = f"{namespace}/large"
    await make_group(api, namespace, "short-lived")
    await make_pod(api, namespace, "large", "short-lived", TOO_MUCH)
    async with scheduling(api):
        await until_async("it is too large", partial(has_reason, api, pod, "Unschedulable"))
        assert isinstance(await delete(api, GROUPS, f"{namespace}/short-lived"), Done)
        await until_async("its group is missing", partial(has_reason, api, pod, "PodGroupMissing"))
        await make_group(api, namespace, "short-lived")
        await until_async("it is too large again", partial(has_reason, api, pod, "Unschedulable"))


async def test_a_pod_that_gains_its_group_later_does_not_wait_for_the_next_look(
    api: ApiServer, namespace: str
) -> None:
    await make_node(api)
    pod = f"{namespace}/later"
    await make_group(api, namespace, "there")
    await make_pod(api, namespace, "later", "nowhere")
    async with scheduling(api, tick_s=NEVER_S):
        await asyncio.sleep(QUIET_S)
        change = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "there"}}}
        assert isinstance(await patch(api, PODS, pod, change), Done)
        await until_async("it runs", partial(is_bound, api, pod))


async def test_a_group_in_another_namespace_is_named(api: ApiServer, namespace: str) -> None:
    elsewhere, pod = "default", f"{namespace}/astray"
    name = unique("group")
    await make_group(api, elsewhere, name)
    await make_pod(api, namespace, "astray", name)
    async with scheduling(api):
        await until_async("it is told", partial(has_reason, api, pod, "PodGroupMissing"))
        assert (await reported(api, pod))[2] == (
            f"there is no pod group {namespace}/{name} for its pods; create it "
            f"(the one in namespace {elsewhere} is not theirs: a pod and its group share a namespace)"
        )


async def test_no_condition_lands_on_a_pod_after_its_bind(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str
) -> None:
    proxy, through = faults
    pod, label, held, observer = f"{namespace}/choosy", unique("label"), Hold(asyncio.Event()), Binds()
    await make_group(api, namespace, "choosy")
    await make_pod(api, namespace, "choosy", "choosy", **{label: "yes"})
    proxy.plan(held, method="PATCH", part="/pods/choosy/status")
    async with scheduling(through, observer):
        await until("it is being told that no node suits it", lambda: proxy.is_spent)
        suitable = node(unique("node"))
        suitable["metadata"]["labels"] = {label: "yes"}
        await make(api, NODES, "", suitable)
        await until("it is to be bound", lambda: pod in observer.pods)
        await asyncio.sleep(0.2)
        assert proxy.count("POST", "/pods/choosy/binding") == 0, "the condition is still being written"
        held.released.set()
        await until_async("it is bound", partial(is_bound, api, pod))


async def test_that_pods_are_missing_is_told_once_they_have_had_time_to_come(
    api: ApiServer, namespace: str
) -> None:
    await make_node(api)
    async with scheduling(api):
        for name in ("pair", "half"):
            await make_group(api, namespace, name, least=2)
            await make_pod(api, namespace, f"{name}-0", name)
        await asyncio.sleep(0.5)  # a decision with one pod of each
        await make_pod(api, namespace, "pair-1", "pair")
        await until_async(
            "half a gang is told", partial(has_reason, api, f"{namespace}/half-0", "NotEnoughTasks")
        )
        for name in ("pair-0", "pair-1"):
            await until_async("the other runs", partial(is_bound, api, f"{namespace}/{name}"))
        seen = [await events(api, namespace, name) for name in ("pair", "pair-0")]
        assert [one for one in (*seen[0], *seen[1]) if "pods that start together exist" in one] == []
