"""The client of an API server: requests, retried where that may help, and streams of lines."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from maar.core.model.metadata import FIELD_MANAGER
from maar.kube.address import Address, address_of
from maar.kube.connections import BROKEN, CONNECT_TIMEOUT_S, READ_BUFFER, LastingConnector, as_os_error
from maar.kube.credentials import Credentials
from maar.kube.errors import ApiError, FencedError, UnansweredError
from maar.kube.proxied import Proxied
from maar.kube.retry import persist
from maar.kube.sender import NoProxyError, NotSentError, NotTrustedError, OutgoingRequest, Sender
from maar.kube.sources import CredentialsError
from maar.kube.warning_headers import HEADER, Warn, WithoutRepeats, read_warnings
from maar.kube.wire import Wire

_LOG: Final = logging.getLogger(__name__)

JSON: Final = "application/json"
CONNECTIONS: Final = 96  # enough for all binds at a time, or for all statuses and events after them
REQUEST_TIMEOUT_S: Final = 15.0
RETRY_TIMEOUT_S: Final = 30.0  # an API server that is restarted is back before
LONGEST_LINE: Final = 64 * 2**20  # bytes; etcd takes objects of a few megabytes at most

_HEADERS: Final = {
    "Accept-Encoding": "identity",  # packing costs both sides more than the wire does
    "User-Agent": FIELD_MANAGER,
}


def _log(warning: str) -> None:
    _LOG.warning("the API server warns: %s", warning)


class ApiServer:
    """A client that sends many requests to an API server at a time, up to a bound."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        connections: int = CONNECTIONS,
        retry_timeout_s: float = RETRY_TIMEOUT_S,
        may_write: Callable[[], bool] = lambda: True,
        warn: Warn = _log,
    ) -> None:
        try:
            address_of(credentials.proofs.server)
        except ValueError as error:
            raise CredentialsError(str(error)) from None
        self.credentials = credentials
        self._connections, self._retry_timeout_s, self._may_write = connections, retry_timeout_s, may_write
        self._warn = WithoutRepeats(warn)

    async def __aenter__(self) -> Self:
        proxy = self.credentials.proxy
        self._requests: Sender = (
            Wire(self.credentials, self._connections, self._may_write)
            if proxy is None
            else Proxied(self.credentials, proxy, self._connections, self._may_write)
        )
        self._streams = aiohttp.ClientSession(  # they last: each has a connection beside the bounded ones
            connector=LastingConnector(0, self.credentials.tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=proxy,
            read_bufsize=READ_BUFFER,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._requests.close()
        await self._streams.close()

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout_s: float = REQUEST_TIMEOUT_S,
        accept: str = JSON,
    ) -> bytes:
        """Send a request; retry errors that may pass, until an answer or the time limit."""
        query_string = f"?{urlencode(query)}" if query else ""
        kinds = (content_type, accept)
        attempt = partial(self._send, method, f"{path}{query_string}", body or b"", kinds, timeout_s)
        return await persist(attempt, self._retry_timeout_s)

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str], longest_silence_s: float, accept: str = JSON
    ) -> AsyncIterator[AsyncIterator[list[bytes]]]:
        """Open a stream of lines; yields all lines that have arrived at once. It is not retried."""
        address, headers = await self._prepared((JSON, accept))
        url = URL(f"{address.base}{path}?{urlencode(query)}", encoded=True)
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_TIMEOUT_S, sock_read=longest_silence_s)
        try:
            async with self._streams.get(
                url,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                server_hostname=self.credentials.proofs.server_name,
            ) as response:
                self._pass_on(response.headers.getall(HEADER, []))
                if response.status != HTTPStatus.OK:
                    answer, retry_after = await response.read(), response.headers.get("Retry-After", "")
                    raise await self._refusal(response.status, answer, retry_after, headers)
                try:
                    yield _lines(response.content)
                finally:
                    _close_stream(response)
        except BROKEN as error:
            raise _unanswered(as_os_error(error), address) from error

    async def _send(
        self, method: str, path: str, body: bytes, kinds: tuple[str, str], timeout_s: float
    ) -> bytes:
        for is_second in (False, True):
            address, headers = await self._prepared(kinds)
            request = OutgoingRequest(method, path, headers, body, timeout_s)
            if request.is_write and not self._may_write():
                raise FencedError  # it is asked again when it is about to be sent; this is cheaper
            try:
                reply = await self._requests.send(address, request)
            except OSError as error:
                raise _unanswered(error, address) from error
            self._pass_on(reply.warnings)
            if reply.status < HTTPStatus.MULTIPLE_CHOICES:
                return reply.body
            refusal = await self._refusal(reply.status, reply.body, reply.retry_after, headers)
            if is_second or refusal.code != HTTPStatus.UNAUTHORIZED:
                break  # with new credentials a second attempt may do
        raise refusal

    async def _prepared(self, kinds: tuple[str, str]) -> tuple[Address, dict[str, str]]:
        """The URL, headers and body of a request, with current credentials.

        The content types are those of the body and of the accepted answer.
        """
        if self.credentials.is_stale:
            await self.credentials.refresh()
        proofs = self.credentials.proofs
        try:
            address = address_of(proofs.server)
        except ValueError as error:  # it is another than when we started
            raise UnansweredError(str(error), may_be_done=False, is_passing=False) from None
        headers = {**_HEADERS, "Content-Type": kinds[0], "Accept": kinds[1]}
        if proofs.authorization:
            headers["Authorization"] = proofs.authorization
        return address, headers

    async def _refusal(
        self, status: int, answer: bytes, retry_after: str, headers: Mapping[str, str]
    ) -> ApiError:
        """Read the server's refusal; where it rejects the credentials, refresh them."""
        refusal = ApiError.of(answer, status, retry_after)
        if refusal.code == HTTPStatus.UNAUTHORIZED:
            try:
                await self.credentials.refresh(rejected=headers.get("Authorization", ""))
            except CredentialsError as error:
                refusal.message = f"{refusal.message}; and there are no others: {error}"
        return refusal

    def _pass_on(self, warnings: list[str]) -> None:
        for text in read_warnings(warnings):
            self._warn(text)


def _close_stream(response: aiohttp.ClientResponse) -> None:
    """Abort a stream now; a graceful close would leave a connection that no task waits for."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[list[bytes]]:
    rest = b""
    async for chunk in content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise UnansweredError(f"a line of more than {LONGEST_LINE} bytes came", may_be_done=False)
        if lines:
            yield lines
    if rest:
        yield [rest]  # what a program printed last may lack its end of line


def _unanswered(error: OSError, address: Address) -> UnansweredError:
    what = str(error) or "it gave no answer in time"
    if isinstance(error, NotTrustedError):
        advice = "check the cluster's certificate-authority and tls-server-name in the kubeconfig"
        return UnansweredError(
            f"{address.origin} is not trusted: {what}; {advice}", may_be_done=False, is_passing=False
        )
    advice = "check that it runs and that the kubeconfig has its address"
    if isinstance(error, NoProxyError):
        advice = "check that the proxy runs, and its address in proxy-url of the kubeconfig or in https_proxy"
    return UnansweredError(
        f"{address.origin}: {what}; {advice}", may_be_done=not isinstance(error, NotSentError)
    )
