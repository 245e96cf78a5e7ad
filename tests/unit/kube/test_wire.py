"""Short requests over kept connections: what servers answer, how they hang up, and who may still write."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop

from maar.embedded.access import certificate, write_kubeconfig
from maar.kube import dialing, wire
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.errors import ApiError, FencedError, UnansweredError
from support.kubeconfigs import written
from support.until import TIMEOUT_S, until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
HALF = OK[:-2]
HANG_UP = b""
END = b"<END>"  # of an answer: hang up


class Server:
    """Answers requests with bytes as they are given, the last of them for ever; nothing at all hangs up."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = list(answers)
        self.asked: list[bytes] = []
        self.connections: list[asyncio.StreamWriter] = []

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer on one connection until the other side is gone."""
        self.connections.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                self.asked.append(head + await reader.readexactly(length))
                answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
                if answer == HANG_UP:
                    return
                reported, end, _ = answer.partition(END)
                for part in (reported[:7], reported[7:]):  # it may come in pieces
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0)
                if end:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def talking(
    server: Server,
    folder: Path,
    may_write: Callable[[], bool] = lambda: True,
    connections: int = 64,
    retry_timeout_s: float = 0,
) -> AsyncIterator[ApiServer]:
    """A client of a server that is not patient, unless it is asked to be."""
    listener = await asyncio.start_server(server.meet, "127.0.0.1", 0)
    async with listener:
        address = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/prefix/"
        found = await load(written(folder / "one", address))
        async with ApiServer(
            found, connections=connections, retry_timeout_s=retry_timeout_s, may_write=may_write
        ) as client:
            yield client


@asynccontextmanager
async def through(
    server: Server, folder: Path, may_write: Callable[[], bool] = lambda: True
) -> AsyncIterator[ApiServer]:
    """A client of some cluster, with the server for its proxy."""
    listener = await asyncio.start_server(server.meet, "127.0.0.1", 0)
    async with listener:
        proxy = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        file = written(folder / "one", "http://cluster.example", cluster={"proxy-url": proxy})
        async with ApiServer(await load(file), retry_timeout_s=0, may_write=may_write) as client:
            yield client


@pytest.mark.anyio
async def test_a_request_says_what_it_must(tmp_path: Path) -> None:
    server = Server(OK)
    async with talking(server, tmp_path) as client:
        assert await client.request("POST", "/api", {"a": "b c"}, b"{}", "text/plain") == b"fine"
        head, _, body = server.asked[0].partition(b"\r\n\r\n")
        first, *headers = head.decode().split("\r\n")
        assert (first, body) == ("POST /prefix/api?a=b+c HTTP/1.1", b"{}")
        reported = dict(line.split(": ") for line in headers)
        assert reported["Host"].startswith("127.0.0.1:")
        assert reported["Authorization"] == "Bearer token-of-one"
        assert (reported["Content-Type"], reported["Content-Length"]) == ("text/plain", "2")


@pytest.mark.anyio
async def test_answers_come_in_chunks_and_connections_are_kept(tmp_path: Path) -> None:
    chunked = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nfi\r\n2\r\nne\r\n0\r\n\r\n"
    server = Server(chunked, b"HTTP/1.1 102 Processing\r\n\r\n" + OK, OK)
    async with talking(server, tmp_path) as client:
        for _ in range(3):
            assert await client.request("GET", "/") == b"fine"
        assert len(server.connections) == 1


@pytest.mark.anyio
async def test_a_connection_that_ends_is_replaced(tmp_path: Path) -> None:
    last = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfine"
    server = Server(last, OK)
    async with talking(server, tmp_path) as client:
        assert await client.request("POST", "/", None, b"{}") == b"fine"
        assert await client.request("POST", "/", None, b"{}") == b"fine"
        server.connections[1].close()  # while nobody asks anything
        await asyncio.sleep(0.05)
        assert await client.request("POST", "/", None, b"{}") == b"fine"
        assert len(server.connections) == 3


@pytest.mark.anyio
async def test_what_comes_unasked_is_nobodys_answer(tmp_path: Path) -> None:
    server = Server(OK)
    async with talking(server, tmp_path) as client:
        await client.request("GET", "/")
        server.connections[0].write(OK.replace(b"fine", b"lies"))
        await asyncio.sleep(0.05)
        assert await client.request("GET", "/") == b"fine"
        assert len(server.connections) == 2


@pytest.mark.anyio
async def test_a_connection_that_was_idle_for_long_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_LONGEST_IDLE_S", 0.0)
    server = Server(OK)
    async with talking(server, tmp_path) as client:
        await client.request("GET", "/")
        await client.request("GET", "/")
        assert len(server.connections) == 2


@pytest.mark.parametrize(
    "answer",
    [HANG_UP, b"SSH-2.0-OpenSSH_9.9\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"],
    ids=["nothing", "another-protocol", "no-length"],
)
@pytest.mark.anyio
async def test_what_is_no_answer_may_have_been_done(tmp_path: Path, answer: bytes) -> None:
    server = Server(answer, OK)
    async with talking(server, tmp_path) as client:
        with pytest.raises(UnansweredError, match="check that it runs") as unanswered:
            await client.request("POST", "/", None, b"{}")
        assert unanswered.value.may_be_done
        assert await client.request("POST", "/", None, b"{}") == b"fine"
        assert len(server.connections) == 2


@pytest.mark.anyio
async def test_an_answer_that_comes_too_late_is_not_the_next_ones(tmp_path: Path) -> None:
    server = Server(HALF, OK)
    async with talking(server, tmp_path, connections=1) as client:
        with pytest.raises(UnansweredError, match="no answer in time") as unanswered:
            await client.request("POST", "/", None, b"{}", timeout_s=0.05)
        assert unanswered.value.may_be_done
        assert await client.request("GET", "/") == b"fine"


@pytest.mark.anyio
async def test_a_refusal_says_when_to_come_back(tmp_path: Path) -> None:
    server = Server(b"HTTP/1.1 429 No\r\nretry-after: 7\r\nContent-Length: 0\r\n\r\n")
    async with talking(server, tmp_path) as client:
        with pytest.raises(ApiError) as refused:
            await client.request("POST", "/", None, b"{}")
        assert (refused.value.code, refused.value.retry_after_s) == (429, 7)


@pytest.mark.anyio
async def test_who_gives_up_waiting_takes_no_connection_away(tmp_path: Path) -> None:
    server = Server(HALF, OK)
    async with talking(server, tmp_path, connections=1) as client:
        stuck = asyncio.create_task(client.request("GET", "/stuck"))
        await until("it is asked", lambda: len(server.asked) == 1)
        impatient = [asyncio.create_task(client.request("GET", "/impatient")) for _ in range(3)]
        retrying = asyncio.create_task(client.request("GET", "/patient"))
        await asyncio.sleep(0)
        stuck.cancel()
        for one in impatient:
            one.cancel()
        assert await asyncio.wait_for(retrying, TIMEOUT_S) == b"fine"
        assert len(server.asked) == 2


@pytest.mark.anyio
async def test_who_may_no_longer_write_sends_nothing(tmp_path: Path) -> None:
    answers = iter([True, False])  # asked before it waits for a connection, and when it has one
    server = Server(OK)
    async with talking(server, tmp_path, may_write=lambda: next(answers)) as client:
        with pytest.raises(FencedError):
            await client.request("POST", "/", None, b"{}")
        assert await client.request("GET", "/") == b"fine"
        assert len(server.asked) == len(server.connections) == 1, "the connection is as good as before"


@pytest.mark.anyio
async def test_who_may_no_longer_write_sends_nothing_through_a_proxy_either(tmp_path: Path) -> None:
    answers, server = iter([True, False]), Server(OK)
    async with through(server, tmp_path, lambda: next(answers)) as client:
        with pytest.raises(FencedError):
            await client.request("POST", "/", None, b"{}")
        assert server.asked == []
        assert next(answers, None) is None, "asked at the last moment"


@pytest.mark.parametrize("way", [talking, through], ids=["direct", "proxy"])
@pytest.mark.anyio
async def test_what_was_sent_in_time_and_then_broken_may_have_been_done(
    tmp_path: Path, way: Callable[..., AbstractAsyncContextManager[ApiServer]]
) -> None:
    leads, server = True, Server(HALF, HANG_UP)
    async with way(server, tmp_path, may_write=lambda: leads) as client:
        asking = asyncio.create_task(client.request("POST", "/", None, b"{}"))
        await until("it is asked", lambda: len(server.asked) == 1)
        leads = False
        server.connections[0].close()
        with pytest.raises(UnansweredError) as unanswered:
            await asking
        assert unanswered.value.may_be_done


@pytest.mark.anyio
async def test_after_the_end_nothing_is_sent(tmp_path: Path) -> None:
    server = Server(HALF)
    async with talking(server, tmp_path, connections=1, retry_timeout_s=5) as client:
        tasks = [asyncio.create_task(client.request("POST", "/", None, b"{}")) for _ in range(3)]
        await until("one is asked", lambda: len(server.asked) == 1)
    for task in tasks:
        with pytest.raises(RuntimeError, match="closed"):
            await task
    assert len(server.asked) == 1


@pytest.mark.anyio
async def test_what_follows_an_answer_at_once_is_nobodys_either(tmp_path: Path) -> None:
    for rest in (OK.replace(b"fine", b"lies"), OK[:20], b"rubbish"):
        server = Server(OK + rest, OK)
        async with talking(server, tmp_path) as client:
            assert await client.request("GET", "/") == b"fine"
            assert await client.request("GET", "/") == b"fine"
            assert len(server.connections) == 2


@pytest.mark.anyio
async def test_an_answer_may_end_with_the_connection(tmp_path: Path) -> None:
    go = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
    server = Server(go + END)
    async with talking(server, tmp_path) as client:
        with pytest.raises(ApiError, match="Client sent an HTTP request to an HTTPS server") as refused:
            await client.request("POST", "/", None, b"{}")
        assert refused.value.code == 400


@pytest.mark.parametrize("loop", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_dead_address_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loop: Callable[[Awaitable[None]], None]
) -> None:
    server, looked_up = Server(OK), list[object]()

    async def ask() -> None:
        listener = await asyncio.start_server(server.meet, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]

        async def found(*asked: object, **_: object) -> list[Any]:
            looked_up.append(asked)
            await asyncio.sleep(0.05)
            return [
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("127.0.0.2", "127.0.0.1")
            ]

        with silent("127.0.0.2", port):
            file = written(tmp_path / "one", f"http://cluster.example:{port}")
            async with listener, ApiServer(await load(file), retry_timeout_s=0) as client:
                monkeypatch.setattr(dialing, "look_up", found)
                many = [client.request("GET", "/") for _ in range(8)]
                assert set(await asyncio.gather(*many)) == {b"fine"}
        assert len(looked_up) == 1, "they ask together"

    loop(ask())


@contextmanager
def silent(host: str, port: int) -> Iterator[None]:
    """A machine that does not answer: whoever waits to be let in fills its doorway."""
    with ExitStack() as stack:
        listener_socket = stack.enter_context(socket.socket())
        listener_socket.bind((host, port))
        listener_socket.listen(0)
        for _ in range(4):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            with suppress(BlockingIOError):
                one.connect((host, port))
        yield


@pytest.mark.anyio
async def test_nobody_listens_so_nothing_was_sent(tmp_path: Path) -> None:
    server = Server(OK)
    async with talking(server, tmp_path) as client:
        pass
    async with client:
        with pytest.raises(UnansweredError, match="check that it runs") as unanswered:
            await client.request("POST", "/", None, b"{}")
        assert not unanswered.value.may_be_done
        assert unanswered.value.is_passing


@pytest.mark.anyio
async def test_a_proxy_that_does_not_listen_is_named_and_not_the_cluster(tmp_path: Path) -> None:
    async with through(Server(OK), tmp_path) as client:
        proxy = str(client.credentials.proxy).removeprefix("http://")
    refused = f"cannot connect to the proxy {proxy}: connection refused; check that the proxy runs"
    async with client:
        with pytest.raises(UnansweredError, match=f"http://cluster.example: {refused}") as unanswered:
            await client.request("POST", "/", None, b"{}")
        assert not unanswered.value.may_be_done
        assert unanswered.value.is_passing
        with pytest.raises(UnansweredError, match=refused):  # watches have connections of their own
            async with client.stream("/", {}, 5):
                pass


@pytest.mark.anyio
async def test_a_connection_that_is_being_opened_at_the_end_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever a request is given up: while it dials, in the middle of TLS, or just after."""
    dialled: list[socket.socket] = []
    dial = dialing.Dialer.dial

    async def noted(dialer: dialing.Dialer, host: str, port: int) -> socket.socket:
        dialled.append(await dial(dialer, host, port))
        return dialled[-1]

    monkeypatch.setattr(dialing.Dialer, "dial", noted)
    files = certificate(tmp_path, ("127.0.0.1",))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(files.certificate, files.key)
    listener = await asyncio.start_server(Server(OK).meet, "127.0.0.1", 0, ssl=tls)
    async with listener:
        url = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        write_kubeconfig(tmp_path / "config", url, files.certificate.read_bytes(), "")
        for steps in range(60):
            async with ApiServer(await load(tmp_path / "config"), retry_timeout_s=0) as client:
                asking = asyncio.create_task(client.request("GET", "/"))
                for _ in range(steps):
                    await asyncio.sleep(0)
                asking.cancel()
                with suppress(asyncio.CancelledError):
                    await asking
            assert [one for one in dialled if one.fileno() >= 0] == [], f"after {steps} steps"
    assert dialled
