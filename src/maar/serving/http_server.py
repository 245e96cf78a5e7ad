"""An HTTP server that is a part of a process and not the whole of it: uvicorn, set up in one place.

It accepts connections itself, as far as there is room, and opens each with TLS or without.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Final

import uvicorn

from maar.serving.http import Application
from maar.serving.request_heads import BoundedProtocol
from maar.serving.visits import HEAD_WITHIN_S, KEEP_ALIVE_S, Bounds, Visit, Visits

_LOG: Final = logging.getLogger(__name__)
_AT_A_TIME: Final = 100  # connections taken before others have a turn
_AGAIN_AFTER_S: Final = 0.5  # where the process has no file left for a connection

Protocols = Callable[[Visit], asyncio.Protocol]


class Acceptor:
    """One listening socket; to its server it is what asyncio's own `Server` would be.

    Connections are counted before the first byte of theirs is read, so that those without TLS count too.
    """

    def __init__(
        self, place: socket.socket, visits: Visits, protocols: Protocols, tls: ssl.SSLContext | None
    ) -> None:
        place.setblocking(False)
        self._place, self._visits, self._protocols, self._tls = place, visits, protocols, tls
        self._loop = asyncio.get_running_loop()
        self._opening = set[asyncio.Task[None]]()
        self._again: asyncio.TimerHandle | None = None
        self._listen()

    def close(self) -> None:
        """Take no more, and give up those that are not open yet."""
        self._loop.remove_reader(self._place)
        if self._again is not None:
            self._again.cancel()
        for task in self._opening:
            task.cancel()

    async def wait_closed(self) -> None:
        """Wait until those that were not open have gone."""
        if self._opening:
            await asyncio.wait(self._opening)

    def _listen(self) -> None:
        self._loop.add_reader(self._place, self._take)

    def _take(self) -> None:
        for _ in range(_AT_A_TIME):
            try:
                line, address = self._place.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                _LOG.warning("no connection can be taken for the moment: %s", error)
                self._loop.remove_reader(self._place)
                self._again = self._loop.call_later(_AGAIN_AFTER_S, self._listen)
                return
            visit = self._visits.admit(line, str(address[0]))
            if visit is None:
                line.close()
                continue
            task = self._loop.create_task(self._open(visit))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _open(self, visit: Visit) -> None:
        try:
            visit.line.setblocking(False)
            visit.line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(
                lambda: self._protocols(visit),
                visit.line,
                ssl=self._tls,
                ssl_handshake_timeout=HEAD_WITHIN_S if self._tls else None,
            )
        except BaseException as error:
            self._visits.leave(visit)
            with suppress(OSError):
                visit.line.close()
            if not isinstance(error, OSError):  # the client's part in it; ssl.SSLError is one too
                raise


class HttpServer(uvicorn.Server):
    """Serves an application; it leaves signals to the process it is a part of, and logs no requests."""

    def __init__(
        self,
        application: Application,
        *,
        bounds: Bounds,
        finish_within_s: int,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                http=BoundedProtocol,
                lifespan="off",
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=False,
                date_header=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=finish_within_s,
            )
        )
        self.servers = []
        self._visits, self._tls, self._finish_within_s = Visits(bounds), tls, finish_within_s

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections."""
        for place in sockets or ():
            acceptor: Any = Acceptor(place, self._visits, self._protocol, self._tls)
            self.servers.append(acceptor)
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        """End connections that have had their time, once a second, and say whether to stop."""
        if not counter % 10:
            self._visits.cut_late()
        return await super().on_tick(counter)

    def _protocol(self, visit: Visit) -> BoundedProtocol:
        return BoundedProtocol(visit, self._visits, self.config, self.server_state)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield

    async def finish(self, serving: "asyncio.Task[None]") -> None:
        """Take no more requests, let those that run finish, and end the task that serves.

        It does not wait for a client that does not close its connection.
        """
        self.should_exit = True
        await asyncio.wait([serving], timeout=self._finish_within_s + 1)
        serving.cancel()


def server_tls() -> ssl.SSLContext:
    """TLS of a server, without a certificate yet."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.minimum_version = ssl.TLSVersion.TLSv1_2
    return tls
