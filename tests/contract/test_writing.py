"""Creating, changing and deleting objects: what the client asks, and what the server must make of it."""

import pytest

from maar.core.model.kinds import to_json
from maar.kube.api_server import ApiServer
from maar.kube.errors import ApiError
from maar.kube.outcome import Conflict, Done, Gone, Refused
from maar.kube.paths import PODS, ResourcePath
from maar.kube.write import create, delete, get, patch
from support.manifests import CONFIG_MAPS, body, config_map, make, make_node, pod, there, unique
from support.until import until_async

pytestmark = pytest.mark.anyio

NAMESPACES = ResourcePath("v1", "namespaces", namespaced=False)


async def test_what_is_created_has_a_uid_a_time_and_a_resource_version(
    api: ApiServer, namespace: str
) -> None:
    made = await make(api, CONFIG_MAPS, namespace, config_map("c", colour="red"))
    assert made["data"] == {"colour": "red"}
    assert made["metadata"]["namespace"] == namespace
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"].endswith("Z")
    assert int(made["metadata"]["resourceVersion"]) > 0
    assert await there(api, CONFIG_MAPS, f"{namespace}/c") == made


async def test_a_name_can_be_taken_once(api: ApiServer, namespace: str) -> None:
    await make(api, CONFIG_MAPS, namespace, config_map("c"))
    outcome = await create(api, CONFIG_MAPS, f"{namespace}/c", config_map("c"))
    assert outcome == Conflict('configmaps "c" already exists')


async def test_nothing_can_be_created_in_a_namespace_that_is_not_there(api: ApiServer) -> None:
    outcome = await create(api, CONFIG_MAPS, "no-such-place/c", config_map("c"))
    assert outcome == Gone('namespaces "no-such-place" not found')


