"""`maar console`: everything put together."""

import asyncio
import hashlib
import signal
import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from maar.apps.console.answers.routes import ROUTES, run_background
from maar.apps.console.guard import Guard
from maar.apps.console.pages import Entrance
from maar.apps.console.place import Place, take_place
from maar.apps.console.server import HEALTH, ConsoleServer
from maar.apps.console.sessions import Sessions
from maar.apps.console.settings import ConsoleSettings
from maar.apps.console.viewers import OWN, Viewers
from maar.kube.credentials import Credentials, load
from maar.serving.http_server import HttpServer, server_tls
from maar.serving.visits import Bounds

_BOUNDS: Final = Bounds(
    connections=1_000, of_one_peer=500, probes=frozenset((HEALTH,))
)  # a proxy is one peer
_FINISH_WITHIN_S: Final = 1

Announce = Callable[[str], None]  # hears the address to open once pages are served


class ConsoleError(Exception):
    """The console cannot start as it is told to."""


async def run(settings: ConsoleSettings, announce: Announce) -> None:
    """Serve until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    tls, place = tls_of(settings), take_place(settings)
    with closing(place.socket):
        own = await load(settings.kubeconfig, settings.context)
        settings = _with_history(settings, own.proofs.server)
        serving = asyncio.create_task(serve(settings, own, place, tls))
        stopped = asyncio.create_task(stop.wait())
        announce(place.address)
        await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        serving.cancel()
        await asyncio.wait((serving,))
        if not serving.cancelled():
            serving.result()


async def serve(
    settings: ConsoleSettings, own: Credentials, place: Place, tls: ssl.SSLContext | None = None
) -> None:
    """Serve at a place until cancelled, with credentials of the console's own."""
    viewers = Viewers(own, settings)
    sessions = Sessions(f"maar-console-{place.port}", is_secure=settings.is_secure)
    guard = Guard((settings.host, urlsplit(settings.public_url).hostname or ""))
    application = ConsoleServer(viewers, Entrance(viewers, sessions, place.key), guard, ROUTES)
    server = HttpServer(application, bounds=_BOUNDS, finish_within_s=_FINISH_WITHIN_S, tls=tls)
    async with AsyncExitStack() as used, asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(server.serve(sockets=[place.socket]))
        background = [tasks.create_task(viewers.run()), tasks.create_task(run_background(viewers))]
        if place.key and settings.is_warm:
            await used.enter_async_context(viewers.of(OWN))
        try:
            await asyncio.shield(serving)
        finally:
            viewers.close()
            await server.finish(serving)
            for task in background:
                task.cancel()


def _with_history(settings: ConsoleSettings, server: str) -> ConsoleSettings:
    """Keep the history of each cluster in a file of its own."""
    if settings.history_folder is None or settings.history is not None:
        return settings
    name = f"{hashlib.sha256(server.encode()).hexdigest()[:16]}.sqlite"
    return replace(settings, history=settings.history_folder / name)


def tls_of(settings: ConsoleSettings) -> ssl.SSLContext | None:
    """TLS with the certificate of the settings; None where they name none."""
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
