"""The server on a socket: TLS, a bound on connections, and a bounded shutdown."""

import asyncio
import socket
from typing import Final

from maar.embedded.access import Certificate
from maar.embedded.history import History
from maar.embedded.server import OPEN_TO_ALL, Server
from maar.serving.http_server import HttpServer, server_tls
from maar.serving.visits import Bounds

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