async def test_an_update_of_an_old_version_is_a_conflict(api: ApiServer, namespace: str) -> None:
    old = await make(api, CONFIG_MAPS, namespace, config_map("c", colour="red"))
    path = CONFIG_MAPS.one(f"{namespace}/c")
    new = body(Done(await api.request("PUT", path, None, to_json({**old, "data": {"colour": "blue"}}))))
    assert new["data"] == {"colour": "blue"}
    assert int(new["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])
    with pytest.raises(ApiError, match="the object has been modified") as refusal:
        await api.request("PUT", path, None, to_json(old))
    assert (refusal.value.code, refusal.value.reason) == (409, "Conflict")
    assert await there(api, CONFIG_MAPS, f"{namespace}/c") == new


async def test_a_merge_patch_changes_what_it_names_and_removes_what_is_null(
    api: ApiServer, namespace: str
) -> None:
    key = f"{namespace}/c"
    await make(api, CONFIG_MAPS, namespace, config_map("c", colour="red", size="big"))
    patched = body(await patch(api, CONFIG_MAPS, key, {"data": {"colour": None, "shape": "round"}}))
    assert patched["data"] == {"size": "big", "shape": "round"}


async def test_a_patch_with_a_version_or_a_uid_holds_for_that_object_only(
    api: ApiServer, namespace: str
) -> None:
    key = f"{namespace}/c"
    made = await make(api, CONFIG_MAPS, namespace, config_map("c", n="1"))
    version, uid = made["metadata"]["resourceVersion"], made["metadata"]["uid"]
    change = {"metadata": {"resourceVersion": version, "uid": uid}, "data": {"n": "2"}}
    assert isinstance(await patch(api, CONFIG_MAPS, key, change), Done)
    assert isinstance(await patch(api, CONFIG_MAPS, key, change), Conflict)
    other = {"metadata": {"uid": "11111111-2222-3333-4444-555555555555"}, "data": {"n": "3"}}
    assert isinstance(await patch(api, CONFIG_MAPS, key, other), Conflict)
    assert (await there(api, CONFIG_MAPS, key))["data"] == {"n": "2"}


async def test_a_json_patch_goes_step_by_step_and_stops_where_a_test_fails(
    api: ApiServer, namespace: str
) -> None:
    key = f"{namespace}/c"
    await make(api, CONFIG_MAPS, namespace, config_map("c", n="1"))
    steps = [
        {"op": "test", "path": "/data/n", "value": "1"},
        {"op": "replace", "path": "/data/n", "value": "2"},
        {"op": "add", "path": "/data/m", "value": "9"},
    ]
    assert body(await patch(api, CONFIG_MAPS, key, steps, "json"))["data"] == {"n": "2", "m": "9"}
    outcome = await patch(api, CONFIG_MAPS, key, steps, "json")
    assert isinstance(outcome, Refused)
    assert outcome.code == 422
    assert (await there(api, CONFIG_MAPS, key))["data"] == {"n": "2", "m": "9"}


async def test_a_strategic_merge_patch_changes_one_condition_among_others(
    api: ApiServer, namespace: str
) -> None:
    key = f"{namespace}/p"
    await make(api, PODS, namespace, pod("p"))
    for kind, reason in (("PodScheduled", "Unschedulable"), ("Other", "Whatever"), ("PodScheduled", "Queue")):
        condition = {"type": kind, "status": "False", "reason": reason}
        change = {"status": {"conditions": [condition]}}
        assert isinstance(await patch(api, PODS, key, change, "strategic-merge", "status"), Done)
    conditions = (await there(api, PODS, key))["status"]["conditions"]
    assert {one["type"]: one["reason"] for one in conditions} == {
        "PodScheduled": "Queue",
        "Other": "Whatever",
    }


async def test_the_status_is_written_apart_from_the_rest(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/p"
    await make(api, PODS, namespace, pod("p"))
    both = {"metadata": {"labels": {"app": "other"}}, "status": {"message": "hello"}}
    by_status = body(await patch(api, PODS, key, both, subresource="status"))
    assert by_status["status"]["message"] == "hello"
    both = {"metadata": {"labels": {"tier": "gold"}}, "status": {"message": "good bye"}}
    by_object = body(await patch(api, PODS, key, both))
    assert by_object["status"]["message"] == "hello"
    assert by_object["metadata"]["labels"]["tier"] == "gold"


async def test_what_is_deleted_is_gone(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/c"
    await make(api, CONFIG_MAPS, namespace, config_map("c"))
    assert isinstance(await delete(api, CONFIG_MAPS, key), Done)
    gone = Gone('configmaps "c" not found')
    assert await get(api, CONFIG_MAPS, key) == gone
    assert await delete(api, CONFIG_MAPS, key) == gone
    assert await patch(api, CONFIG_MAPS, key, {"data": {}}) == gone


async def test_a_deletion_can_be_meant_for_one_object_only(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/c"
    old = await make(api, CONFIG_MAPS, namespace, config_map("c"))
    await delete(api, CONFIG_MAPS, key)
    new = await make(api, CONFIG_MAPS, namespace, config_map("c"))
    assert isinstance(await delete(api, CONFIG_MAPS, key, uid=old["metadata"]["uid"]), Conflict)
    stale = await delete(api, CONFIG_MAPS, key, resource_version=old["metadata"]["resourceVersion"])
    assert isinstance(stale, Conflict)
    metadata = new["metadata"]
    outcome = await delete(
        api, CONFIG_MAPS, key, uid=metadata["uid"], resource_version=metadata["resourceVersion"]
    )
    assert isinstance(outcome, Done)


async def test_a_finalizer_keeps_an_object_until_it_is_taken_away(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/c"
    document = config_map("c")
    document["metadata"]["finalizers"] = ["maar.sh/contract"]
    await make(api, CONFIG_MAPS, namespace, document)
    assert isinstance(await delete(api, CONFIG_MAPS, key), Done)
    assert (await there(api, CONFIG_MAPS, key))["metadata"]["deletionTimestamp"]
    assert isinstance(await patch(api, CONFIG_MAPS, key, {"metadata": {"finalizers": None}}), Done)
    assert isinstance(await get(api, CONFIG_MAPS, key), Gone)


async def test_what_belongs_to_a_deleted_object_goes_with_it(api: ApiServer, namespace: str) -> None:
    owner = await make(api, CONFIG_MAPS, namespace, config_map("owner"))
    owned = config_map("owned")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    owned["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    await make(api, CONFIG_MAPS, namespace, owned)
    await make(api, CONFIG_MAPS, namespace, config_map("stranger"))
    assert isinstance(await delete(api, CONFIG_MAPS, f"{namespace}/owner"), Done)

    async def is_gone() -> bool:
        return isinstance(await get(api, CONFIG_MAPS, f"{namespace}/owned"), Gone)

    await until_async("what it owned is gone", is_gone)
    assert await there(api, CONFIG_MAPS, f"{namespace}/stranger")


async def test_what_is_orphaned_stays_and_forgets_its_owner(api: ApiServer, namespace: str) -> None:
    owner = await make(api, CONFIG_MAPS, namespace, config_map("owner"))
    owned = config_map("owned")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    owned["metadata"]["ownerReferences"] = [reference]
    await make(api, CONFIG_MAPS, namespace, owned)
    assert isinstance(await delete(api, CONFIG_MAPS, f"{namespace}/owner", propagation="Orphan"), Done)

    async def is_orphan() -> bool:
        return "ownerReferences" not in (await there(api, CONFIG_MAPS, f"{namespace}/owned"))["metadata"]

    await until_async("it has no owner", is_orphan)


async def test_a_pod_on_a_node_gets_time_to_end(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/p"
    name = await make_node(api)
    await make(api, PODS, namespace, pod("p", nodeName=name, terminationGracePeriodSeconds=3_000))
    assert isinstance(await delete(api, PODS, key), Done)
    metadata = (await there(api, PODS, key))["metadata"]
    assert metadata["deletionTimestamp"]
    assert metadata["deletionGracePeriodSeconds"] == 3_000


async def test_a_pod_without_a_node_goes_at_once(api: ApiServer, namespace: str) -> None:
    await make(api, PODS, namespace, pod("p"))
    assert isinstance(await delete(api, PODS, f"{namespace}/p"), Done)
    assert isinstance(await get(api, PODS, f"{namespace}/p"), Gone)


async def test_nothing_is_created_in_a_namespace_that_is_being_deleted(
    api: ApiServer, namespace: str
) -> None:
    held = pod("held")
    held["metadata"]["finalizers"] = ["example.com/stays"]
    await make(api, PODS, namespace, held)
    assert isinstance(await delete(api, NAMESPACES, namespace), Done)

    async def is_refused() -> bool:
        name = unique("late")
        outcome = await create(api, PODS, f"{namespace}/{name}", pod(name))
        return isinstance(outcome, Refused) and outcome.is_of_ending_namespace

    try:
        await until_async("a creation is refused", is_refused)
    finally:
        await patch(api, PODS, f"{namespace}/held", {"metadata": {"finalizers": None}})
