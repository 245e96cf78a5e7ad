"""Networks and servers fail: a watch goes on where it was, and tells what happened meanwhile."""

import json
from collections.abc import Callable
from functools import partial
from http import HTTPStatus

import anyio.to_thread
import pytest

from maar.core.model.kinds import plain
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.kube.api_server import ApiServer
from maar.kube.errors import ApiError
from maar.kube.listing import PAGE
from maar.kube.outcome import Done, Outcome
from maar.kube.paths import PODS, resource_path_of
from maar.kube.watch import BadObject, Interruption
from maar.kube.write import create, delete
from maar.kube.writers import Writers
from support.faults import Cut, Drop, Fault, Proxy, Say
from support.following import following
from support.manifests import make, pod
from support.until import until

pytestmark = pytest.mark.anyio

WATCH = "watch=true"
EXPIRED = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old"}


async def test_after_a_cut_in_the_middle_of_a_line_nothing_is_lost_or_told_twice(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str
) -> None:
    proxy, through = faults
    for after in (1, 40, 700, 3_000):
        proxy.plan(Cut(after), part=WATCH)
    async with following(through, Pod, namespace=namespace) as follower:
        await follower.synced()
        versions = {}
        for number in range(12):
            made = await make(api, PODS, namespace, pod(f"p-{number}"))
            versions[f"{namespace}/p-{number}"] = made["metadata"]["resourceVersion"]
        await until("all have appeared", lambda: set(follower.objects) == set(versions))
        await until("all cuts are made", lambda: proxy.is_spent)
        assert all(follower.story(key) == [version] for key, version in versions.items())
        assert proxy.count("GET", "limit=") == 1, "no need to list again"


@pytest.mark.parametrize(
    "fault",
    [
        Drop(),
        Say(HTTPStatus.TOO_MANY_REQUESTS, "too many", {"Retry-After": "0"}),
        Say(HTTPStatus.SERVICE_UNAVAILABLE, "not now"),
        Say(HTTPStatus.BAD_GATEWAY, "<html>proxy</html>"),
    ],
    ids=["dropped", "429", "503", "502"],
)
async def test_a_stream_that_cannot_be_opened_is_asked_for_again(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str, fault: Fault
) -> None:
    proxy, through = faults
    proxy.plan(fault, fault, part=WATCH)
    async with following(through, Pod, namespace=namespace) as follower:
        await until("the stream is open", lambda: follower.watch.lag_s == 0)
        assert proxy.is_spent
        assert follower.troubles
        assert all(isinstance(one, Interruption) and one.kind == "Pod" for one in follower.troubles)
        await make(api, PODS, namespace, pod("p"))
        await until("it has appeared", lambda: follower.names() == ["p"])
        assert proxy.count("GET", "limit=") == 1


@pytest.mark.parametrize(
    "forget",
    [
        lambda proxy: proxy.plan(Say(HTTPStatus.GONE, json.dumps(EXPIRED)), part=WATCH),
        lambda proxy: proxy.plan(Say(HTTPStatus.OK, change("ERROR", EXPIRED)), part=WATCH),
        lambda proxy: proxy.plan(Say(HTTPStatus.OK, change("ERROR", {"code": 500})), part=WATCH),
        lambda proxy: proxy.plan(Say(HTTPStatus.OK, "this is no change\n"), part=WATCH),
        lambda proxy: proxy.plan(Say(HTTPStatus.GATEWAY_TIMEOUT, json.dumps({"code": 504})), part=WATCH),
    ],
    ids=["refused", "error", "failure", "nonsense", "too new"],
)
async def test_where_the_server_has_forgotten_all_is_listed_and_what_is_gone_vanishes(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str, forget: Callable[[Proxy], None]
) -> None:
    proxy, through = faults
    for name in ("changes", "goes", "stays"):
        await make(api, PODS, namespace, pod(name))
    async with following(through, Pod, namespace=namespace) as follower:
        await until("the stream is open", lambda: follower.watch.lag_s == 0)
        proxy.plan(*[Drop()] * 5, part=WATCH)
        proxy.cut_all()
        await until("the stream is cut", lambda: follower.watch.lag_s > 0)
        await delete(api, PODS, f"{namespace}/goes")
        await delete(api, PODS, f"{namespace}/changes")
        await make(api, PODS, namespace, pod("changes"))
        await make(api, PODS, namespace, pod("comes"))
        forget(proxy)
        await until("all is as it is", lambda: follower.names() == ["changes", "comes", "stays"])
        await until("the stream is open again", lambda: follower.watch.lag_s == 0)
        assert proxy.is_spent
        assert len(follower.story(f"{namespace}/stays")) == 1, "what has not changed is not told again"
        assert follower.story(f"{namespace}/goes")[-1] == "vanished"
        assert len(follower.story(f"{namespace}/changes")) == 2
        await make(api, PODS, namespace, pod("late"))
        await until("changes come again", lambda: "late" in follower.names())


