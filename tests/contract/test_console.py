"""The console on an API server: what its rows say is what the API says, while that changes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from maar.apps.console.rights import WATCHED
from maar.apps.console.settings import ConsoleSettings
from maar.core.model.pod import GROUP_ANNOTATION
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.listing import objects
from maar.kube.outcome import Done
from maar.kube.paths import PODS, resource_path_of
from maar.kube.write import delete, patch
from support.console import POSTED, ConsoleClient, Json, running_console
from support.faults import Drop, Proxy, Say, proxy
from support.kubeconfigs import read
from support.manifests import make, pod, unique
from support.until import TIMEOUT_S, until, until_async

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("crds")]

QUEUES: Final = resource_path_of(Queue)
GROUPS: Final = resource_path_of(PodGroup)
HTML: Final = "<script>alert('x')</script>\"&<img src=x onerror=alert(1)>"


@pytest.fixture
async def console(kubeconfig: Path) -> AsyncIterator[ConsoleClient]:
    """A console over the server, opened with its key."""
    async with running_console(kubeconfig) as client:
        await client.open()
        yield client


@pytest.fixture
async def namespace(namespace: str, api: ApiServer) -> AsyncIterator[str]:
    """A namespace whose work is gone after the test: other tests ask when theirs starts on this server."""
    yield namespace
    for kind in (PODS, GROUPS):
        await api.request("DELETE", kind.all(namespace))


def queue(name: str, weight: int = 1) -> Json:
    return {
        "apiVersion": Queue.api_version,
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": weight},
    }


def group(name: str, queue: str) -> Json:
    return {
        "apiVersion": PodGroup.api_version,
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": 1, "queue": queue},
    }


def member(name: str, group: str) -> Json:
    document = pod(name)
    document["metadata"]["annotations"] = {GROUP_ANNOTATION: group}
    return document


class Page:
    """What a page knows: rows, and the events since."""

    def __init__(self, console: ConsoleClient) -> None:
        self._console = console
        self.rows: dict[str, dict[str, Json]] = {}
        self.problems: list[str] = []
        self.resets = 0

    async def follow(self) -> None:
        """Read all rows, then every event; a reset has all rows read again."""
        while True:
            answer = await self._console.get("/api/rows")
            assert answer.status == 200, answer.body
            everything: Json = answer.json
            self.rows = {
                topic: {_key(row): row for row in everything[topic]} for topic in ("queues", "jobs", "nodes")
            }
            async for name, data in self._console.events(everything["version"]):
                if name == "reset":
                    self.resets += 1
                    break
                self._take(name, data)

    def _take(self, name: str, data: Json) -> None:
        if name == "state":
            self.problems.append(data["problem"])
            return
        for topic, changes in data.items():
            if topic != "version":
                self.rows[topic].update({_key(row): row for row in changes["rows"]})
                for key in changes["gone"]:
                    del self.rows[topic][key]


def _key(row: Json) -> str:
    return str(row.get("key") or row["name"])


async def test_rows_are_what_the_api_says_while_it_changes(
    api: ApiServer, namespace: str, console: ConsoleClient
) -> None:
    page = Page(console)
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(page.follow())
        name = unique("q")
        await make(api, QUEUES, "", queue(name))
        for number in range(40):
            await make(api, GROUPS, namespace, group(f"g{number}", name))
            await make(api, PODS, namespace, member(f"p{number}", f"g{number}"))
            await patch(api, QUEUES, name, {"spec": {"weight": number + 2}})
            if number % 4 == 0:
                await delete(api, GROUPS, f"{namespace}/g{number}")
        await until(
            "the page knows the last of it",
            lambda: (
                page.rows.get("queues", {}).get(name, {}).get("weight") == 41
                and page.rows["jobs"].get(f"{namespace}/g39", {}).get("pods", {}).get("pending") == 1
            ),
        )
        await asyncio.sleep(1)
        there = await objects(api, PodGroup, bad=lambda _: None, namespace=namespace)
        ours = {key: row for key, row in page.rows["jobs"].items() if row["namespace"] == namespace}
        assert sorted(ours) == sorted(one.key for one in there)
        assert {row["queue"] for row in ours.values()} == {name}
        assert all(row["pods"]["pending"] == 1 and row["request"] == {"cpu": 1000} for row in ours.values())
        assert sorted(page.rows["queues"].keys() - {"root"}) == sorted(
            one.key for one in await objects(api, Queue, bad=lambda _: None) if one.key != "root"
        )
        for topic in ("queues", "jobs", "nodes"):
            assert await console.rows(topic) == page.rows[topic]
        following.cancel()


async def test_html_arrives_as_text_in_json(api: ApiServer, namespace: str, console: ConsoleClient) -> None:
    document = group("wild", "default")
    document["metadata"]["annotations"] = {"note": HTML}
    await make(api, GROUPS, namespace, document)
    condition = {"type": "Unschedulable", "status": "True", "reason": "X", "message": HTML}
    status = {"status": {"phase": "Pending", "conditions": [condition]}}
    assert isinstance(await patch(api, GROUPS, f"{namespace}/wild", status), Done)

    async def is_there() -> bool:
        row = (await console.rows("jobs")).get(f"{namespace}/wild", {})
        return row.get("message") == HTML

    await until_async("the message is there", is_there)
    answer = await console.get("/api/rows")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_lost_api_server_is_said_and_comes_back(
    kubeconfig: Path, tmp_path: Path, api: ApiServer, namespace: str
) -> None:
    async with proxy(kubeconfig, tmp_path) as (passing, through), running_console(through) as console:
        await console.open()
        page = Page(console)
        following = asyncio.create_task(page.follow())
        await until("the page has rows", lambda: bool(page.rows))
        passing.plan(*[Drop()] * 10_000)
        passing.cut_all()
        await until("the loss is said", lambda: bool(page.problems) and page.problems[-1] != "")
        assert page.problems[-1].startswith("the API server has not answered since ")
        assert (await console.get("/api/rows")).json["problem"] == page.problems[-1]
        await make(api, GROUPS, namespace, group("meanwhile", "default"))
        passing.mend()
        await until("all is well again", lambda: page.problems[-1] == "")
        await until("the page has caught up", lambda: f"{namespace}/meanwhile" in page.rows["jobs"])
        assert await console.rows("jobs") == page.rows["jobs"]
        following.cancel()


async def test_a_token_that_is_rejected_later_ends_the_session(kubeconfig: Path, tmp_path: Path) -> None:
    async with proxy(kubeconfig, tmp_path) as (passing, through):
        settings = ConsoleSettings(port=0, login="token")
        async with running_console(through, settings) as console:
            token = _token_of(kubeconfig)
            assert (await console.login(token)).headers["location"] == "/"
            page = Page(console)
            following = asyncio.create_task(page.follow())
            await until("the page has rows", lambda: bool(page.rows))
            _reject_all(passing)
            await until_async("the session has ended", lambda: _is_refused(console))
            assert "log in with a token" in (await console.get("/api/me")).json["error"]
            assert (await console.get("/")).status == 303
            refused = await console.login(token)
            assert "problem=rejected" in refused.headers["location"]
            passing.mend()
            assert (await console.login(token)).headers["location"] == "/"
            following.cancel()
            await asyncio.wait([following])


async def test_sessions_of_one_token_share_watches_and_others_do_not(
    kubeconfig: Path, tmp_path: Path
) -> None:
    settings = ConsoleSettings(port=0, login="token")
    async with (
        proxy(kubeconfig, tmp_path) as (passing, through),
        running_console(through, settings) as console,
    ):
        token = _token_of(kubeconfig)
        await console.login(token)
        await console.rows("jobs")

        def watches() -> int:
            return passing.count("GET", "watch=true")

        async def are_all_watched() -> (
            bool
        ):  # rows are there when all has been listed, and watches begin then
            return watches() >= len(WATCHED)

        await until_async("all kinds are watched", are_all_watched)
        await console.login(token)
        await console.rows("jobs")
        header = await console.get("/api/me", Authorization=f"Bearer {token}")  # as a proxy would send it
        assert header.status == 200
        assert watches() == len(WATCHED)
        wrong = await console.get("/api/me", Authorization="Bearer wrong")
        assert wrong.status == 401


async def test_a_logout_ends_the_stream_of_events(console: ConsoleClient) -> None:
    stream = console.events()
    assert [await anext(stream), await anext(stream)] == [("state", {"problem": ""}), ("reset", {})]
    await console.send("POST", "/logout", headers=POSTED)
    async with asyncio.timeout(TIMEOUT_S):
        # Rows may change before the end, and when the first watches begin, all rows are to be read again.
        assert [event async for event in stream if event[0] not in ("rows", "reset")] == []


def _reject_all(passing: Proxy) -> None:
    status = {"kind": "Status", "code": 401, "message": "Unauthorized", "reason": "Unauthorized"}
    body = msgspec.json.encode(status)
    passing.plan(*[Say(401, body.decode(), {"Content-Type": "application/json"})] * 10_000)
    passing.cut_all()


async def _is_refused(console: ConsoleClient) -> bool:
    return (await console.get("/api/me")).status == 401


def _token_of(kubeconfig: Path) -> str:
    user: dict[str, Any] = read(kubeconfig)["users"][0]["user"]
    return str(user["token"])
