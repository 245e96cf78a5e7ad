"""Short requests over kept connections, with no more than HTTP/1.1 asks for: binds come by the thousand.

The problem. A bind is a request of 300 bytes and an answer of 200. A general client costs more of
our processor for it than the decision about it. And a process that has lost its lease must not
write: whether it may has to be asked when the connection is there and the request is about to
leave, not when it is put into a line.

How it works. A semaphore bounds the number of requests, first in, first out. A request takes the
connection that was used last, so that the others age and are closed, or opens one. Then, for a
write, `may_write` is asked; if not, FencedError is raised and nothing has left. Between the
question and `transport.write` there is no `await`: nothing can happen in between. httptools reads
the answer.

Invariants.
- One request at a time on a connection, and its answer is read whole before the next. A connection
  is dropped that timed out, was cancelled, sent what is no answer or sent something unasked: a late
  answer would be taken for that of the next request.
- A connection is used again only for the address and with the certificates that it was opened for,
  and not after a minute idle: API servers hang up after 90 s, and a request should not meet that.
- NotSentError means that the server has not received the request. Any other OSError means that it
  may have: nothing is sent a second time here, `api_server.py` decides that.
- An answer without a length ends with its connection, and only if that ends without an error.

Why not otherwise? aiohttp took 270 to 430 microseconds of processor time for a request, this takes
120 to 190; it stays for watches, which last, and for proxies. A client in Rust is as fast, but
sends when its own threads find a connection, seconds after the question whether it may. HTTP/2 was
no faster. With pipelining a request that times out would take all behind it along. Decision record
21.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, cast
from weakref import WeakSet

import httptools

from maar.kube.address import Address
from maar.kube.connections import CONNECT_TIMEOUT_S
from maar.kube.credentials import Credentials
from maar.kube.dialing import Dialer, end_all
from maar.kube.errors import FencedError
from maar.kube.sender import NotSentError, NotTrustedError, OutgoingRequest, Reply, not_connected

_LONGEST_IDLE_S: Final = 60.0  # API servers hang up after 90: a request should not meet that


class Wire:
    """Connections to an API server, up to a bound, used in first-in, first-out order."""

    def __init__(self, credentials: Credentials, limit: int, may_write: Callable[[], bool]) -> None:
        self._credentials, self._may_write = credentials, may_write
        self._dialer = Dialer()
        self._turns = asyncio.Semaphore(limit)
        self._idle: list[_Connection] = []
        self._open = set[_Connection]()
        self._sockets = WeakSet[socket.socket]()
        self._is_closed = False

    async def send(self, address: Address, request: OutgoingRequest) -> Reply:
        """Send a request and give the answer; `may_write` is checked immediately before a write is sent."""
        headers = "".join([f"{name}: {value}\r\n" for name, value in request.headers.items()])
        head = (
            f"{request.method} {address.prefix}{request.path} HTTP/1.1\r\nHost: {address.authority}\r\n"
            f"Content-Length: {len(request.body)}\r\n{headers}\r\n"
        )
        async with self._turns:
            began = asyncio.get_running_loop().time()
            line = self._kept(address, began) or await self._connect(address, request.timeout_s)
            if request.is_write and not self._may_write():
                self._idle.append(line)
                raise FencedError
            try:
                reply = await line.send(head.encode() + request.body, began + request.timeout_s)
            except BaseException:
                line.drop()  # its answer may still come, and would be taken for another's
                raise
            if line.is_open:
                self._idle.append(line)
            return reply

    async def close(self) -> None:
        """Close all connections; later requests are refused."""
        self._is_closed = True
        for line in list(self._open):
            line.drop()
        await end_all(self._sockets)  # and of those that were being opened when their requests were given up

    def _kept(self, address: Address, now: float) -> "_Connection | None":
        """A connection that is still good, the one used last: the others may be left to age."""
        wanted = (address, self._credentials.certificates)
        while self._idle:
            line = self._idle.pop()
            if line.is_open and line.opened_for == wanted and now - line.used < _LONGEST_IDLE_S:
                return line
            line.drop()
        return None

    async def _connect(self, address: Address, within_s: float) -> "_Connection":
        tls, known_as = self._credentials.tls, self._credentials.proofs.server_name or address.host
        opened_for = (address, self._credentials.certificates)
        self._refuse_if_closed()
        try:
            async with asyncio.timeout(min(within_s, CONNECT_TIMEOUT_S)):
                opened = await self._dialer.dial(address.host, address.port)
                self._sockets.add(opened)
                _, line = await asyncio.get_running_loop().create_connection(
                    lambda: _Connection(opened_for, self._open),
                    sock=opened,
                    ssl=tls if address.is_tls else None,
                    server_hostname=known_as.rstrip(".") if address.is_tls else None,
                )
        except TimeoutError as error:
            raise NotSentError("cannot connect in time") from error
        except ssl.SSLEOFError as error:
            raise NotSentError("cannot connect: the server closed the connection") from error
        except ssl.SSLError as error:
            raise NotTrustedError(str(error)) from error
        except OSError as error:
            raise not_connected(error) from error
        if not line.is_open:
            raise NotSentError("cannot connect: the server closed the connection")
        self._open.add(line)
        if self._is_closed:
            line.drop()
        self._refuse_if_closed()
        return line

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise RuntimeError("this client is closed")


class _Connection(asyncio.Protocol):
    """One connection, with one request on it at a time."""

    def __init__(self, opened_for: object, all_open: set["_Connection"]) -> None:
        self.opened_for, self._all_open = opened_for, all_open
        self.is_open, self.used = False, 0.0
        self._answer: asyncio.Future[Reply] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport, self.is_open = cast("asyncio.Transport", transport), True
        self.used = asyncio.get_running_loop().time()

    def send(self, request: bytes, until: float) -> "asyncio.Future[Reply]":
        """Send a request."""
        loop = asyncio.get_running_loop()
        self._answer = answer = loop.create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._warnings: list[str] = []
        self._retry_after = ""
        self._body: list[bytes] = []
        self._ends_with_connection = False
        self._timer = loop.call_at(until, self._fail, TimeoutError("it gave no answer in time"))
        self._transport.write(request)
        return answer

    def drop(self) -> None:
        """Use it no more."""
        self.is_open = False
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._answer is None:
            self.drop()  # no request waits for an answer
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.drop()
            self._fail(ConnectionError(f"what came is no answer: {error}"))

    def on_message_begin(self) -> None:
        """Begin to read an answer; there must be a request that waits for it."""
        if self._answer is None:
            self.drop()
        self._is_bounded = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the headers that callers use."""
        match name.lower():
            case b"warning":
                self._warnings.append(value.decode(errors="surrogateescape"))
            case b"retry-after":
                self._retry_after = value.decode(errors="replace")
            case b"content-length" | b"transfer-encoding":
                self._is_bounded = True

    def on_headers_complete(self) -> None:
        """Find out where the answer ends."""
        self._ends_with_connection = not self._is_bounded

    def on_body(self, body: bytes) -> None:
        """Keep a part of the answer."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Give the answer."""
        status = self._parser.get_status_code()
        if status < HTTPStatus.OK:
            self._ends_with_connection = False
            return  # the answer proper follows
        self.used = asyncio.get_running_loop().time()
        if not self._parser.should_keep_alive():
            self.drop()
        answer, self._answer = self._answer, None
        self._timer.cancel()
        if answer is not None and not answer.done():
            answer.set_result(Reply(status, b"".join(self._body), self._warnings, self._retry_after))

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side is gone."""
        self.is_open = False
        self._all_open.discard(self)
        if self._answer is not None and self._ends_with_connection and exc is None:
            self.on_message_complete()
        self._fail(ConnectionError(str(exc) if exc else "it closed the connection"))

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            self._timer.cancel()
            if not answer.done():
                answer.set_exception(error)
