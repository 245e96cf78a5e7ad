"""Opening connections to a host that may have several addresses, some of them dead."""

import asyncio
import socket
from collections.abc import Collection
from contextlib import suppress
from typing import Final

import aiohappyeyeballs

_NEXT_AFTER_S: Final = 0.25  # another address is tried where one has not answered by then: RFC 8305
_KNOWN_FOR_S: Final = 10.0
_LEAVE_S: Final = 1.0
# A machine that is gone does not answer: probe after 20 s of silence, and give up 15 s later.
_KEEP_ALIVE: Final = (
    ("TCP_KEEPIDLE", 20),
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 3),
)


class Dialer:
    """Resolves a host once for concurrent callers, and connects to the first address that answers."""

    def __init__(self) -> None:
        self._finding = asyncio.Lock()
        self._found: list[aiohappyeyeballs.AddrInfoType] = []
        self._found_for, self._found_until = ("", 0), 0.0

    async def dial(self, host: str, port: int) -> socket.socket:
        """Open a connection."""
        loop = asyncio.get_running_loop()
        async with self._finding:
            if self._found_for != (host, port) or loop.time() > self._found_until:
                self._found = await look_up(host, port)
                self._found_for, self._found_until = (host, port), loop.time() + _KNOWN_FOR_S
        opened = await aiohappyeyeballs.start_connection(
            self._found, happy_eyeballs_delay=_NEXT_AFTER_S, interleave=1
        )
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        keep_alive(opened)
        return opened


async def end_all(sockets: Collection[socket.socket]) -> None:
    """Wait until sockets are closed that transports have not closed yet, and make them."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LEAVE_S):
            while left := [one for one in sockets if one.fileno() >= 0]:
                for one in left:
                    with suppress(OSError):
                        one.shutdown(socket.SHUT_RDWR)  # its transport reads the end, and closes
                await asyncio.sleep(0)


async def look_up(host: str, port: int) -> list[aiohappyeyeballs.AddrInfoType]:
    """Ask name servers for the addresses of a host."""
    return list(await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM))


def keep_alive(opened: socket.socket) -> None:
    """Turn on TCP keepalive, which detects a dead peer."""
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE:
        if hasattr(socket, name):  # other systems have fewer of them
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
