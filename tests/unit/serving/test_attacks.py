"""What anybody who reaches a port can try without an identity, tried on each of the four servers."""

import resource
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from maar.serving import visits
from maar.serving.request_heads import LARGEST_HEAD
from maar.serving.visits import Visit, Visits
from support.open_servers import HERE, SERVERS, OpenServer, head, is_cut, open_server, status_in
from support.until import wait_until

PROBE: Final = "/healthz"
# A path that is no probe, and what answers it while there is room.
ORDINARY: Final = {
    "status": ("/metrics", 200),
    "console": ("/login", 200),
    "webhooks": ("/queues/validate", 405),
    "embedded": ("/api", 401),
}
# More than the server may have of one peer.
FLOOD: Final = {"status": 300, "console": 1_200, "webhooks": 1_200, "embedded": 2_300}
PIECE: Final = 1 << 20
FEW: Final = 2 + 16  # connections of a server with few files, those for probes included
SOURCES: Final = ("127.0.0.2", "127.0.0.3")
UNREAD: Final = 12 * [head(f"/{'x' * 100}")]
PARTIAL: Final = b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 8000000\r\n\r\n{"

Send = Callable[[bytes], None]


@pytest.fixture(params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(name: str, tmp_path: Path) -> Iterator[OpenServer]:
    with open_server(name, tmp_path) as found:
        yield found


@pytest.fixture
def few(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenServer]:
    """A server that takes few connections, from one peer as from all."""
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (4, 4))
    with open_server(name, tmp_path) as found:
        yield found


class Requests:
    """What the visits of a server hear; little fits between it and a client that does not read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answered = self.stalled = 0
        admit, end, stall = Visits.admit, Visits.end, Visits.stall

        def admitted(visits: Visits, line: socket.socket, host: str) -> Visit | None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            return admit(visits, line, host)

        def ended(visits: Visits, visit: Visit) -> None:
            end(visits, visit)
            self.answered += 1

        def stalled(visits: Visits, visit: Visit, *, is_stalled: bool) -> None:
            stall(visits, visit, is_stalled=is_stalled)
            self.stalled += is_stalled

        for name, one in (("admit", admitted), ("end", ended), ("stall", stalled)):
            monkeypatch.setattr(Visits, name, one)

    def has(self, stalled: int, answered: int) -> bool:
        """Whether so many are answered, or so many clients do not read."""
        return self.stalled >= stalled or self.answered >= answered


def test_idle_connections_keep_nobody_out(name: str, server: OpenServer) -> None:
    needed = 3 * FLOOD[name]  # both ends are in this process, which must have room for them
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    lines = [server.line() for _ in range(FLOOD[name])]
    path, status = ORDINARY[name]
    for source in (HERE, "127.0.0.2"):
        assert (server.status_of(PROBE, source), server.status_of(path, source)) == (200, status)
    assert is_cut(lines[0])  # the first of them had to go


def test_bodies_that_do_not_come_keep_nobody_out(name: str, few: OpenServer) -> None:
    for source in SOURCES:
        for _ in range(FEW):
            line = few.session(source)
            line.sendall(PARTIAL % ORDINARY[name][0].encode())
    path, status = ORDINARY[name]
    for source in (*SOURCES, HERE):
        assert (few.status_of(PROBE, source), few.status_of(path, source)) == (200, status)


def test_answers_that_nobody_reads_keep_nobody_out(
    name: str, few: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Requests(monkeypatch)
    for count in range(1, FEW + 1):
        line = few.session()
        while seen.stalled < count:
            wanted = seen.answered + len(UNREAD)
            line.sendall(b"".join(UNREAD))
            wait_until("they are answered, or not read", partial(seen.has, count, wanted), pause_s=0.0001)
    path, status = ORDINARY[name]
    for source in (HERE, "127.0.0.2"):
        assert (few.status_of(PROBE, source), few.status_of(path, source)) == (200, status)


def test_bodies_are_not_kept_without_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "MOST_HELD", 4 * PIECE)
    with open_server("webhooks", tmp_path) as server:
        tracemalloc.start()
        try:
            for _ in range(20):
                line = server.session()
                _endless(line.sendall, b"x" * PIECE, PARTIAL % b"/queues/validate", pieces=7)
            assert server.status_of(PROBE) == 200
            kept = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert kept < 40 * PIECE  # of 140


def test_a_connection_without_a_whole_head_is_ended(
    server: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits, "HEAD_WITHIN_S", 0.5)
    idle, slow = server.session(), server.session()
    slow.sendall(head(PROBE)[:-3])
    asked = server.session()
    asked.sendall(head(PROBE))
    assert status_in(asked) == 200
    assert is_cut(idle)
    assert is_cut(slow)
    asked.sendall(head(PROBE))  # one that has sent a request may wait longer for the next
    assert status_in(asked) == 200


def test_a_connection_that_sends_nothing_for_tls_is_ended(
    name: str, server: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits, "HEAD_WITHIN_S", 0.5)
    assert is_cut(server.line())
    path, status = ORDINARY[name]
    assert server.status_of(path) == status


def test_an_endless_head_is_refused_and_not_kept(server: OpenServer) -> None:
    for way in (_many_headers, _one_header, _one_path):
        line = server.session()
        tracemalloc.start()
        try:
            way(line.sendall)
            assert status_in(line) == 431, way.__name__
            kept = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert kept < 8 * PIECE, way.__name__  # of 150, and one is the attacker's own
    assert server.status_of(PROBE) == 200


def test_a_head_at_the_limit_is_served_and_one_beyond_it_is_not(server: OpenServer) -> None:
    def asked(size: int) -> int:
        line = server.session()
        line.sendall(head(PROBE, pad="x" * size))
        return status_in(line)

    assert (asked(LARGEST_HEAD - 1_000), asked(LARGEST_HEAD)) == (200, 431)


def test_requests_that_do_not_wait_for_answers_are_bounded(name: str, server: OpenServer) -> None:
    line = server.session()
    with suppress(OSError):
        for _ in range(100):
            line.sendall(head(ORDINARY[name][0]) * 1_000)
    with suppress(OSError):
        while line.recv(PIECE):
            pass
    assert server.status_of(PROBE) == 200
    few = server.session()
    few.sendall(head(PROBE) * 4)
    answered = b""
    while answered.count(b"HTTP/1.1 200") < 4:
        answered += few.recv(PIECE)


def test_requests_that_cannot_be_served_fill_no_log(
    name: str, server: OpenServer, caplog: pytest.LogCaptureFixture
) -> None:
    for request in (
        b"nonsense\r\n\r\n",
        head("/", connection="upgrade", upgrade="h2c"),
        b"GET / HTTP/1.1\r\n",
    ):
        line = server.session()
        line.sendall(request)
        line.shutdown(socket.SHUT_WR)
        status_in(line)
    for _ in range(3):
        line = server.session()
        with suppress(OSError):
            line.sendall(head(ORDINARY[name][0]) * 1_000)
            while line.recv(PIECE):
                pass
    assert server.status_of(PROBE) == 200
    assert not caplog.records


def test_headers_after_a_body_are_bounded(server: OpenServer) -> None:
    line = server.session()
    chunked = (
        b"POST /nothing HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    )
    tracemalloc.start()
    try:
        _endless(line.sendall, b"x: y\r\n" * (PIECE // 6), chunked)
        kept = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert kept < 8 * PIECE
    assert server.status_of(PROBE) == 200


def _many_headers(send: Send) -> None:
    _endless(send, b"x: y\r\n" * (PIECE // 6), head(PROBE)[:-2])


def _one_header(send: Send) -> None:
    _endless(send, b"x" * PIECE, head(PROBE)[:-2] + b"x: ")


def _one_path(send: Send) -> None:
    _endless(send, b"x" * PIECE, b"GET /")


def _endless(send: Send, piece: bytes, begin: bytes, pieces: int = 150) -> None:
    """150 MiB, or as much as is taken."""
    with suppress(OSError):
        send(begin)
        for _ in range(pieces):
            send(piece)


def test_paths_that_are_open_to_all_match_exactly(name: str, server: OpenServer) -> None:
    refused = 401 if name == "embedded" else 404
    longer = [f"{PROBE}z", f"{PROBE}/", f"{PROBE}/x", "/readyzz", "/versionx", "/version/x"]
    assert [server.status_of(path) for path in longer] == [refused] * len(longer)
