"""A real HTTP proxy in front of an API server that misbehaves on request, as networks do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
from aiohttp import web

from maar.kube.connections import LastingConnector
from support.kubeconfigs import changed, server_of, with_server

LOOPBACK: Final = "127.0.0.1"
PASSED_ON: Final = ("Authorization", "Content-Type", "Accept", "Accept-Encoding")


@dataclass(frozen=True)
class Say:
    """Answer in the server's place; it never hears of the request."""

    status: int
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drop:
    """Close the connection before the server hears of the request."""


@dataclass(frozen=True)
class Lose:
    """Let the server carry it out, and close the connection instead of answering."""


@dataclass(frozen=True)
class Cut:
    """Close the connection after so many bytes of the answer."""

    after: int


@dataclass(frozen=True)
class Hang:
    """Do not answer, ever; the server never hears of the request."""


@dataclass(frozen=True)
class Hold:
    """Let the server carry it out, and keep the answer back until it is released."""

    released: asyncio.Event


Fault = Say | Drop | Lose | Cut | Hang | Hold


@dataclass(frozen=True)
class _Planned:
    fault: Fault
    method: str
    part: str


class Proxy:
    """Passes requests on, except those that a fault is planned for."""

    def __init__(self, server: str, upstream: aiohttp.ClientSession) -> None:
        self._server, self._upstream = server, upstream
        self._planned: list[_Planned] = []
        self._open = set[asyncio.Transport]()
        self.asked: list[str] = []  # "METHOD /path?query", in the order they came

    def plan(self, *faults: Fault, method: str = "", part: str = "") -> None:
        """Let the next requests of that method, with that in path or query, meet these faults in turn."""
        self._planned += [_Planned(fault, method, part) for fault in faults]

    def mend(self) -> None:
        """Forget the faults that have not been met."""
        self._planned.clear()

    @property
    def is_spent(self) -> bool:
        """Whether every fault has been met."""
        return not self._planned

    def count(self, method: str, part: str = "") -> int:
        """How many requests of a method came with that in path or query."""
        return sum(one.startswith(f"{method} ") and part in one for one in self.asked)

    def cut_all(self) -> None:
        """Close every connection that something is being answered on."""
        for transport in list(self._open):
            transport.abort()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request: as the server does, or as the fault says."""
        self.asked.append(f"{request.method} {request.rel_url}")
        transport = request.transport
        assert transport is not None
        self._open.add(transport)
        try:
            match self._next(request):
                case Say(status, body, headers):
                    return web.Response(status=status, text=body, headers=headers)
                case Drop():
                    transport.abort()
                case Hang():
                    await asyncio.Event().wait()
                case fault:
                    return await self._pass_on(request, transport, fault)
            return web.Response()
        finally:
            self._open.discard(transport)

    async def _pass_on(
        self, request: web.BaseRequest, transport: asyncio.Transport, fault: Lose | Cut | Hold | None
    ) -> web.StreamResponse:
        headers = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
        async with self._upstream.request(
            request.method, f"{self._server}{request.rel_url}", headers=headers, data=await request.read()
        ) as upstream:
            if isinstance(fault, Lose):
                await upstream.read()
                transport.abort()
                return web.Response()
            if isinstance(fault, Hold):
                await fault.released.wait()
            kept = {name: upstream.headers[name] for name in ("Content-Type",) if name in upstream.headers}
            answer = web.StreamResponse(status=upstream.status, headers=kept)
            await answer.prepare(request)
            try:
                if await _copy(upstream.content, answer, fault.after if isinstance(fault, Cut) else None):
                    await answer.write_eof()
                else:
                    transport.abort()
            finally:
                if upstream.connection is not None and upstream.connection.transport is not None:
                    upstream.connection.transport.abort()  # a stream that has not come to its end
            return answer

    def _next(self, request: web.BaseRequest) -> Fault | None:
        for planned in self._planned:
            if planned.method in ("", request.method) and planned.part in str(request.rel_url):
                self._planned.remove(planned)
                return planned.fault
        return None


async def _copy(source: aiohttp.StreamReader, answer: web.StreamResponse, most: int | None) -> bool:
    """Send on what comes; tell whether all of it was sent, or only as many bytes as there may be."""
    async for chunk in source.iter_any():
        if most is not None:
            if len(chunk) >= most:
                await answer.write(chunk[:most])
                return False
            most -= len(chunk)
        await answer.write(chunk)
    return True


@asynccontextmanager
async def proxy(kubeconfig: Path, folder: Path) -> AsyncIterator[tuple[Proxy, Path]]:
    """Run a proxy in front of the server of a kubeconfig; give it, and a kubeconfig that leads to it."""
    async with aiohttp.ClientSession(
        connector=LastingConnector(limit=0, tls=False), auto_decompress=False
    ) as upstream:
        passing = Proxy(server_of(kubeconfig), upstream)
        runner = web.ServerRunner(
            web.Server(passing.handle, handler_cancellation=True, access_log=None), shutdown_timeout=0.1
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, LOOPBACK, 0)
            await site.start()
            address = f"http://{LOOPBACK}:{runner.addresses[0][1]}"
            yield passing, changed(kubeconfig, folder / "kubeconfig-through-proxy", with_server(address))
        finally:
            await runner.cleanup()
            await asyncio.sleep(0)  # sockets are closed on the loop's next turn
