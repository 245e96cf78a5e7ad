"""What a Service does on a cluster: connections to one address go to whichever server behind it answers."""

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

LOOPBACK: Final = "127.0.0.1"


class Balancer:
    """Takes connections at a port in a thread of its own, and passes them on to servers in turn."""

    def __init__(self, port: int, servers: Sequence[int]) -> None:
        self._port, self._servers = port, list(servers)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.taken: Counter[int] = Counter()  # connections by the port of the server that took them

    def __enter__(self) -> Self:
        self._thread.start()
        opening = asyncio.start_server(self._pass_on, LOOPBACK, self._port)
        self._server = asyncio.run_coroutine_threadsafe(opening, self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for port in list(self._servers):
            self._servers.append(self._servers.pop(0))
            try:
                there = await asyncio.open_connection(LOOPBACK, port)
            except OSError:
                continue
            self.taken[port] += 1
            await asyncio.wait(
                [asyncio.create_task(_copy(reader, there[1])), asyncio.create_task(_copy(there[0], writer))],
                return_when=asyncio.FIRST_COMPLETED,
            )
            there[1].transport.abort()
            break
        writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # either side has hung up
