"""uvicorn's protocol with bounds on what anybody can have it keep: heads, trailers, requests that wait."""

import logging
from collections import deque
from http import HTTPStatus
from typing import Final, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle
from uvicorn.server import ServerState

from maar.serving.client_certificates import CertifiedProtocol
from maar.serving.http import PLAIN_TEXT, Application, Message, Receive, Send, answer
from maar.serving.visits import Visit, Visits

# Anybody could fill logs with what uvicorn warns of: requests that cannot be read. They are answered.
_LOG: Final = logging.getLogger("uvicorn.error.requests")
_LOG.setLevel(logging.ERROR)

LARGEST_HEAD: Final = 64 << 10
_OF_A_HEADER: Final = (
    32  # bytes that each counts for besides its own, as in HTTP/2: small ones cost memory too
)
_MOST_WAITING: Final = 16  # requests that a client sends before the first is answered
_LINGERS_S: Final = 2.0  # until a client that still sends has read why it is refused
_AGAIN: Final = (b"retry-after", b"1")
_BUSY: Final = b"more requests are under way than this server takes at a time; try again in a second\n"
_TOO_LARGE: Final = f"the head of the request has more than {LARGEST_HEAD:,} bytes; send fewer headers\n"
_TOO_MANY: Final = f"more than {_MOST_WAITING} requests wait for their turn on this connection\n"


class _RefusedError(Exception):
    """Ends the reading of a connection: the status, and a sentence."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class BoundedProtocol(CertifiedProtocol):
    """One connection. The parser keeps a header until it is whole, and says nothing of it before.

    So what it was given without saying anything counts as a part of the head, as what it has said does.
    """

    def __init__(self, visit: Visit, visits: Visits, config: Config, state: ServerState) -> None:
        super().__init__(config=config, server_state=state, app_state={})
        self.logger = _LOG
        self._visit, self._visits = visit, visits
        self._cycles = deque[RequestResponseCycle]()  # requests that are not answered, in their order
        self._serve, self.app = cast(Application, self.app), self._bounded
        self._said = self._unsaid = 0  # bytes of the head, or of what follows a body
        self._refused: _RefusedError | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up the place of this connection."""
        self._visits.leave(self._visit)
        self._hang_up()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what has come, unless something was refused."""
        if self._refused is not None:
            return
        self._unsaid += len(data)
        super().data_received(data)
        if self._unsaid > LARGEST_HEAD and self._refused is None:
            self._refused = _too_large()
            self.send_400_response("")

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, or must not be; what still comes is thrown away."""
        refused = self._refused = self._refused or _RefusedError(HTTPStatus.BAD_REQUEST, f"{msg}\n")
        if self._visit.requests:
            self._hang_up()
            self.transport.abort()  # an answer is on its way, and another cannot stand in it
            return
        body = refused.sentence.encode()
        length = (b"content-length", str(len(body)).encode())
        lines = [b"%b: %b\r\n" % header for header in (PLAIN_TEXT, length, (b"connection", b"close"))]
        self.transport.write(b"".join([STATUS_LINE[refused.status], *lines, b"\r\n", body]))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_LINGERS_S, self.transport.abort)

    def on_message_begin(self) -> None:
        """Begin a request, unless too many wait."""
        if len(self.pipeline) >= _MOST_WAITING:
            self._refuse(_RefusedError(HTTPStatus.TOO_MANY_REQUESTS, _TOO_MANY))
        self._said = self._unsaid = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the path."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or one that follows a body."""
        self._count(len(name) + len(value) + _OF_A_HEADER)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Serve the request, whose body may still be to come."""
        super().on_headers_complete()
        self._cycles.append(self.cycle)
        self._visits.know(self._visit)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._unsaid = 0
        super().on_body(body)
        if not self.cycle.response_complete:
            self._visits.hold(self._visit, len(body))

    def on_message_complete(self) -> None:
        """End the reading of a request; it is under way from here, unless it has been answered."""
        self._unsaid = 0
        super().on_message_complete()
        if not self.cycle.response_complete:
            self._visits.begin(self._visit)

    def on_response_complete(self) -> None:
        """Be without a request again, or serve the next."""
        self._cycles.popleft()
        self._visits.end(self._visit)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait for the client to read what has been sent; it may be made to give way meanwhile."""
        super().pause_writing()
        self._visits.stall(self._visit, is_stalled=True)

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        super().resume_writing()
        self._visits.stall(self._visit, is_stalled=False)

    def _hang_up(self) -> None:
        """Have all requests know that their client has gone; uvicorn tells only the last one."""
        for cycle in self._cycles:
            cycle.disconnected = True
            cycle.message_event.set()

    def _count(self, size: int) -> None:
        self._said += size
        self._unsaid = 0
        if self._said > LARGEST_HEAD:
            self._refuse(_too_large())

    def _refuse(self, refused: _RefusedError) -> None:
        self._refused = refused
        raise refused  # the parser ends with it, and `send_400_response` is called

    async def _bounded(self, scope: Message, receive: Receive, send: Send) -> None:
        if self._visits.is_full(self._visit, scope["path"]):
            await answer(send, _BUSY, HTTPStatus.SERVICE_UNAVAILABLE, headers=[PLAIN_TEXT, _AGAIN])
        else:
            await self._serve(scope, receive, send)


def _too_large() -> _RefusedError:
    return _RefusedError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_LARGE)
