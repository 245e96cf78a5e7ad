"""Connections to an API server: bounded, given up when the other side is gone, closed to a former leader."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from weakref import WeakSet

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from maar.kube.credentials import Credentials
from maar.kube.errors import FencedError

# A machine that is gone says nothing: ask after 20 s of silence, and give up 15 s later.
_KEEP_ALIVE: Final = (
    ("TCP_KEEPIDLE", 20),
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 3),
)
_LEAVE_S: Final = 1.0


class LastingConnector(aiohttp.TCPConnector):
    """Opens connections that notice when the other side is gone, and leaves none open when it is closed."""

    def __init__(self, limit: int, tls: ssl.SSLContext | bool) -> None:  # noqa: FBT001  # aiohttp's own
        super().__init__(limit=limit, ssl=tls, socket_factory=self._opened, keepalive_timeout=60)
        self._sockets = WeakSet[socket.socket]()

    async def close(self, *, abort_ssl: bool = False) -> None:
        """Close all; those given up before, that still wait for the other side's good-bye, are cut off."""
        await super().close(abort_ssl=abort_ssl)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                while left := [one for one in self._sockets if one.fileno() >= 0]:
                    for one in left:
                        with suppress(OSError):
                            one.shutdown(socket.SHUT_RDWR)  # its transport reads the end, and closes
                    await asyncio.sleep(0)

    def _opened(self, address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, *_ = address
        opened = socket.socket(family, kind, protocol)
        self._sockets.add(opened)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEP_ALIVE:
            if hasattr(socket, name):  # other systems have fewer of them
                opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        return opened


class Connections(LastingConnector):
    """Connections to an API server; a write leaves only while `may_write`, asked at the last moment."""

    def __init__(self, credentials: Credentials, limit: int, may_write: Callable[[], bool]) -> None:
        super().__init__(limit, credentials.tls)
        self._may_write = may_write

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # that is how it is called
    ) -> Connection:
        """Get a connection, unless it is too late to write."""
        connection = await super().connect(req, traces, timeout)
        if req.method != "GET" and not self._may_write():
            connection.release()
            raise FencedError
        return connection


def fenced(may_write: Callable[[], bool]) -> type[aiohttp.ClientRequest]:
    """Requests whose body leaves only while `may_write`: this is the last moment there is."""

    class Fenced(aiohttp.ClientRequest):
        async def write_bytes(
            self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
        ) -> None:
            if self.method == "GET" or may_write():
                await super().write_bytes(writer, conn, content_length)
            elif conn.transport is not None:
                conn.transport.abort()  # nothing of it has been sent; whoever waits for the answer asks again

    return Fenced
