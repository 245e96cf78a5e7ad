"""The controllers on API servers: whatever happens while they write, they come to what should be."""

import asyncio
import json
from functools import partial

import pytest

from maar.apps.controllers import ControllerRunner
from maar.core.controllers.cluster_view import ClusterView
from maar.core.controllers.pod_groups import MissingGroups
from maar.core.controllers.queue_states import QueueStates
from maar.core.model.job import Command
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.workload import ReplicaSet, StatefulSet
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done
from maar.kube.paths import EVENTS, PODS, resource_path_of
from maar.kube.write import delete, get, patch
from support.faults import Hold, Proxy, Say
from support.manifests import body, make, pod, there, unique
from support.running_controllers import running
from support.until import until, until_async

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("crds")]

QUEUES = resource_path_of(Queue)
OURS = "followers"  # a scheduler name that nobody else has
HEADER = {"apiVersion": QUEUES.api_version, "kind": "Queue"}


async def test_what_changes_while_a_write_is_under_way_is_looked_at_when_it_is_answered(
    api: ApiServer, faults: tuple[Proxy, ApiServer]
) -> None:
    (passing, through), name, released = faults, unique("queue"), asyncio.Event()
    runner = ControllerRunner(through, [QueueStates()], cluster=ClusterView(workloads=()))
    status = f"/queues/{name}/status"
    async with running(runner):
        passing.plan(Hold(released), method="PATCH", part=status)
        await make(api, QUEUES, "", {**HEADER, "metadata": {"name": name}, "spec": {"weight": 1}})
        await until("its state is being written", lambda: passing.count("PATCH", status) == 1)
        assert isinstance(await patch(api, QUEUES, name, {"spec": {"state": "Closed"}}), Done)
        await until("it is heard of", lambda: runner.queues[name].spec.state == "Closed")
        await asyncio.sleep(0.5)  # several rounds
        assert passing.count("PATCH", status) == 1, "one write to an object at a time"
        released.set()

        async def is_closed() -> bool:
            return bool((await there(api, QUEUES, name))["status"]["state"] == "Closed")

        await until_async("it is closed", is_closed)


