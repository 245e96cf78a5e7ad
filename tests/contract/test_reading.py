"""Reading many objects: pages, selectors, and lists that are all of one moment."""

import pytest

from maar.core.model.kinds import BadObjectError, plain
from maar.core.model.namespace import Namespace
from maar.core.model.pod import Pod
from maar.kube.api_server import ApiServer
from maar.kube.errors import ApiError
from maar.kube.listing import objects, read_pages
from maar.kube.outcome import Done
from maar.kube.paths import PODS
from maar.kube.write import delete
from support.manifests import CONFIG_MAPS, body, config_map, make, make_node, pod

pytestmark = pytest.mark.anyio


async def test_a_list_comes_in_pages_that_are_of_one_version(api: ApiServer, namespace: str) -> None:
    for number in range(5):
        await make(api, CONFIG_MAPS, namespace, config_map(f"c-{number}", {"app": "x"}))
    path, mine = CONFIG_MAPS.all(namespace), {"labelSelector": "app=x"}
    pages: list[list[str]] = []
    version = await read_pages(
        api, path, mine, lambda items: pages.append([name_of(one) for one in items]), 2
    )
    assert pages == [["c-0", "c-1"], ["c-2", "c-3"], ["c-4"]]

    first = body(Done(await api.request("GET", path, {**mine, "limit": "2"})))
    await delete(api, CONFIG_MAPS, f"{namespace}/c-3")
    following = {**mine, "limit": "2", "continue": first["metadata"]["continue"]}
    second = body(Done(await api.request("GET", path, following)))
    assert [one["metadata"]["name"] for one in second["items"]] == ["c-2", "c-3"], (
        "as it was at the first page"
    )
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert int(version) <= int(first["metadata"]["resourceVersion"])


async def test_a_page_that_nobody_knows_of_is_a_bad_request(api: ApiServer, namespace: str) -> None:
    with pytest.raises(ApiError, match="continue") as refusal:
        await api.request("GET", CONFIG_MAPS.all(namespace), {"limit": "2", "continue": "nonsense"})
    assert refusal.value.code == 400


async def test_a_list_says_what_it_is(api: ApiServer, namespace: str) -> None:
    made = await make(api, CONFIG_MAPS, namespace, config_map("c"))
    listed = body(Done(await api.request("GET", CONFIG_MAPS.all(namespace))))
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert int(listed["metadata"]["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])
    assert "c" in {one["metadata"]["name"] for one in listed["items"]}


async def test_labels_select(api: ApiServer, namespace: str) -> None:
    for name, labels in (("a", {"tier": "gold"}), ("b", {"tier": "silver"}), ("c", {"app": "x"})):
        document = pod(name)
        document["metadata"]["labels"] = labels
        await make(api, PODS, namespace, document)
    for selector, expected in (
        ("tier=gold", "a"),
        ("tier!=gold", "bc"),
        ("tier in (gold, silver)", "ab"),
        ("tier notin (gold)", "bc"),
        ("tier", "ab"),
        ("!tier", "c"),
        ("tier=gold,app=x", ""),
    ):
        found = await objects(api, Pod, fail, namespace=namespace, labels=selector)
        assert "".join(one.metadata.name for one in found) == expected, selector


async def test_fields_select(api: ApiServer, namespace: str) -> None:
    node = await make_node(api)
    await make(api, PODS, namespace, pod("a", nodeName=node))
    await make(api, PODS, namespace, pod("b"))
    await make(api, PODS, namespace, pod("c", schedulerName="other"))
    for selector, expected in (
        ("metadata.name=b", "b"),
        (f"spec.nodeName={node}", "a"),
        ("spec.nodeName=", "bc"),
        ("spec.schedulerName=volcano", "ab"),
        ("spec.schedulerName!=volcano", "c"),
        ("status.phase!=Succeeded,status.phase!=Failed", "abc"),
        (f"metadata.namespace={namespace},metadata.name!=a", "bc"),
    ):
        found = await objects(api, Pod, fail, namespace=namespace, fields=selector)
        assert "".join(one.metadata.name for one in found) == expected, selector


async def test_a_list_can_be_of_all_namespaces(api: ApiServer, namespace: str) -> None:
    await make(api, PODS, namespace, pod("p"))
    pods = await objects(api, Pod, fail)
    assert f"{namespace}/p" in {one.key for one in pods}
    assert namespace in {one.key for one in await objects(api, Namespace, fail)}


async def test_the_list_of_a_namespace_that_is_not_there_is_empty(api: ApiServer) -> None:
    assert await objects(api, Pod, fail, namespace="no-such-place") == []


async def test_a_bad_selector_is_a_bad_request(api: ApiServer, namespace: str) -> None:
    for question in ({"labels": "a=b=c"}, {"fields": "spec.nothing=1"}):
        with pytest.raises(ApiError) as refusal:
            await objects(api, Pod, fail, namespace=namespace, **question)
        assert (refusal.value.code, refusal.value.reason) == (400, "BadRequest")


def name_of(item: object) -> str:
    """The name of an unread object."""
    document = plain(item)  # type: ignore[arg-type]  # an item is raw JSON
    assert isinstance(document, dict)
    return str(document["metadata"]["name"])


def fail(error: BadObjectError) -> None:
    """Stop: every object here is a good one."""
    raise error
