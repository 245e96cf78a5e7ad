"""Requests that mean harm: from other sites, for other files, too large, too slow, or without a session."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from maar.apps.console import pages, server
from maar.apps.console.settings import ConsoleSettings
from support.console import POSTED, ConsoleClient, nowhere, running_console
from support.until import TIMEOUT_S

pytestmark = pytest.mark.anyio

HOST = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def console(tmp_path: Path) -> AsyncIterator[ConsoleClient]:
    """A console whose cluster does not answer: what is refused here is refused without asking it."""
    async with running_console(nowhere(tmp_path)) as client:
        yield client


@pytest.fixture
async def by_token(tmp_path: Path) -> AsyncIterator[ConsoleClient]:
    """A console that takes tokens, at a public address."""
    settings = ConsoleSettings(port=0, login="token", public_url="https://maar.example.com")
    async with running_console(nowhere(tmp_path), settings) as client:
        yield client


async def test_nothing_is_shown_without_a_session(console: ConsoleClient) -> None:
    for path in ("/api/me", "/api/rows", "/api/events", "/api/me?key=x"):
        answer = await console.get(path)
        assert answer.status == 401, path
        assert "open the address that the command has printed" in answer.json["error"]
    assert (await console.get("/")).headers["location"] == "/login?with=key"
    bearer = await console.get("/api/me", Authorization="Bearer x")  # a key was asked for, no token
    assert bearer.status == 401


@pytest.mark.parametrize("key", ["", "x", "%00", "a" * 5_000, "\u00e9"])
async def test_only_the_key_opens(console: ConsoleClient, key: str) -> None:
    answer = await console.get(f"/open?key={key}")
    assert answer.status == 303
    assert answer.headers["location"].endswith("/login?with=key&problem=key")
    assert "set-cookie" not in answer.headers
    assert (await console.login(key)).headers["location"].endswith("/login?with=key&problem=key")


async def test_the_key_opens_from_a_terminal_and_from_another_site(console: ConsoleClient) -> None:
    await console.open()
    path = console.address.removeprefix(console.origin)
    answer = await console.get(path, **{"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 200  # the browser goes on from a page of ours, and so sends the cookie
    assert b'http-equiv="refresh"' in answer.body
    assert "SameSite=Strict" in answer.headers["set-cookie"]
    key = path.partition("=")[2]
    assert (await console.login(key)).headers["location"] == "/"


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:7480", "127.0.0.1.evil.example", "localhost.evil.example", "", "[", "a b"],
)
async def test_a_name_that_leads_here_is_no_name_of_the_console(console: ConsoleClient, host: str) -> None:
    await console.open()
    for path in ("/", "/api/me", console.address.removeprefix(console.origin), "/assets/index.html"):
        assert (await console.get(path, Host=host)).status == 421


@pytest.mark.parametrize("host", ["localhost:9", "127.0.0.1", "[::1]:7480", "10.1.2.3:80"])
async def test_addresses_are_no_names_of_other_sites(console: ConsoleClient, host: str) -> None:
    assert (await console.get("/login", Host=host)).status == 200


async def test_the_public_address_is_the_consoles_own(by_token: ConsoleClient) -> None:
    assert (await by_token.get("/login", Host="maar.example.com")).status == 200
    assert (await by_token.get("/login", Host="maar.example.org")).status == 421
    own = {"Host": "maar.example.com", "Origin": "https://maar.example.com"}
    assert (await by_token.send("POST", "/login", headers=own, data={"token": ""})).status == 303
    other = {**own, "Origin": "https://maar.example.com.evil.example"}
    assert (await by_token.send("POST", "/login", headers=other, data={"token": ""})).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Maar-Console": "1"},
        {"X-Maar-Console": "1", "Origin": "https://evil.example"},
        {"X-Maar-Console": "1", "Origin": "null"},
        {"X-Maar-Console": "1", "Origin": "http://["},
        {"X-Maar-Console": "1", "Sec-Fetch-Site": "cross-site"},
        {"X-Maar-Console": "1", "Sec-Fetch-Site": "same-site"},
        {"X-Maar-Console": "0", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-origin"},
    ],
)
async def test_other_sites_cannot_have_anything_done(console: ConsoleClient, headers: dict[str, str]) -> None:
    await console.open()
    for path in ("/logout", "/api/apply", "/api/whatif", "/nothing"):
        assert (await console.send("POST", path, headers=headers)).status == 403
    assert (await console.get("/")).status == 200  # still logged in


async def test_a_logout_of_the_page_is_one(console: ConsoleClient) -> None:
    await console.open()
    answer = await console.send("POST", "/logout", headers=POSTED)
    assert (answer.status, answer.headers["location"]) == (303, "/login")
    assert (await console.get("/")).status == 303


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../program.py",
        "/assets/..%2fprogram.py",
        "/assets/%2e%2e/%2e%2e/__init__.py",
        "/assets//etc/passwd",
        "/assets/",
        "/assets/index.html%00.js",
        "/assets/nothing.js",
    ],
)
async def test_no_other_file_is_served(console: ConsoleClient, path: str) -> None:
    assert await _raw(console, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n") == 404


async def test_every_answer_has_the_headers_that_protect_it(console: ConsoleClient) -> None:
    for path in ("/", "/login", "/api/me", "/nothing", "/assets/index.html", "/healthz", "/open"):
        headers = (await console.get(path)).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == ("same-origin" if path == "/login" else "no-referrer")
        assert (
            headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
        )
        assert "server" not in headers
    assert (await console.get("/api/me")).headers["cache-control"] == "no-store"


async def test_a_file_is_sent_once_while_it_has_not_changed(console: ConsoleClient) -> None:
    first = await console.get("/assets/index.html")
    again = await console.get("/assets/index.html", **{"If-None-Match": first.headers["etag"]})
    assert (first.status, again.status, again.body) == (200, 304, b"")


async def test_a_form_that_is_too_large_is_refused(by_token: ConsoleClient) -> None:
    answer = await by_token.login("x" * 100_000)
    assert answer.status == 413
    assert b"did not come whole: more than 65,536 bytes; send fewer" in answer.body


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "\u2603", "a\x00b"])
async def test_what_cannot_stand_in_a_header_is_no_token(by_token: ConsoleClient, token: str) -> None:
    answer = await by_token.login(token)
    assert answer.status == 303
    assert "problem=token" in answer.headers["location"]


async def test_a_form_that_never_comes_holds_up_nobody(
    by_token: ConsoleClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_FORM_WITHIN_S", 0.2)
    head = (
        "POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 9\r\n\r\n"
    )
    waiting = [asyncio.create_task(_raw(by_token, head + "token")) for _ in range(20)]
    assert (await by_token.get("/healthz")).status == 200
    assert await asyncio.gather(*waiting) == [408] * 20


async def test_a_cluster_that_does_not_answer_is_a_sentence(by_token: ConsoleClient) -> None:
    answer = await by_token.get("/api/me", Authorization="Bearer abc")
    assert answer.status == 503
    assert answer.json["error"].startswith("the API server has not answered since ")
    assert "check that it runs" in answer.json["error"]


async def test_a_page_that_reads_nothing_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SEND_WITHIN_S", 0.2)
    monkeypatch.setattr(server, "events", _endless)
    async with running_console(nowhere(tmp_path)) as console:
        await console.open()
        cookie = "; ".join(f"{one.key}={one.value}" for one in console.http.cookie_jar)
        place = urlsplit(console.origin)
        with closing(
            socket.create_connection((place.hostname or "", place.port or 0), timeout=TIMEOUT_S)
        ) as line:
            line.sendall(f"GET /api/events HTTP/1.1\r\nHost: {HOST}\r\nCookie: {cookie}\r\n\r\n".encode())
            await asyncio.sleep(1)  # it could have read
            assert (await console.get("/healthz")).status == 200
            await asyncio.to_thread(_read_to_the_end, line)


async def _endless(*_arguments: object) -> AsyncIterator[bytes]:
    while True:
        yield b":" * 100_000


def _read_to_the_end(line: socket.socket) -> None:
    while line.recv(1 << 20):
        pass


async def test_wrong_paths_methods_and_topics_are_sentences(console: ConsoleClient) -> None:
    assert b"open / in a browser" in (await console.get("/nothing")).body
    refused = await console.send("PUT", "/api/rows", headers=POSTED)
    assert (refused.status, refused.json["error"]) == (405, "/api/rows takes a GET, not a PUT")


async def _raw(console: ConsoleClient, request: str) -> int:
    """Send bytes as they are; give the status."""
    place = urlsplit(console.origin)

    def ask() -> int:
        with closing(
            socket.create_connection((place.hostname or "", place.port or 0), timeout=TIMEOUT_S)
        ) as line:
            line.sendall(request.encode())
            return int(line.recv(4096).split(b" ")[1])

    return await asyncio.to_thread(ask)