async def test_what_was_refused_is_tried_again_as_soon_as_a_queue_changes(
    api: ApiServer, namespace: str, faults: tuple[Proxy, ApiServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    passing, through = faults
    monkeypatch.setattr("maar.apps.controllers._LONGEST_S", 3600.0)
    monkeypatch.setattr("maar.apps.controllers._AGAIN_S", 3600.0)
    runner = ControllerRunner(through, [MissingGroups()], cluster=ClusterView(OURS, ()))
    async with running(runner):
        passing.plan(forbidden("group"), method="POST", part="/podgroups")
        await make(api, PODS, namespace, pod("refused", schedulerName=OURS, nodeSelector={"no": "node"}))
        await until("it is refused", lambda: runner.failures.totals["Create", "PodGroup", "Forbidden"] == 1)
        await make(api, QUEUES, "", {**HEADER, "metadata": {"name": unique("q")}, "spec": {"weight": 1}})
        await until("nothing fails", lambda: runner.failures.standing()["Create", "PodGroup"] == 0)


async def test_a_command_that_comes_while_a_write_is_under_way_is_not_lost(
    api: ApiServer, faults: tuple[Proxy, ApiServer]
) -> None:
    (passing, through), name, released = faults, unique("queue"), asyncio.Event()
    runner = ControllerRunner(through, [QueueStates()], cluster=ClusterView(workloads=()))
    status = f"/queues/{name}/status"
    async with running(runner):
        passing.plan(Hold(released), method="PATCH", part=status)
        await make(api, QUEUES, "", {**HEADER, "metadata": {"name": name}, "spec": {"weight": 1}})
        await until("its state is being written", lambda: passing.count("PATCH", status) == 1)
        order = {
            "apiVersion": Command.api_version,
            "kind": "Command",
            "metadata": {"name": name},
            "action": "CloseQueue",
            "target": {**HEADER, "name": name, "uid": (await there(api, QUEUES, name))["metadata"]["uid"]},
        }
        await make(api, resource_path_of(Command), "default", order)
        await asyncio.sleep(0.5)  # several rounds
        released.set()

        async def is_closed() -> bool:
            return bool((await there(api, QUEUES, name))["status"]["state"] == "Closed")

        await until_async("it is closed", is_closed)


async def test_a_state_that_a_client_of_volcano_wrote_stands_until_it_can_delete_the_queue(
    api: ApiServer,
) -> None:
    name = unique("client")
    path, status = f"{QUEUES.one(name)}/status", b'{"status": {"state": "Closed"}}'

    async def state() -> str:
        return str((await there(api, QUEUES, name)).get("status", {}).get("state"))

    async def is_open() -> bool:
        return await state() == "Open"

    async with running(ControllerRunner(api, [QueueStates()], cluster=ClusterView(workloads=()))):
        await make(api, QUEUES, "", {**HEADER, "metadata": {"name": name}, "spec": {"weight": 1}})
        await until_async("it is open", is_open)
        writer = {"fieldManager": "volcano-client"}
        await api.request("PATCH", path, writer, status, "application/merge-patch+json")
        for _ in range(20):
            await asyncio.sleep(0.1)
            assert await state() == "Closed"
        await until_async("the state follows the spec again", is_open)
    assert isinstance(await delete(api, QUEUES, name), Done)


async def test_groups_that_were_made_follow_their_owner(api: ApiServer, namespace: str) -> None:
    notes = {"scheduling.volcano.sh/group-min-member": "2"}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {**pod("p")["spec"], "schedulerName": OURS}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    header = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
    replica_sets = resource_path_of(ReplicaSet)
    owner = await make(
        api,
        replica_sets,
        namespace,
        {**header, "metadata": {"name": "r", "annotations": notes}, "spec": spec},
    )
    uid = owner["metadata"]["uid"]
    reference = {**header, "name": "r", "uid": uid, "controller": True}
    of_owner = pod("r-1", schedulerName=OURS)
    of_owner["metadata"] |= {"labels": {"app": "a"}, "ownerReferences": [reference]}
    group = f"{namespace}/podgroup-{uid}"

    async def asks(least: int, cpu: str) -> bool:
        found = await get(api, resource_path_of(PodGroup), group)
        spec = body(found)["spec"] if isinstance(found, Done) else {}
        return (spec.get("minMember"), spec.get("minResources")) == (least, {"cpu": cpu})

    kinds = (ReplicaSet, StatefulSet)
    async with running(ControllerRunner(api, [MissingGroups()], cluster=ClusterView(OURS, kinds))):
        await make(api, PODS, namespace, of_owner)
        await until_async("the group is as the owner says", partial(asks, 2, "2"))
        changed = {"metadata": {"annotations": {"scheduling.volcano.sh/group-min-member": "3"}}}
        assert isinstance(await patch(api, replica_sets, f"{namespace}/r", changed), Done)
        await until_async("the group follows", partial(asks, 3, "3"))


def forbidden(name: str) -> Say:
    message = f'podgroups "{name}" is forbidden: exceeded quota: small'
    return Say(403, json.dumps({"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}))


async def test_a_group_that_may_not_be_made_is_logged_once_counted_and_told_to_its_pod(
    api: ApiServer,
    namespace: str,
    faults: tuple[Proxy, ApiServer],
    caplog: pytest.LogCaptureFixture,
) -> None:
    passing, through = faults
    runner = ControllerRunner(through, [MissingGroups()], cluster=ClusterView(OURS, ()))
    async with running(runner):
        bare = await make(
            api, PODS, namespace, pod("refused", schedulerName=OURS, nodeSelector={"no": "node"})
        )
        group = f"podgroup-{bare['metadata']['uid']}"
        passing.plan(*[forbidden(group)] * 3, method="POST", part="/podgroups")
        await until(
            "it is tried again", lambda: runner.failures.totals["Create", "PodGroup", "Forbidden"] >= 2
        )
        (logged,) = [one for one in caplog.messages if "cannot create PodGroup" in one]
        assert logged.startswith(f'cannot create PodGroup {namespace}/{group}: podgroups "{group}" is')

        async def has_event() -> bool:
            selected = {"fieldSelector": "involvedObject.name=refused,reason=FailedCreate"}
            answer = await api.request("GET", EVENTS.all(namespace), selected)
            return bool(body(Done(answer))["items"])

        await until_async("the pod is told", has_event)
        assert runner.failures.standing()["Create", "PodGroup"] == 1

        async def is_made() -> bool:
            return isinstance(await get(api, resource_path_of(PodGroup), f"{namespace}/{group}"), Done)

        await until_async("it is made in the end", is_made)
        await until("nothing fails", lambda: runner.failures.standing()["Create", "PodGroup"] == 0)
