"""`maar console`: everything put together."""

import asyncio
import signal
import socket
import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from typing import Final
from urllib.parse import urlsplit

from maar.apps.console.answers.routes import ROUTES, run_background
from maar.apps.console.guard import Guard
from maar.apps.console.pages import Entrance
from maar.apps.console.server import ConsoleServer
from maar.apps.console.sessions import Sessions, new_key
from maar.apps.console.settings import ConsoleSettings
from maar.apps.console.viewers import OWN, Viewers
from maar.kube.credentials import Credentials, load
from maar.serving.http_server import HttpServer, server_tls
from maar.serving.listening import listen

_CONNECTIONS: Final = 500
_FINISH_WITHIN_S: Final = 1

Announce = Callable[[str], None]  # hears the address once pages are served


class ConsoleError(Exception):
    """The console cannot start as it is told to."""


async def run(settings: ConsoleSettings, announce: Announce) -> None:
    """Serve until SIGINT or SIGTERM; `announce` hears the address to open."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    tls = _tls(settings)
    with closing(listen(settings.host, settings.port)) as place:
        own = await load(settings.kubeconfig, settings.context)
        serving = asyncio.create_task(serve(settings, own, place, announce, tls))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
        serving.cancel()
        stopped.cancel()
        await asyncio.wait((serving,))
        if not serving.cancelled():
            serving.result()


async def serve(
    settings: ConsoleSettings,
    own: Credentials,
    place: socket.socket,
    announce: Announce,
    tls: ssl.SSLContext | None = None,
) -> None:
    """Serve on a socket until cancelled."""
    port = place.getsockname()[1]
    key = new_key() if settings.login != "token" else ""
    viewers = Viewers(own, settings)
    sessions = Sessions(f"maar-console-{port}", is_secure=settings.is_secure)
    guard = Guard((settings.host, urlsplit(settings.public_url).hostname or ""))
    application = ConsoleServer(viewers, Entrance(viewers, sessions, key), guard, ROUTES)
    server = HttpServer(application, connections=_CONNECTIONS, finish_within_s=_FINISH_WITHIN_S, tls=tls)
    async with AsyncExitStack() as used, asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(server.serve(sockets=[place]))
        background = [tasks.create_task(viewers.run()), tasks.create_task(run_background(viewers))]
        if key and settings.is_warm:
            await used.enter_async_context(viewers.of(OWN))
        announce(_address(settings, port, key))
        try:
            await asyncio.shield(serving)
        finally:
            for task in background:
                task.cancel()
            await server.finish(serving)


def _address(settings: ConsoleSettings, port: int, key: str) -> str:
    """What to open in a browser."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)  # noqa: S104  # any address
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    scheme = "http" if settings.certificate is None else "https"
    base = settings.public_url.rstrip("/") or f"{scheme}://{host}:{port}"
    return f"{base}/open?key={key}" if key else f"{base}/"


def _tls(settings: ConsoleSettings) -> ssl.SSLContext | None:
    if settings.certificate is None:
        return None
    tls = server_tls()
    try:
        tls.load_cert_chain(settings.certificate, settings.certificate_key)
    except (OSError, ValueError) as error:
        raise ConsoleError(
            f"--tls-certificate {settings.certificate}: it cannot be used with its key ({error}); "
            "give both in PEM, with --tls-key"
        ) from None
    return tls
