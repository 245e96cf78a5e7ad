"""The server on a socket: TLS, a bound on connections, and an end that leaves nobody hanging."""

import asyncio
import errno
import socket
from typing import Final

import uvicorn

from maar.embedded.access import Certificate
from maar.embedded.history import History
from maar.embedded.port_holder import holder_of
from maar.embedded.quiet_server import QuietServer
from maar.embedded.server import Server

_CONNECTIONS: Final = 2_000
_FINISH_WITHIN: Final = 2  # seconds that running requests get at the end


class PortTakenError(RuntimeError):
    """Somebody else listens where we want to."""


def listen(host: str, port: int) -> socket.socket:
    """Take a port; 0 takes a free one."""
    taken = None
    try:
        taken = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
        taken.listen(1024)
    except OSError as error:
        if taken is not None:
            taken.close()
        what = f"cannot listen on {host}:{port} ({error.strerror})"
        raise PortTakenError(f"{what}; {_what_to_do(port, error)}") from None
    return taken


def _what_to_do(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        holder = holder_of(port) or "what listens there"
        return f"stop {holder}, or name another port with --port (0 takes a free one)"
    if error.errno == errno.EACCES:
        return "name a port above 1023 with --port (0 takes a free one)"
    return "name an address of this machine with --host"


async def serve(
    server: Server, history: History, place: socket.socket, tls: Certificate, stop: asyncio.Event
) -> None:
    """Serve until told to stop; watches end first, so that their clients come back to the next server."""
    running = QuietServer(
        uvicorn.Config(
            server,
            ssl_certfile=str(tls.certificate),
            ssl_keyfile=str(tls.key),
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            date_header=False,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=_FINISH_WITHIN,
        )
    )

    serving, told = asyncio.create_task(running.serve(sockets=[place])), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((serving, told), return_when=asyncio.FIRST_COMPLETED)
        history.close()
        running.should_exit = True
        # A client that does not answer our goodbye is not waited for.
        await asyncio.wait((serving,), timeout=_FINISH_WITHIN + 1)
    finally:
        for task in (serving, told):
            task.cancel()
        await asyncio.wait((serving, told))
    if not serving.cancelled():
        serving.result()
