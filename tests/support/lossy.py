"""A connection to an API server that loses answers on request, for programs in processes of their own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from support.faults import Lose, Proxy, proxy
from support.until import TIMEOUT_S


class Lossy:
    """A proxy in a thread: requests go through, but for those whose answers are to be lost."""

    def __init__(self, kubeconfig: Path) -> None:
        self._direct = kubeconfig
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._proxy: Proxy | None = None
        self.kubeconfig = kubeconfig

    def lose(self, method: str, part: str) -> None:
        """Let the next such request be carried out and never be answered."""
        assert self._proxy is not None
        self._loop.call_soon_threadsafe(partial(self._proxy.plan, Lose(), method=method, part=part))

    def start(self) -> None:
        """Let requests through."""
        self._thread.start()
        assert self._ready.wait(TIMEOUT_S), "the proxy did not start"

    def stop(self) -> None:
        """Let nothing through any more."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(TIMEOUT_S)

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with proxy(self._direct, self._direct.parent) as (self._proxy, self.kubeconfig):
            self._ready.set()
            await self._stop.wait()


@contextmanager
def lossy(kubeconfig: Path) -> Iterator[Lossy]:
    """A connection like that for as long as a block lasts."""
    connection = Lossy(kubeconfig)
    connection.start()
    try:
        yield connection
    finally:
        connection.stop()