async def test_after_a_bookmark_the_stream_goes_on_from_there(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str
) -> None:
    proxy, through = faults
    other = await make(api, PODS, namespace, pod("other"))
    version = other["metadata"]["resourceVersion"]
    bookmark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": version}}
    proxy.plan(Say(HTTPStatus.OK, change("BOOKMARK", bookmark)), part=WATCH)
    async with following(through, Pod, namespace=namespace, labels="app=nothing") as follower:
        await until("it goes on", lambda: proxy.count("GET", f"resourceVersion={version}&") > 0)
        assert follower.events == []


async def test_what_has_no_name_is_reported_and_passed_over(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str
) -> None:
    proxy, through = faults
    made = await make(api, PODS, namespace, pod("p"))
    version = made["metadata"]["resourceVersion"]
    listed = {"metadata": {"resourceVersion": version}, "items": [{"metadata": 3}, made, 7]}
    proxy.plan(Say(HTTPStatus.OK, json.dumps(listed)), part="limit=")
    proxy.plan(Say(HTTPStatus.OK, change("ADDED", 4) + change("DELETED", {"metadata": []})), part=WATCH)
    async with following(through, Pod, namespace=namespace) as follower:
        await make(api, PODS, namespace, pod("q"))
        await until("the good ones are there", lambda: follower.names() == ["p", "q"])
        assert [type(one) for one in follower.troubles] == [BadObject] * 3
        assert proxy.count("GET", "limit=") == 1


async def test_a_list_that_is_interrupted_is_read_to_its_end(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str
) -> None:
    proxy, through = faults
    await make(api, PODS, namespace, pod("p"))
    failing = Say(HTTPStatus.INTERNAL_SERVER_ERROR, json.dumps({"reason": "InternalError"}))
    proxy.plan(Drop(), failing, Cut(100), Cut(0), part="limit=")
    async with following(through, Pod, namespace=namespace) as follower:
        await follower.synced()
        assert follower.names() == ["p"]
        assert proxy.is_spent


async def test_where_pages_are_forgotten_between_them_all_come_in_one(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str, crds: None
) -> None:
    assert crds is None
    proxy, through = faults
    place, count = resource_path_of(PodGroup), PAGE + 1
    outcomes: list[Outcome] = []
    async with Writers(16) as writers:
        for number in range(count):
            key = f"{namespace}/g-{number}"
            document = {
                "apiVersion": place.api_version,
                "kind": "PodGroup",
                "metadata": {"name": f"g-{number}"},
                "spec": {"minMember": 1},
            }
            writers.submit(key, partial(create, api, place, key, document), outcomes.append)
        await writers.idle()
    assert sum(isinstance(outcome, Done) for outcome in outcomes) == count, outcomes[:3]
    proxy.plan(Say(HTTPStatus.GONE, json.dumps(EXPIRED)), part="continue=")
    async with following(through, PodGroup, namespace=namespace) as follower:
        await follower.synced()
        assert len(follower.objects) == count
        assert proxy.is_spent
        assert len(follower.events) == count, "each is told once"


async def test_a_restart_of_the_server_loses_nothing(
    api: ApiServer, restart: Callable[[], None], namespace: str
) -> None:
    await make(api, PODS, namespace, pod("stays"))
    await make(api, PODS, namespace, pod("goes"))
    async with following(api, Pod, namespace=namespace) as follower:
        await until("the stream is open", lambda: follower.watch.lag_s == 0)
        await anyio.to_thread.run_sync(restart)
        assert isinstance(await delete(api, PODS, f"{namespace}/goes"), Done)
        await make(api, PODS, namespace, pod("comes"))
        await until("it has caught up", lambda: follower.names() == ["comes", "stays"])
        assert len(follower.story(f"{namespace}/stays")) == 1

    forgotten = {"watch": "true", "resourceVersion": "1", "timeoutSeconds": "5"}
    code = 0
    try:
        async with api.stream(PODS.all(), forgotten, 20) as stream:
            async for lines in stream:
                first = plain(lines[0])
                assert isinstance(first, dict)
                assert first["type"] == "ERROR", first
                code = first["object"]["code"]
                break
    except ApiError as error:
        code = error.code
    assert code == HTTPStatus.GONE, "what was before the restart is forgotten, and it says so"


def change(kind: str, about: object) -> str:
    """A line of a stream."""
    return json.dumps({"type": kind, "object": about}) + "\n"
