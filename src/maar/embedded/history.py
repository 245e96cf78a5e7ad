"""The latest changes, and the watchers that wait for more."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Final

from maar.embedded.failures import ApiError
from maar.embedded.store import Change, Key, Store

_REMEMBERED: Final = 10_000  # changes of one resource
_REMEMBERED_BYTES: Final = 128 << 20  # of all resources together
_BACKLOG: Final = 20_000  # changes that a slow watcher may be behind
_BACKLOG_BYTES: Final = 64 << 20


class Subscription:
    """The changes of one resource from a revision on, for one watcher."""

    def __init__(self, wanted: Callable[[Change], bool], since: int) -> None:
        self._wanted = wanted
        self._since = since
        self._waiting: deque[Change] = deque()
        self._bytes = 0
        self._arrived = asyncio.Event()
        self.closed = False

    def put(self, change: Change) -> None:
        """Queue a change for the watcher; a watcher that is too slow is ended."""
        if change.revision <= self._since or self.closed or not self._wanted(change):
            return
        self._waiting.append(change)
        self._bytes += _size(change)
        if len(self._waiting) > _BACKLOG or self._bytes > _BACKLOG_BYTES:
            self.close()
        self._arrived.set()

    def close(self) -> None:
        """End the watch after the queued changes."""
        self.closed = True
        self._arrived.set()

    async def next(self, timeout: float) -> list[Change]:  # noqa: ASYNC109  an ordinary outcome, no error
        """Wait for changes and take them all; none where the time is up or the watch has ended."""
        if not self._waiting and not self.closed:
            self._arrived.clear()
            with suppress(TimeoutError):  # not wait_for: it can swallow a cancellation
                async with asyncio.timeout(timeout):
                    await self._arrived.wait()
        taken = list(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return taken


class _Past:
    """The last changes of one resource."""

    def __init__(self, start: int) -> None:
        self.changes: deque[Change] = deque()
        self.bytes = 0
        self.known = start  # the revision from which on nothing is forgotten

    def add(self, change: Change) -> None:
        """Remember a change."""
        self.changes.append(change)
        self.bytes += _size(change)

    def forget(self) -> int:
        """Forget the oldest change; give what it took."""
        oldest = self.changes.popleft()
        self.known = oldest.revision
        self.bytes -= _size(oldest)
        return _size(oldest)


class History:
    """The last changes of every resource since the server started."""

    def __init__(self, store: Store) -> None:
        self._store, self._start = store, store.revision
        self._past: dict[str, _Past] = {}
        self._bytes = 0
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._is_closed = False
        store.listen(self._on_change)

    def undone(self, resource: str, revision: int) -> dict[Key, bytes | None]:
        """What objects that have changed since a revision were then, None where they were not there."""
        self._check_known(resource, revision)
        then: dict[Key, bytes | None] = {}
        for change in reversed(self._changes(resource)):
            if change.revision <= revision:
                break
            then[change.key] = change.before
        return then

    @contextmanager
    def watch(
        self, resource: str, since: int, wanted: Callable[[Change], bool] = lambda _: True
    ) -> Iterator[Subscription]:
        """Subscribe to what happened after a revision; 410 Gone where that is no longer known."""
        self._check_known(resource, since)
        subscription = Subscription(wanted, since)
        for change in self._changes(resource):
            subscription.put(change)
        subscriptions = self._subscriptions.setdefault(resource, set())
        subscriptions.add(subscription)
        if self._is_closed:
            subscription.close()
        try:
            yield subscription
        finally:
            subscriptions.discard(subscription)

    def _check_known(self, resource: str, revision: int) -> None:
        past = self._past.get(resource)
        oldest = self._start if past is None else past.known
        if revision < oldest:
            raise ApiError(HTTPStatus.GONE, "Expired", f"too old resource version: {revision} ({oldest})")
        if revision > self._store.revision:  # from before a backup was restored: only a new list helps
            now = self._store.revision
            raise ApiError(HTTPStatus.GONE, "Expired", f"too large resource version: {revision} ({now})")

    def close(self) -> None:
        """End every watch, those to come included."""
        self._is_closed = True
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.close()

    def _on_change(self, change: Change) -> None:
        resource = change.key.resource
        if (past := self._past.get(resource)) is None:
            past = self._past[resource] = _Past(self._start)
        past.add(change)
        self._bytes += _size(change)
        if len(past.changes) > _REMEMBERED:
            self._bytes -= past.forget()
        while self._bytes > _REMEMBERED_BYTES:
            self._bytes -= max(self._past.values(), key=lambda one: one.bytes).forget()
        for subscription in self._subscriptions.get(resource, ()):
            subscription.put(change)

    def _changes(self, resource: str) -> Sequence[Change]:
        past = self._past.get(resource)
        return () if past is None else past.changes


def _size(change: Change) -> int:
    return len(change.body) + len(change.before or b"")
