"""Takes the connections of a listening socket, as far as there is room; opens each with TLS or without."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from maar.serving.visits import HEAD_WITHIN_S, Visit, Visits

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
