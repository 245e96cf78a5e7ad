"""Requests through a proxy, sent with aiohttp, because `wire` does not support proxies."""

from collections.abc import Callable
from typing import Final

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.connector import Connection
from yarl import URL

from maar.kube.address import Address
from maar.kube.connections import BROKEN, CONNECT_TIMEOUT_S, READ_BUFFER, LastingConnector, as_os_error
from maar.kube.credentials import Credentials
from maar.kube.errors import FencedError
from maar.kube.sender import OutgoingRequest, Reply
from maar.kube.warning_headers import HEADER

_RETRY_AFTER: Final = "Retry-After"


class Proxied:
    """Connections to an API server through a proxy, up to a bound."""

    def __init__(
        self, credentials: Credentials, proxy: str, limit: int, may_write: Callable[[], bool]
    ) -> None:
        self._credentials = credentials
        self._session = aiohttp.ClientSession(
            connector=LastingConnector(limit, credentials.tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=proxy,
            read_bufsize=READ_BUFFER,
            request_class=_fenced(may_write),
        )

    async def send(self, address: Address, request: OutgoingRequest) -> Reply:
        """Send a request and give the answer; `may_write` is checked immediately before a write is sent."""
        try:
            async with self._session.request(
                request.method,
                URL(f"{address.base}{request.path}", encoded=True),
                data=request.body,
                headers=request.headers,
                timeout=aiohttp.ClientTimeout(total=request.timeout_s, sock_connect=CONNECT_TIMEOUT_S),
                allow_redirects=False,
                server_hostname=self._credentials.proofs.server_name,
            ) as response:
                answer, headers = await response.read(), response.headers
                return Reply(
                    response.status, answer, headers.getall(HEADER, []), headers.get(_RETRY_AFTER, "")
                )
        except BROKEN as error:
            raise as_os_error(error) from error

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


def _fenced(may_write: Callable[[], bool]) -> type[aiohttp.ClientRequest]:
    """Requests whose body is sent only while `may_write`, checked at the last moment."""

    class Fenced(aiohttp.ClientRequest):
        async def write_bytes(
            self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
        ) -> None:
            if self.method == "GET" or may_write():
                await super().write_bytes(writer, conn, content_length)
            elif conn.protocol is not None and conn.transport is not None:
                conn.protocol.set_exception(FencedError())  # raised where the answer is awaited
                conn.transport.abort()

    return Fenced
