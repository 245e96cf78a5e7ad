"""An HTTP server that is a part of a process and not the whole of it: uvicorn, set up in one place."""

import asyncio
import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

from maar.serving.acceptor import Acceptor
from maar.serving.http import Application
from maar.serving.request_heads import BoundedProtocol
from maar.serving.visits import KEEP_ALIVE_S, Bounds, Visit, Visits


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
