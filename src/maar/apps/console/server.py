"""The console over HTTP: every request is checked, answered or refused in a sentence."""

import asyncio
import gzip
import logging
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from maar.apps.console.assets_folder import PREFIX
from maar.apps.console.guard import Guard
from maar.apps.console.pages import Entrance
from maar.apps.console.replies import NO_STORE, Handler, Header, RefusedError, Reply, refusal, unknown
from maar.apps.console.row_answers import events, hang_up, last_seen, me, rows, topics_of
from maar.apps.console.viewer import NotAllowedError, Viewer
from maar.apps.console.viewers import Viewers
from maar.kube.errors import ApiError, UnansweredError
from maar.serving.http import PLAIN_TEXT, BodyError, HttpRequest, Message, Receive, Send, answer

_LOG: Final = logging.getLogger(__name__)

SEND_WITHIN_S: Final = 30.0  # a client that reads nothing for so long is dropped
_WORTH_PACKING: Final = 2_000  # bytes
HEALTH: Final = "/healthz"
_EVENTS: Final = ("GET", "/api/events")

_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_SECURITY: Final[tuple[Header, ...]] = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_REFERRER: Final = b"referrer-policy"


class ConsoleServer:
    """The ASGI application."""

    def __init__(
        self, viewers: Viewers, entrance: Entrance, guard: Guard, routes: Mapping[tuple[str, str], Handler]
    ) -> None:
        self._viewers, self._entrance, self._guard = viewers, entrance, guard
        self._routes = {("GET", "/api/me"): self._me, ("GET", "/api/rows"): rows, **routes}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise NotImplementedError(f"the console speaks HTTP only, not {scope['type']}")
        request = HttpRequest.of(scope, receive)
        try:
            if request.path == HEALTH:
                reply = Reply(b"ok", headers=(PLAIN_TEXT,))
            else:
                self._guard.check(request)
                if (request.method, request.path) == _EVENTS:
                    await self._events(request, send)
                    return
                reply = await self._reply(request)
        except RefusedError as error:
            reply = refusal(request, error.status, error.sentences)
        except BodyError as error:
            reply = refusal(request, error.status, [f"the body of the request did not come whole: {error}"])
        except Exception:  # noqa: BLE001  # a page gets an answer whatever is wrong here
            _LOG.exception("%s %s failed", request.method, request.path)
            reply = refusal(
                request, HTTPStatus.INTERNAL_SERVER_ERROR, ["the console failed to answer; its log says more"]
            )
        await _send(send, request, reply)

    async def _reply(self, request: HttpRequest) -> Reply:
        at = (request.method, request.path)
        if request.path.startswith(PREFIX):
            return self._entrance.file(request)
        if at in self._entrance.pages:
            return await self._entrance.pages[at](request)
        if at not in self._routes:
            raise unknown(request, [*self._entrance.pages, *self._routes, _EVENTS])
        session = self._entrance.session(request)
        async with self._viewers.of(session.token, session.namespaces) as viewer:
            await self._entrance.check(viewer, session)
            try:
                return await self._routes[at](viewer, request)
            except NotAllowedError as error:
                raise RefusedError(HTTPStatus.FORBIDDEN, str(error)) from None
            except UnansweredError as error:
                raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None
            except ApiError as error:
                raise RefusedError(error.code, error.message) from None

    async def _me(self, viewer: Viewer, request: HttpRequest) -> Reply:
        return await me(viewer, self._entrance.session(request).ends)

    async def _events(self, request: HttpRequest, send: Send) -> None:
        session, topics = self._entrance.session(request), topics_of(request)
        async with self._viewers.of(session.token, session.namespaces) as viewer:
            self._entrance.end_if_rejected(viewer, session)  # one that waits for its rights hears of them
            kind = (b"content-type", b"text/event-stream")
            headers = _with_security((kind, NO_STORE, (b"x-accel-buffering", b"no")))
            await send({"type": "http.response.start", "status": HTTPStatus.OK, "headers": headers})
            gone = asyncio.create_task(hang_up(request.receive))
            gone.add_done_callback(lambda _: viewer.stream.wake())
            session.on_end.append(viewer.stream.wake)

            def goes_on() -> bool:
                return not gone.done() and self._entrance.is_open(session)

            try:
                async for part in events(viewer, topics, last_seen(request), goes_on):
                    async with asyncio.timeout(SEND_WITHIN_S):
                        await send({"type": "http.response.body", "body": part, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
            except TimeoutError:
                _LOG.info("a page that reads nothing is dropped")  # uvicorn closes what has no end
            finally:
                session.on_end.remove(viewer.stream.wake)
                gone.cancel()


async def _send(send: Send, request: HttpRequest, reply: Reply) -> None:
    headers, body = _with_security(reply.headers), reply.encoded()
    if request.path.startswith("/api/"):
        headers.append(NO_STORE)
    is_packed = any(name == b"content-encoding" for name, _ in reply.headers)
    if len(body) > _WORTH_PACKING and not is_packed and "gzip" in request.header(b"accept-encoding"):
        body = await asyncio.to_thread(gzip.compress, body, 1)
        headers += [(b"content-encoding", b"gzip"), (b"vary", b"accept-encoding")]
    with suppress(TimeoutError):
        async with asyncio.timeout(SEND_WITHIN_S):
            await answer(send, body, reply.status, headers=headers)


def _with_security(headers: tuple[Header, ...]) -> list[Header]:
    named = any(name == _REFERRER for name, _ in headers)
    return [*headers, *_SECURITY, *([] if named else [(_REFERRER, b"no-referrer")])]
