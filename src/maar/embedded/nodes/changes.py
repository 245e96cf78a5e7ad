"""The objects that have changed since the last look, each once."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from maar.embedded.store import Change, Key, Store


class Changes:
    """Objects to look at in the store, in the order in which they first changed."""

    def __init__(self, store: Store, wanted: Callable[[Change], bool]) -> None:
        self._wanted = wanted
        self._unseen: OrderedDict[Key, None] = OrderedDict()
        self._arrived = asyncio.Event()
        self._own = set[int]()
        store.listen(self._on_change)

    def ignore(self, revision: int) -> None:
        """Ignore a change that the listener made itself, in the transaction under way."""
        self._own.add(revision)

    def add(self, key: Key) -> None:
        """Have an object looked at though it has not changed."""
        self._unseen[key] = None
        self._arrived.set()

    def forget(self) -> None:
        """Begin anew: the transaction under way has failed, and its revisions will be those of others."""
        self._unseen.clear()
        self._own.clear()

    def take(self) -> Key | None:
        """The next object to look at."""
        return self._unseen.popitem(last=False)[0] if self._unseen else None

    async def wait(self, seconds: float) -> None:
        """Until there is something to look at, or the time is up."""
        if self._unseen:
            return
        self._arrived.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):  # `wait_for` forgets, in Python 3.11, that it was cancelled
                await self._arrived.wait()

    def _on_change(self, change: Change) -> None:
        if change.revision in self._own:
            self._own.discard(change.revision)
        elif self._wanted(change):
            self.add(change.key)
