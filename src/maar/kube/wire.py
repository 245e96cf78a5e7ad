"""Short requests over kept connections, with no more than HTTP/1.1 asks for: binds come by the thousand.

A general client costs more of our processor for a bind than the decision about it (decision record 21).
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Final, cast

import httptools

from maar.kube.address import address_of
from maar.kube.connections import CONNECT_TIMEOUT_S, keep_alive
from maar.kube.credentials import Credentials
from maar.kube.errors import FencedError
from maar.kube.sender import NotSentError, NotTrustedError, Reply

_LONGEST_IDLE_S: Final = 60.0  # API servers hang up after 90: a request should not meet that
_LEAVE_S: Final = 1.0


class Wire:
    """Connections to an API server, up to a bound; who has waited longest has the next."""

    def __init__(self, credentials: Credentials, limit: int, may_write: Callable[[], bool]) -> None:
        self._credentials, self._may_write = credentials, may_write
        self._turns = asyncio.Semaphore(limit)
        self._idle: list[_Line] = []
        self._open = set[_Line]()

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> Reply:
        """Send a request and give what is answered; a write leaves only while it may, asked last of all."""
        server = self._credentials.proofs.server
        address = address_of(server)
        said = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        head = (
            f"{method} {address.prefix}{path} HTTP/1.1\r\nHost: {address.authority}\r\n"
            f"Content-Length: {len(body)}\r\n{said}\r\n"
        )
        async with self._turns:
            line = self._kept(server) or await self._connect(server)
            if method != "GET" and not self._may_write():
                self._idle.append(line)
                raise FencedError
            try:
                reply = await line.ask(head.encode() + body, timeout_s)
            except BaseException:
                line.drop()  # its answer may still come, and would be taken for another's
                raise
            if line.is_open:
                self._idle.append(line)
            return reply

    async def close(self) -> None:
        """Close all connections."""
        lines = list(self._open)
        for line in lines:
            line.drop()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                for line in lines:
                    await line.closed.wait()

    def _kept(self, server: str) -> "_Line | None":
        """A connection that is still good, the one used last: the others may be left to age."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            line = self._idle.pop()
            if line.is_open and line.server == server and now - line.used < _LONGEST_IDLE_S:
                return line
            line.drop()
        return None

    async def _connect(self, server: str) -> "_Line":
        address, tls = address_of(server), self._credentials.tls
        known_as = self._credentials.proofs.server_name or address.host
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                _, line = await asyncio.get_running_loop().create_connection(
                    lambda: _Line(server, self._open),
                    address.host,
                    address.port,
                    ssl=tls if address.is_tls else None,
                    server_hostname=known_as if address.is_tls else None,
                )
        except ssl.SSLEOFError as error:
            raise NotSentError(str(error)) from error  # it has just gone
        except ssl.SSLError as error:
            raise NotTrustedError(str(error)) from error
        except OSError as error:
            raise NotSentError(str(error) or f"no connection within {CONNECT_TIMEOUT_S:.0f} s") from error
        return line


class _Line(asyncio.Protocol):
    """One connection, with one request on it at a time."""

    def __init__(self, server: str, all_open: set["_Line"]) -> None:
        self.server, self._all_open = server, all_open
        self.is_open, self.used = False, 0.0
        self.closed = asyncio.Event()
        self._answer: asyncio.Future[Reply] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport, self.is_open = cast("asyncio.Transport", transport), True
        self.used = asyncio.get_running_loop().time()
        self._all_open.add(self)
        keep_alive(cast("socket.socket", transport.get_extra_info("socket")))

    def ask(self, request: bytes, timeout_s: float) -> "asyncio.Future[Reply]":
        """Send a request."""
        loop = asyncio.get_running_loop()
        self._answer = answer = loop.create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._warnings: list[str] = []
        self._retry_after = ""
        self._timer = loop.call_later(timeout_s, self._fail, TimeoutError("it gave no answer in time"))
        self._transport.write(request)
        return answer

    def drop(self) -> None:
        """Use it no more."""
        self.is_open = False
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._answer is None:
            self.drop()  # nobody has asked for anything
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionError(f"what came is no answer: {error}"))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep what somebody wants to know."""
        match name.lower():
            case b"warning":
                self._warnings.append(value.decode(errors="surrogateescape"))
            case b"retry-after":
                self._retry_after = value.decode(errors="surrogateescape")

    def on_body(self, body: bytes) -> None:
        """Keep a part of the answer."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Give the answer."""
        status = self._parser.get_status_code()
        if status < HTTPStatus.OK:
            return  # the answer proper follows
        self.used = asyncio.get_running_loop().time()
        if not self._parser.should_keep_alive():
            self.is_open = False
            self._transport.close()
        self._timer.cancel()
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_result(Reply(status, b"".join(self._body), self._warnings, self._retry_after))

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side is gone."""
        self.is_open = False
        self._all_open.discard(self)
        self.closed.set()
        self._fail(ConnectionError(str(exc) if exc else "it closed the connection"))

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            self._timer.cancel()
            if not answer.done():
                answer.set_exception(error)
