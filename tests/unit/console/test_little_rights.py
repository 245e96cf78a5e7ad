"""Tokens that may read little or nothing, and logins without end: what they cost the API server and us."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from maar.apps.console import row_answers, sessions, viewer, viewers
from maar.apps.console.settings import ConsoleSettings
from maar.serving.http import HttpRequest, Message, Receive, Send, answer, read_body
from maar.serving.http_server import HttpServer
from maar.serving.listening import listen
from maar.serving.visits import Bounds
from support.console import ConsoleClient, client_of, running_console
from support.kubeconfigs import written
from support.until import TIMEOUT_S, until_async

pytestmark = pytest.mark.anyio

TOKEN = ConsoleSettings(port=0, login="token")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Reviews:
    """An API server that says who may read what, and counts what it is asked."""

    def __init__(self) -> None:
        self.allows = False
        self.asked = Counter[str]()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = HttpRequest.of(scope, receive)
        self.asked[request.path.rpartition("/")[2]] += 1
        await read_body(receive, 1 << 20, 60)
        if request.path.endswith("selfsubjectreviews"):
            await answer(send, {"status": {"userInfo": {"username": "jane"}}})
        elif request.path.endswith("selfsubjectaccessreviews"):
            await answer(send, {"status": {"allowed": self.allows}})
        elif "watch" in request.query:
            await asyncio.Event().wait()
        else:
            await answer(send, {"metadata": {"resourceVersion": "1"}, "items": []})


@asynccontextmanager
async def beside(reviews: Reviews, folder: Path) -> AsyncIterator[ConsoleClient]:
    """A console by token beside that API server."""
    server = HttpServer(reviews, bounds=Bounds(1_000, 1_000, frozenset()), finish_within_s=1)
    with listen("127.0.0.1", 0) as place:
        url = f"http://127.0.0.1:{place.getsockname()[1]}"
        serving = asyncio.create_task(server.serve(sockets=[place]))
        async with running_console(written(folder / "config", url), TOKEN) as client:
            yield client
        await server.finish(serving)


async def test_a_token_that_may_list_nothing_is_asked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviews = Reviews()
    async with beside(reviews, tmp_path) as console:
        assert (await console.login("nothing")).headers["location"] == "/"
        assert (await console.get("/api/me")).json["everywhere"]["queues"] is False
        assert await console.rows("jobs") == {}
        before = reviews.asked.total()
        await asyncio.sleep(1)  # it could have asked thousands of times
        assert reviews.asked.total() == before
        assert reviews.asked["selfsubjectreviews"] == 1
        monkeypatch.setattr(viewer, "RIGHTS_EVERY_S", 0.1)
    reviews.asked.clear()
    async with beside(reviews, tmp_path) as console:  # and hears of rights that it gets later
        await console.login("nothing")
        reviews.allows = True

        async def may_list() -> bool:
            return bool((await console.get("/api/me")).json["everywhere"]["queues"])

        await until_async("the rights are known", may_list)


async def test_so_many_namespaces_can_be_named(tmp_path: Path) -> None:
    reviews = Reviews()
    async with beside(reviews, tmp_path) as console:
        refused = await console.login("token", " ".join(f"n{number}" for number in range(101)))
        assert refused.headers["location"].endswith("problem=namespaces")
        assert not reviews.asked
        accepted = await console.login("token", " ".join(f"n{number}" for number in range(100)))
        assert accepted.headers["location"] == "/"


async def test_a_stream_ends_with_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_OF_A_TOKEN", 2)
    monkeypatch.setattr(row_answers, "HEARTBEAT_S", 600.0)  # nothing else would wake it
    async with beside(Reviews(), tmp_path) as console:

        async def to_its_end(client: ConsoleClient) -> None:
            async for _ in client.events():
                pass

        await console.login("mine")
        stream = asyncio.create_task(to_its_end(console))
        async with (
            client_of(console.address, console.origin) as second,
            client_of(console.address, console.origin) as third,
        ):
            await second.login("mine")
            await third.login("other")
            assert (await console.get("/api/me")).status == 200
            assert not stream.done()
            await second.get("/api/me")  # so that the first is the one that was unused for longest
            await third.login("mine")
            async with asyncio.timeout(TIMEOUT_S):
                await stream
            assert (await console.get("/api/me")).status == 401
            assert (await second.get("/api/me")).status == 200


async def test_what_one_token_looks_at_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewers, "MOST_OF_A_TOKEN", 2)
    async with beside(Reviews(), tmp_path) as console:
        for number in range(3):  # nobody looks any more at those before
            assert (await console.login("mine", f"n{number}")).status == 303
        others = [client_of(console.address, console.origin) for _ in range(2)]
        async with others[0] as first, others[1] as second:
            streams = []
            for number, client in enumerate((first, second)):
                await client.login("mine", f"m{number}")
                streams.append(client.events())
                assert (await anext(streams[-1]))[0] in ("state", "reset")
            refused = await console.login("mine", "one-more")
            assert (refused.status, b"close a page" in refused.body) == (429, True)
            assert (await console.login("other", "one-more")).status == 303
            for stream in streams:
                await stream.aclose()  # type: ignore[attr-defined]


async def test_one_token_takes_no_more_than_its_part_of_the_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewers, "MOST_REQUESTS", 2)
    async with beside(Reviews(), tmp_path) as console:
        await console.login("mine")
        pages = [console.events(), console.events()]
        for page in pages:
            assert (await anext(page))[0] in ("state", "reset")
        refused = await console.get("/api/me")
        assert (refused.status, b"close a page" in refused.body) == (429, True)
        async with client_of(console.address, console.origin) as other:
            assert (await other.login("other")).status == 303
            assert (await other.get("/api/me")).status == 200
        for page in pages:
            await page.aclose()  # type: ignore[attr-defined]

        async def is_answered() -> bool:
            return (await console.get("/api/me")).status == 200

        await until_async("the pages are closed", is_answered)
