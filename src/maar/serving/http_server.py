"""An HTTP server that is a part of a process and not the whole of it: uvicorn, set up in one place."""

import asyncio
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import uvicorn

from maar.serving.http import Application

_KEEP_ALIVE_S: Final = 75


class HttpServer(uvicorn.Server):
    """Serves an application; it leaves signals to the process it is a part of, and logs no requests."""

    def __init__(
        self,
        application: Application,
        *,
        connections: int,
        finish_within_s: int,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                ssl_context_factory=None if tls is None else lambda _config, _default: tls,
                lifespan="off",
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=False,
                date_header=False,
                limit_concurrency=connections,
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=finish_within_s,
            )
        )
        self._finish_within_s = finish_within_s

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
