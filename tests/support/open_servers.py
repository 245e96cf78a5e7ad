"""The four servers of Maar as programs start them, in a thread on uvloop, and raw connections to them."""

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import uvloop

from maar.apps.daemons.health import serve_on, take
from maar.apps.metrics.registry import Registry
from maar.apps.webhooks.program import https_server
from maar.apps.webhooks.reviewer import AdmissionReviewer
from maar.apps.webhooks.server import WebhookServer
from maar.core.admission.request import Options
from maar.embedded.access import ADMINISTRATOR, Certificate
from maar.embedded.assembly import assemble
from maar.embedded.nodes.pod_logs import PodLogs
from maar.embedded.server import Server, serve
from maar.embedded.store import Store
from maar.serving.http_server import server_tls
from maar.serving.listening import listen
from support.certificates import Signed
from support.console import nowhere, running_console

HERE: Final = "127.0.0.1"
_ANSWERS_WITHIN_S: Final = 120.0

Opened = AbstractAsyncContextManager[int]


@dataclass
class OpenServer:
    """A server, and lines to it; what was opened is closed in the end."""

    port: int
    is_secured: bool
    lines: list[socket.socket]

    def line(self, source: str = HERE) -> socket.socket:
        """A connection on which nothing has been sent, not even for TLS."""
        found = socket.create_connection((HERE, self.port), _ANSWERS_WITHIN_S, (source, 0))
        self.lines.append(found)
        return found

    def session(self, source: str = HERE) -> socket.socket:
        """A connection on which a request can be sent."""
        found = self.line(source)
        if self.is_secured:
            tls = ssl.create_default_context()
            tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
            found = tls.wrap_socket(found)
            self.lines.append(found)
        return found

    def status_of(self, path: str, source: str = HERE) -> int:
        """How a request on a connection of its own is answered."""
        line = self.session(source)
        line.sendall(head(path, connection="close"))
        return status_in(line)


def head(path: str, **headers: str) -> bytes:
    """The head of a request."""
    lines = [f"GET {path} HTTP/1.1", f"host: {HERE}", *(f"{name}: {text}" for name, text in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def status_in(line: socket.socket) -> int:
    """The status of the next answer; 0 where the connection ends without one."""
    with suppress(OSError, HTTPException):
        answer = HTTPResponse(line)
        answer.begin()
        answer.read()
        return answer.status
    return 0


def is_cut(line: socket.socket) -> bool:
    """Whether the server ends a connection; waits until it does."""
    with suppress(ConnectionError, ssl.SSLError):
        return not line.recv(1)
    return True


@contextmanager
def open_server(name: str, folder: Path) -> Iterator[OpenServer]:
    """Serve one of the four until the block ends."""
    port, is_up = 0, threading.Event()
    loop: asyncio.AbstractEventLoop | None = None
    stop = asyncio.Event()

    async def run() -> None:
        nonlocal port, loop
        loop = asyncio.get_running_loop()
        async with SERVERS[name](folder) as port:
            is_up.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: uvloop.run(run()), name=name)
    thread.start()
    lines: list[socket.socket] = []
    try:
        assert is_up.wait(_ANSWERS_WITHIN_S)
        yield OpenServer(port, name in ("webhooks", "embedded"), lines)
    finally:
        for line in lines:
            line.close()
        if loop is not None:
            loop.call_soon_threadsafe(stop.set)
        thread.join(_ANSWERS_WITHIN_S)


@asynccontextmanager
async def _status(_folder: Path) -> AsyncIterator[int]:
    with take(f"{HERE}:0") as place:
        async with _until_left(asyncio.create_task(serve_on(place, {}, {}, Registry()))):
            yield place.getsockname()[1]


@asynccontextmanager
async def _console(folder: Path) -> AsyncIterator[int]:
    async with running_console(nowhere(folder)) as client:
        yield urlsplit(client.origin).port or 0


@asynccontextmanager
async def _webhooks(folder: Path) -> AsyncIterator[int]:
    reviewer, tls = AdmissionReviewer(Options()), server_tls()
    reviewer.warm.set()
    tls.load_cert_chain(*Signed.authority().write(folder / "tls"))
    with listen(HERE, 0) as place:
        server = https_server(WebhookServer(reviewer), tls)
        serving = asyncio.create_task(server.serve(sockets=[place]))
        yield place.getsockname()[1]
        await server.finish(serving)


@asynccontextmanager
async def _embedded(folder: Path) -> AsyncIterator[int]:
    cluster = assemble(Store(folder))
    server = Server(cluster, {"token": ADMINISTRATOR}, PodLogs(cluster, folder).read)
    tls, stop = Certificate(*Signed.authority().write(folder / "tls")), asyncio.Event()
    server.is_ready.set()
    with listen(HERE, 0) as place:
        serving = asyncio.create_task(serve(server, cluster.history, place, tls, stop))
        yield place.getsockname()[1]
        stop.set()
        await serving
    cluster.store.close()


@asynccontextmanager
async def _until_left(task: "asyncio.Task[None]") -> AsyncIterator[None]:
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


SERVERS: Final[Mapping[str, Callable[[Path], Opened]]] = {
    "status": _status,
    "console": _console,
    "webhooks": _webhooks,
    "embedded": _embedded,
}
