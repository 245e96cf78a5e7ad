"""The way to an API server: requests, tried again where that may help, and streams of lines."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from http import HTTPStatus
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from maar.kube.connections import Connections, fenced
from maar.kube.credentials import Credentials
from maar.kube.errors import ApiError, FencedError, UnansweredError
from maar.kube.retry import persist
from maar.kube.sources import CredentialsError
from maar.kube.warning_headers import HEADER, Once, Warn, read_warnings

_LOG: Final = logging.getLogger(__name__)

JSON: Final = "application/json"
CONNECTIONS: Final = 64
CONNECT_TIMEOUT_S: Final = 5.0
REQUEST_TIMEOUT_S: Final = 15.0
PATIENCE_S: Final = 30.0  # an API server that is restarted is back before
READ_BUFFER: Final = 2**20  # bytes; lists are long
LONGEST_LINE: Final = 64 * 2**20  # bytes; etcd takes objects of a few megabytes at most

_HEADERS: Final = {
    "Accept": JSON,
    "Content-Type": JSON,
    "Accept-Encoding": "identity",  # packing costs both sides more than the wire does
    "User-Agent": "maar",
}
_BROKEN: Final = (aiohttp.ClientError, TimeoutError)
_NOT_SENT: Final = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
_NOT_TRUSTED: Final = (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError)


def _within(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_TIMEOUT_S)


_LIMITS: Final = _within(REQUEST_TIMEOUT_S)


def _log(warning: str) -> None:
    _LOG.warning("the API server warns: %s", warning)


class ApiServer:
    """An API server that may be asked many things at a time, up to a bound."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        connections: int = CONNECTIONS,
        patience_s: float = PATIENCE_S,
        may_write: Callable[[], bool] = lambda: True,
        warn: Warn = _log,
    ) -> None:
        if problem := _problem_with(credentials.proofs.server):
            raise CredentialsError(problem)
        self.credentials = credentials
        self._connections, self._patience_s, self._may_write = connections, patience_s, may_write
        self._warn = Once(warn)

    async def __aenter__(self) -> Self:
        self._requests = self._session(self._connections)
        self._streams = self._session(0)  # they last: each has a connection beside the bounded ones
        self._authorization = ""
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
    ) -> bytes:
        """Ask until there is an answer; what fails is tried again while that may help and patience lasts."""
        # What most requests have in common is said once, to the session: that is measurably faster.
        headers = None if content_type == JSON else {"Content-Type": content_type}
        limits = _LIMITS if timeout_s == REQUEST_TIMEOUT_S else _within(timeout_s)
        return await persist(
            partial(self._ask, method, self._url(path, query), body, headers, limits), self._patience_s
        )

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str], longest_silence_s: float
    ) -> AsyncIterator[AsyncIterator[list[bytes]]]:
        """Open a stream of lines, which come as many together as have arrived; nothing is tried again."""
        url, authorization = self._url(path, query), await self._authorize()
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_TIMEOUT_S, sock_read=longest_silence_s)
        try:
            async with self._streams.get(
                url, timeout=timeout, allow_redirects=False, server_hostname=self._server_name
            ) as response:
                self._pass_on_warnings(response)
                if response.status != HTTPStatus.OK:
                    raise await self._refusal(response, await response.read(), authorization)
                try:
                    yield _lines(response.content)
                finally:
                    _hang_up(response)
        except _BROKEN as error:
            raise _unanswered(error, url) from error

    async def _ask(
        self,
        method: str,
        url: URL,
        body: bytes | None,
        headers: Mapping[str, str] | None,
        limits: aiohttp.ClientTimeout,
    ) -> bytes:
        for is_second in (False, True):
            authorization = await self._authorize()
            if method != "GET" and not self._may_write():
                raise FencedError  # the connection asks again when it is about to be sent; this is cheaper
            try:
                async with self._requests.request(
                    method,
                    url,
                    data=body,
                    headers=headers,
                    timeout=limits,
                    allow_redirects=False,
                    server_hostname=self._server_name,
                ) as response:
                    answer = await response.read()
                    self._pass_on_warnings(response)
            except _BROKEN as error:
                raise _unanswered(error, url) from error
            if response.status < HTTPStatus.MULTIPLE_CHOICES:
                return answer
            refusal = await self._refusal(response, answer, authorization)
            if is_second or refusal.code != HTTPStatus.UNAUTHORIZED:
                break  # with new credentials a second attempt may do
        raise refusal

    async def _authorize(self) -> str:
        """Let requests carry credentials that are fresh; give what they carry."""
        if self.credentials.is_stale:
            await self.credentials.refresh()
        authorization = self.credentials.proofs.authorization
        if authorization != self._authorization:
            self._authorization = authorization
            for session in (self._requests, self._streams):
                session.headers["Authorization"] = authorization
        return authorization

    async def _refusal(self, response: aiohttp.ClientResponse, answer: bytes, authorization: str) -> ApiError:
        """Read what the server has against it; where that is our credentials, have them renewed."""
        refusal = ApiError.of(answer, response.status, response.headers.get("Retry-After", ""))
        if refusal.code == HTTPStatus.UNAUTHORIZED:
            try:
                await self.credentials.refresh(rejected=authorization)
            except CredentialsError as error:
                refusal.message = f"{refusal.message}; and there are no others: {error}"
        return refusal

    def _pass_on_warnings(self, response: aiohttp.ClientResponse) -> None:
        if HEADER in response.headers:
            for text in read_warnings(response.headers.getall(HEADER)):
                self._warn(text)

    def _session(self, limit: int) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=Connections(self.credentials, limit, self._may_write),
            headers=_HEADERS,
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=self.credentials.proxy,
            read_bufsize=READ_BUFFER,
            request_class=fenced(self._may_write),
        )

    def _url(self, path: str, query: Mapping[str, str] | None) -> URL:
        server = self.credentials.proofs.server
        if problem := _problem_with(server):  # it was another when we started, and has been read again
            raise UnansweredError(problem, may_be_done=False, is_passing=False)
        question = f"?{urlencode(query)}" if query else ""
        return URL(f"{server}{path}{question}", encoded=True)

    @property
    def _server_name(self) -> str | None:
        return self.credentials.proofs.server_name


@lru_cache(maxsize=16)
def _problem_with(server: str) -> str:
    """What is wrong with the address of an API server; empty where nothing is."""
    advice = "write it as https://HOST:PORT, in the kubeconfig or wherever it was named"
    try:
        address = URL(server)
    except ValueError as error:
        return f"{server!r} is not the address of an API server: {error}; {advice}"
    if address.scheme in ("http", "https") and address.host:
        return ""
    return f"{server!r} is not the address of an API server; {advice}"


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """End a stream now; taking leave politely would leave a connection behind that nobody waits for."""
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


def _unanswered(error: Exception, url: URL) -> UnansweredError:
    what = str(error) or "it gave no answer in time"
    if isinstance(error, _NOT_TRUSTED):
        advice = "check the cluster's certificate-authority and tls-server-name in the kubeconfig"
        return UnansweredError(
            f"{url.origin()} is not trusted: {what}; {advice}", may_be_done=False, is_passing=False
        )
    advice = "check that it runs and that the kubeconfig has its address"
    return UnansweredError(
        f"{url.origin()}: {what}; {advice}",
        may_be_done=not isinstance(error, _NOT_SENT),
        is_passing=not isinstance(error, aiohttp.InvalidURL),
    )
