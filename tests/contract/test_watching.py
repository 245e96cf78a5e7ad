"""Following objects: what is there, every change after it, and nothing lost in between."""

import asyncio

import msgspec
import pytest

from maar.core.model.kinds import from_json, plain
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.workload import ReplicaSet
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done
from maar.kube.paths import PODS, resource_path_of
from maar.kube.watch import BadObject
from maar.kube.write import delete, patch, patch_status
from support.following import following
from support.manifests import NODES, Json, make, node, pod, there, unique
from support.until import TIMEOUT_S, until

pytestmark = pytest.mark.anyio


async def test_what_is_there_comes_first_and_then_every_change(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/late"
    await make(api, PODS, namespace, pod("early"))
    async with following(api, Pod, namespace=namespace) as follower:
        assert follower.watch.lag_s > 0
        await follower.synced()
        assert follower.names() == ["early"]
        versions = [(await make(api, PODS, namespace, pod("late")))["metadata"]["resourceVersion"]]
        for number in range(3):
            change = {"metadata": {"annotations": {"n": str(number)}}}
            assert isinstance(await patch(api, PODS, key, change), Done)
            versions.append((await there(api, PODS, key))["metadata"]["resourceVersion"])
        await delete(api, PODS, key)
        await until("it has vanished", lambda: follower.story(key)[-1:] == ["vanished"])
        assert follower.story(key)[: len(versions)] == versions
        assert follower.names() == ["early"]
        assert follower.watch.lag_s == 0
        assert follower.troubles == []


async def test_what_no_longer_matches_vanishes_and_comes_back(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/p"
    await make(api, PODS, namespace, pod("p"))
    async with following(api, Pod, namespace=namespace, labels="tier=gold") as follower:
        await follower.synced()
        assert follower.names() == []
        await patch(api, PODS, key, {"metadata": {"labels": {"tier": "gold"}}})
        await until("it matches", lambda: follower.names() == ["p"])
        await patch(api, PODS, key, {"metadata": {"labels": {"tier": "silver"}}})
        await until("it matches no longer", lambda: follower.names() == [])
        await patch(api, PODS, key, {"metadata": {"labels": {"tier": "gold"}}})
        await until("it matches again", lambda: follower.names() == ["p"])


async def test_fields_select_what_is_followed(api: ApiServer, namespace: str) -> None:
    async with following(api, Pod, namespace=namespace, fields="spec.nodeName=") as follower:
        await follower.synced()
        await make(api, PODS, namespace, pod("waits"))
        await make(api, PODS, namespace, pod("placed", nodeName="n"))
        await make(api, PODS, namespace, pod("waits-too"))
        await until("both that wait are there", lambda: follower.names() == ["waits", "waits-too"])


async def test_a_pod_that_ends_is_followed_to_its_end(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/p"
    await make(api, PODS, namespace, pod("p", nodeName="n"))
    async with following(api, Pod, namespace=namespace) as follower:
        await follower.synced()
        await delete(api, PODS, key)
        await until("it is terminating", lambda: follower.objects[key].is_terminating)
        await api.request("DELETE", PODS.one(key), None, b'{"gracePeriodSeconds": 0}')
        await until("it is gone", lambda: follower.names() == [])


async def test_an_answer_brings_nothing_back_that_has_changed_or_gone(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/p"
    await make(api, PODS, namespace, pod("p"))
    async with following(api, Pod, namespace=namespace) as follower:
        await follower.synced()
        answer = await patch(api, PODS, key, {"metadata": {"annotations": {"by": "us"}}})
        assert isinstance(answer, Done)
        ours = from_json(Pod, answer.body)

        def by() -> str | None:
            return follower.objects[key].metadata.annotations.get("by")

        await patch(api, PODS, key, {"metadata": {"annotations": {"by": "others"}}})
        await until("the stream is past it", lambda: by() == "others")
        follower.watch.see(ours)
        assert by() == "others"
        await delete(api, PODS, key)
        await until("it has vanished", lambda: follower.story(key)[-1:] == ["vanished"])
        follower.watch.see(ours)
        assert follower.names() == []


async def test_an_answer_is_told_of_at_once_and_not_taken_back(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/p"
    made = await make(api, PODS, namespace, pod("p"))
    version = int(made["metadata"]["resourceVersion"])
    async with following(api, Pod, namespace=namespace) as follower:
        await follower.synced()
        early = from_json(Pod, msgspec.json.encode(made))
        ahead = msgspec.structs.replace(early.metadata, resource_version=str(version + 100_000))
        follower.watch.see(msgspec.structs.replace(early, metadata=ahead))
        assert follower.story(key) == [str(version), str(version + 100_000)]
        await patch(api, PODS, key, {"metadata": {"annotations": {"by": "others"}}})
        await make(api, PODS, namespace, pod("q"))
        await until("the stream is past the change", lambda: "q" in follower.names())
        assert follower.story(key) == [str(version), str(version + 100_000)]
        await delete(api, PODS, key)
        await until("it has vanished", lambda: follower.story(key)[-1:] == ["vanished"])


async def test_a_bad_object_harms_only_itself(api: ApiServer) -> None:
    good, bad = unique("good"), unique("bad")
    document = node(bad)
    document["status"]["conditions"][0]["status"] = "Perhaps"  # the server takes it, Maar cannot
    await make(api, NODES, "", document)
    await make(api, NODES, "", node(good))
    async with following(api, Node) as follower:
        await follower.synced()
        assert good in follower.objects
        assert bad not in follower.objects
        (trouble,) = [one for one in follower.troubles if isinstance(one, BadObject) and one.key == bad]
        assert trouble.kind == "Node"
        assert trouble.problem.startswith("status.conditions[0].status: ")

        await patch_status(api, NODES, good, document["status"])
        await until("its harm is noted", lambda: any(named(one, good) for one in follower.troubles))
        assert good in follower.objects, "as it was last"
        await delete(api, NODES, good)
        await until("the one that was good is gone", lambda: good not in follower.objects)

        await patch_status(api, NODES, bad, node(bad)["status"])
        await until("the bad one is good", lambda: bad in follower.objects)
        await delete(api, NODES, bad)
        await until("it is gone", lambda: bad not in follower.objects)


async def test_bookmarks_tell_how_far_the_stream_is(api: ApiServer, namespace: str) -> None:
    await make(api, PODS, namespace, pod("p"))
    listed = plain(await api.request("GET", PODS.all(namespace)))
    assert isinstance(listed, dict)
    version = listed["metadata"]["resourceVersion"]
    query = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": version,
        "timeoutSeconds": "4",
    }
    changes: list[Json] = []
    async with api.stream(PODS.all(namespace), query, 20) as stream:
        await make(api, PODS, namespace, pod("q"))
        async for lines in stream:
            changes += [change for line in lines if isinstance(change := plain(line), dict)]
    assert [one["type"] for one in changes][:2] == ["ADDED", "BOOKMARK"]
    added, bookmark = (one["object"]["metadata"]["resourceVersion"] for one in changes[:2])
    assert int(version) < int(added) <= int(bookmark)
    assert changes[1]["object"]["kind"] == "Pod"


async def test_a_stream_ends_when_its_time_is_over(api: ApiServer, namespace: str) -> None:
    async with (
        asyncio.timeout(TIMEOUT_S),
        api.stream(PODS.all(namespace), {"watch": "true", "timeoutSeconds": "1"}, 20) as stream,
    ):
        async for lines in stream:
            pytest.fail(f"nothing has changed: {lines}")


def named(trouble: object, key: str) -> bool:
    """Whether a trouble is about a bad object of that name."""
    return isinstance(trouble, BadObject) and trouble.key == key


async def test_of_workloads_only_the_metadata_is_read(api: ApiServer, namespace: str) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod("p")["spec"]}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    document: Json = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"}, "spec": spec}
    notes = {"metadata": {"annotations": {"says": "this"}}}
    key, place = f"{namespace}/r", resource_path_of(ReplicaSet)
    made = await make(api, place, namespace, {**document, "metadata": {"name": "early"}})
    async with following(api, ReplicaSet, namespace=namespace) as follower:
        await follower.synced()
        assert follower.objects[f"{namespace}/early"].metadata.uid == made["metadata"]["uid"]
        await make(api, place, namespace, document)
        assert isinstance(await patch(api, place, key, notes), Done)
        await until("it is heard of", lambda: key in follower.objects and _says(follower.objects[key]))
        await delete(api, place, key)
        await until("it has vanished", lambda: follower.names() == ["early"])
        assert follower.troubles == []


def _says(one: Object) -> bool:
    return one.metadata.annotations.get("says") == "this"
