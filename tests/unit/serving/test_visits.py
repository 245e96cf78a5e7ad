"""Who is let in, whose connection ends for that, and what is answered when no more requests are."""

import asyncio
import socket
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

import aiohttp
import pytest

from maar.serving import visits
from maar.serving.http import Message, Receive, Send, answer
from maar.serving.http_server import HttpServer
from maar.serving.listening import listen
from maar.serving.visits import HEAD_WITHIN_S, KEEP_ALIVE_S, Bounds, Visit, Visits

BOUNDS: Final = Bounds(connections=6, of_one_peer=3, probes=frozenset(("/healthz",)))
FOR_PROBES: Final = 16


class Peers:
    """Visits with a clock that is set by hand; connections that have ended are known."""

    def __init__(self) -> None:
        self.now = 0.0
        self.visits = Visits(BOUNDS, lambda: self.now)
        self._ends: list[socket.socket] = []

    def come(self, host: str) -> Visit | None:
        """A new connection from somewhere."""
        self.now += 1
        mine, other = socket.socketpair()
        other.setblocking(False)
        self._ends += [mine, other]
        visit = self.visits.admit(mine, host)
        if visit is None:
            mine.close()
        return visit

    def in_(self, host: str) -> Visit:
        """A connection that must be let in."""
        visit = self.come(host)
        assert visit is not None
        return visit

    def busy(self, host: str) -> Visit:
        """One with a request under way."""
        visit = self.in_(host)
        self.visits.know(visit)
        self.visits.begin(visit)
        return visit

    def is_cut(self, visit: Visit) -> bool:
        """Whether its client has seen it end."""
        try:
            return self._ends[self._ends.index(visit.line) + 1].recv(1) == b""
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Close all."""
        for one in self._ends:
            one.close()


@pytest.fixture
def peers() -> Iterator[Peers]:
    found = Peers()
    yield found
    found.close()


def test_a_peer_with_its_share_loses_the_connection_that_was_unused_for_longest(peers: Peers) -> None:
    first, busy, third = peers.in_("a"), peers.busy("a"), peers.in_("a")
    others = [peers.in_("b"), peers.in_("c")]
    peers.visits.begin(first)
    peers.visits.end(first)  # it was used last
    peers.in_("a")
    assert [peers.is_cut(one) for one in (first, busy, third, *others)] == [False, False, True, False, False]
    peers.in_("a")
    assert peers.is_cut(first)
    assert len(peers.visits) == 5


def test_where_all_is_taken_the_peer_that_has_most_gives_way(peers: Peers) -> None:
    most = [peers.in_("a") for _ in range(3)]
    few = [peers.in_("b"), peers.in_("b"), peers.in_("c")]
    peers.in_("d")
    assert [peers.is_cut(one) for one in (*most, *few)] == [True, *5 * [False]]


def test_requests_under_way_are_never_ended_and_some_room_is_left_for_probes(peers: Peers) -> None:
    busy = [peers.busy("a") for _ in range(3 + FOR_PROBES)]
    assert peers.come("a") is None
    assert not any(map(peers.is_cut, busy))
    full = [peers.visits.is_full(busy[-1], path) for path in ("/", "/healthz", "/healthz/", "/healthzz")]
    assert full == [True, False, True, True]
    for one in busy[3:]:
        peers.visits.end(one)
    assert not peers.visits.is_full(busy[0], "/")
    peers.in_("a")
    assert peers.is_cut(busy[3])


def test_a_request_is_under_way_only_with_its_body_and_a_client_that_reads(peers: Peers) -> None:
    slow, stalled, last = peers.in_("a"), peers.busy("a"), peers.busy("a")
    peers.visits.know(slow)
    peers.visits.stall(stalled, is_stalled=True)
    assert not peers.visits.is_full(last, "/")
    peers.in_("a")
    assert [peers.is_cut(one) for one in (slow, stalled, last)] == [False, True, False]  # slow was used later
    peers.in_("a")
    assert [peers.is_cut(one) for one in (slow, last)] == [True, False]
    peers.visits.stall(stalled, is_stalled=False)  # it has gone
    again = [peers.busy("b") for _ in range(3)]
    assert not peers.visits.is_full(again[0], "/")
    peers.visits.stall(again[1], is_stalled=True)
    peers.visits.stall(again[1], is_stalled=False)
    assert peers.visits.is_full(peers.busy("b"), "/")


def test_an_answer_before_the_body_has_come_whole_ends_no_other_request(peers: Peers) -> None:
    early = peers.in_("a")
    peers.visits.know(early)
    peers.visits.hold(early, 1)
    peers.visits.end(early)
    busy = [early, *(peers.busy("a") for _ in range(2))]
    peers.visits.begin(early)
    assert [one.requests for one in busy] == [1, 1, 1]
    assert peers.visits.is_full(peers.busy("a"), "/")


def test_bodies_that_are_not_whole_are_bounded_together(
    peers: Peers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits, "MOST_HELD", 100)
    whole, most, few = peers.in_("a"), peers.in_("a"), peers.in_("b")
    peers.visits.hold(whole, 90)
    peers.visits.begin(whole)
    for _ in range(2):
        peers.visits.hold(most, 30)
        peers.visits.hold(few, 20)
    assert not any(peers.is_cut(one) for one in (whole, most, few))
    peers.visits.hold(few, 1)
    assert [peers.is_cut(one) for one in (whole, most, few)] == [False, True, False]
    peers.visits.hold(most, 1_000)  # it has gone
    peers.visits.hold(few, 50)
    assert not peers.is_cut(few)


def test_what_has_gone_counts_no_more(peers: Peers) -> None:
    gone = [peers.busy("a") for _ in range(3)]
    for one in gone:
        peers.visits.leave(one)
        peers.visits.leave(one)
        peers.visits.end(one)  # its answer was on the way
    assert len(peers.visits) == 0
    again = [peers.busy("a") for _ in range(3)]
    assert not peers.visits.is_full(again[0], "/")


def test_one_without_a_request_has_its_time(peers: Peers) -> None:
    new, used, busy = peers.in_("a"), peers.busy("b"), peers.busy("c")
    peers.visits.end(used)
    peers.now += HEAD_WITHIN_S + 1
    peers.visits.cut_late()
    assert [peers.is_cut(one) for one in (new, used, busy)] == [True, False, False]
    peers.now += KEEP_ALIVE_S
    peers.visits.cut_late()
    assert [peers.is_cut(one) for one in (used, busy)] == [True, False]


def test_a_process_with_few_files_takes_no_more_than_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _which: (4, 4))
    few = Peers()
    try:
        came = [few.in_(host) for host in "abc"]
        assert few.is_cut(came[0])
        assert len(few.visits) == 2
    finally:
        few.close()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_probes_are_answered_beside_requests_that_take_all_there_is() -> None:
    goes_on = asyncio.Event()

    async def application(scope: Message, _receive: Receive, send: Send) -> None:
        if scope["path"] == "/slow":
            await goes_on.wait()
        await answer(send, b"done")

    server = HttpServer(application, bounds=BOUNDS, finish_within_s=1)
    with listen("127.0.0.1", 0) as place:
        serving = asyncio.create_task(server.serve(sockets=[place]))
        url = f"http://127.0.0.1:{place.getsockname()[1]}"
        async with aiohttp.ClientSession() as client:

            async def status_of(path: str) -> int:
                async with client.get(f"{url}{path}") as found:
                    return found.status

            slow = [asyncio.create_task(status_of("/slow")) for _ in range(3)]
            while len(server.server_state.tasks) < len(slow):  # noqa: ASYNC110  # uvicorn tells nobody
                await asyncio.sleep(0)
            assert await status_of("/quick") == HTTPStatus.SERVICE_UNAVAILABLE
            assert await status_of("/healthz") == HTTPStatus.OK
            goes_on.set()
            assert await asyncio.gather(*slow) == [HTTPStatus.OK] * 3
            assert await status_of("/quick") == HTTPStatus.OK
        await server.finish(serving)
