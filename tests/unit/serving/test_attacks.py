"""What anybody who reaches a port can try without an identity, tried on each of the four servers."""

import resource
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from maar.serving import visits
from maar.serving.request_heads import LARGEST_HEAD
from support.open_servers import HERE, SERVERS, OpenServer, head, is_cut, open_server, status_in

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

Send = Callable[[bytes], None]


@pytest.fixture(params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(name: str, tmp_path: Path) -> Iterator[OpenServer]:
    with open_server(name, tmp_path) as found:
        yield found


def test_idle_connections_keep_nobody_out(name: str, server: OpenServer) -> None:
    needed = 3 * FLOOD[name]  # both ends are in this process, which must have room for them
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    lines = [server.line() for _ in range(FLOOD[name])]
    path, status = ORDINARY[name]
    for source in (HERE, "127.0.0.2"):
        assert (server.status_of(PROBE, source), server.status_of(path, source)) == (200, status)
    assert is_cut(lines[0])  # the first of them had to go


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


def _endless(send: Send, piece: bytes, begin: bytes) -> None:
    """150 MiB, or as much as is taken."""
    with suppress(OSError):
        send(begin)
        for _ in range(150):
            send(piece)


def test_paths_that_are_open_to_all_match_exactly(name: str, server: OpenServer) -> None:
    refused = 401 if name == "embedded" else 404
    longer = [f"{PROBE}z", f"{PROBE}/", f"{PROBE}/x", "/readyzz", "/versionx", "/version/x"]
    assert [server.status_of(path) for path in longer] == [refused] * len(longer)
