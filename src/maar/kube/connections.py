"""Connections to an API server: bounded, given up when the other side is gone, closed to a former leader."""

import socket
from collections.abc import Callable
from typing import Final

import aiohttp
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


class Connections(aiohttp.TCPConnector):
    """Opens and keeps connections; a write leaves only while `may_write`, asked at the last moment."""

    def __init__(self, credentials: Credentials, limit: int, may_write: Callable[[], bool]) -> None:
        super().__init__(limit=limit, ssl=credentials.tls, socket_factory=_socket, keepalive_timeout=60)
        self._may_write = may_write

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # that is how it is called
    ) -> Connection:
        """Get a connection; from here on nothing stands between the request and the wire."""
        connection = await super().connect(req, traces, timeout)
        if req.method != "GET" and not self._may_write():
            connection.release()
            raise FencedError
        return connection


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, *_ = address
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE:
        if hasattr(socket, name):  # other systems have fewer of them
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return opened
