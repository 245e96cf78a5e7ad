"""The embedded API server: Kubernetes' REST protocol over ASGI, on a socket with TLS."""

import asyncio
import hmac
import logging
import socket
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Final, cast

from maar.embedded import documents
from maar.embedded.access import Certificate
from maar.embedded.calls import Caller
from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError, Json
from maar.embedded.history import History
from maar.embedded.http import ApiRequest
from maar.embedded.reading import Reader
from maar.embedded.routes import Routes, Target
from maar.embedded.storage_problems import unreadable
from maar.embedded.writing import Writer, not_allowed
from maar.serving.http import PLAIN_TEXT, Message, Receive, Send, answer, stream
from maar.serving.http_server import HttpServer, server_tls
from maar.serving.visits import Bounds

LogReader = Callable[[str, str, Mapping[str, str]], Awaitable[AsyncIterator[bytes]]]


_LOG: Final = logging.getLogger(__name__)
OPEN_TO_ALL: Final = frozenset(("/readyz", "/livez", "/healthz", "/version"))
_BUG: Final = ApiError(
    HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", "Internal error occurred: the log of maar says more"
)


class Server:
    """Answers HTTP requests for a cluster; callers are known by their tokens."""

    def __init__(self, cluster: Cluster, tokens: Mapping[str, Caller], logs: LogReader) -> None:
        if not all(tokens):
            raise ValueError("an empty token would let everybody in")
        self._tokens = {token.encode(): caller for token, caller in tokens.items()}
        self._routes = Routes(cluster.served.values())
        self._reader = Reader(cluster)
        self._writer = Writer(cluster, self._reader)
        self._logs, self._store = logs, cluster.store
        self.is_ready = asyncio.Event()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI asks for it."""
        if scope["type"] != "http":
            return
        request = ApiRequest.of(scope, receive)
        try:
            if not await self._open(request, send):
                request.caller = self._who(request)
                await self._serve(request, send)
        except ApiError as error:
            wait = error.details.get("retryAfterSeconds")
            headers = [(b"retry-after", str(wait).encode())] if wait else []
            await answer(send, error.status(), error.code, request.warnings, headers)
        except (OSError, sqlite3.Error) as error:
            refusal = unreadable(error)
            _LOG.error("%s %s: %s", request.method, request.path, refusal.message)
            await answer(send, refusal.status(), refusal.code)
        except Exception:  # noqa: BLE001  a bug harms one request, not the server
            _LOG.exception("%s %s failed", request.method, request.path)
            await answer(send, _BUG.status(), _BUG.code)

    def _who(self, request: ApiRequest) -> Caller:
        scheme, _, rest = request.headers.get(b"authorization", b"").partition(b" ")
        token = rest.strip()
        # All are compared: how long that takes must not say which one was nearly right.
        matching = [caller for secret, caller in self._tokens.items() if hmac.compare_digest(secret, token)]
        if scheme.lower() == b"bearer" and token and matching:
            return matching[0]
        raise ApiError(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")

    async def _open(self, request: ApiRequest, send: Send) -> bool:
        """Answer what needs no token."""
        if request.method != "GET" or request.path not in OPEN_TO_ALL:
            return False
        if request.path == "/version":
            await answer(send, documents.VERSION)
        else:
            problem = self._not_ready() if request.path == "/readyz" else ""
            status = HTTPStatus.SERVICE_UNAVAILABLE if problem else HTTPStatus.OK
            await answer(send, (problem or "ok").encode(), status, (), [PLAIN_TEXT])
        return True

    def _not_ready(self) -> str:
        """Why clients should not come now, or nothing."""
        if problem := self._store.problem():
            return f"not ready: {problem}"
        return "" if self.is_ready.is_set() else "starting"

    async def _serve(self, request: ApiRequest, send: Send) -> None:
        target = self._routes.find(request.path)
        if target is None:
            found = documents.find(request)
            if found is None or request.method != "GET":
                raise ApiError(
                    HTTPStatus.NOT_FOUND, "NotFound", "the server could not find the requested resource"
                )
            await answer(send, found.body, HTTPStatus.OK, (), [(b"content-type", found.content_type)])
            return
        if request.method == "GET":
            await self._read(target, request, send)
            return
        act = {
            "POST": self._writer.create,
            "PUT": self._writer.replace,
            "PATCH": self._writer.patch,
            "DELETE": self._writer.delete,
        }.get(request.method)
        if act is None or not _allows(target, request.method):
            raise not_allowed()
        status, value = await act(target, request)
        await answer(send, value, status, request.warnings)

    async def _read(self, target: Target, request: ApiRequest, send: Send) -> None:
        if "get" not in target.served.resource.verbs:
            raise not_allowed()
        if target.subresource == "log":
            await stream(send, await self._logs(target.namespace, target.name, request.query), b"text/plain")
        elif request.flag("watch"):
            await stream(send, self._reader.watch(target, request))
        elif target.name:
            await answer(send, self._reader.get(target, request))
        else:
            await answer(send, self._reader.list(target, request))


def _allows(target: Target, method: str) -> bool:
    verbs = target.served.resource.verbs
    if target.subresource:
        part = cast(Json, {"binding": "POST", "eviction": "POST", "log": "", "finalize": "PUT"})
        return method in (
            part.get(target.subresource, "PUT"),
            "PATCH" if target.subresource == "status" else "",
        )
    named = {"POST": "create", "PUT": "update", "PATCH": "patch"}
    if method == "DELETE":
        return ("delete" if target.name else "deletecollection") in verbs
    return bool(target.name) is (method != "POST") and named[method] in verbs


_CONNECTIONS: Final = 2_000
_BOUNDS: Final = Bounds(_CONNECTIONS, of_one_peer=_CONNECTIONS, probes=OPEN_TO_ALL)  # most have one address
_FINISH_WITHIN: Final = 2  # seconds that running requests get at the end


async def serve(
    server: Server, history: History, place: socket.socket, tls: Certificate, stop: asyncio.Event
) -> None:
    """Serve until stopped; watches end first, so that their clients reconnect to the next server."""
    secured = server_tls()
    secured.load_cert_chain(tls.certificate, tls.key)
    running = HttpServer(server, bounds=_BOUNDS, finish_within_s=_FINISH_WITHIN, tls=secured)
    serving, stopping = asyncio.create_task(running.serve(sockets=[place])), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        history.close()
        await running.finish(serving)
    finally:
        for task in (serving, stopping):
            task.cancel()
        await asyncio.wait((serving, stopping))
    if not serving.cancelled():
        serving.result()
