"""Runs the controllers of the embedded cluster, a little at a time.

They are controllers as Maar's own are, in the same queue. Only what is around the queue is
different. The changes come from the store, not from watches. And writes are carried out at once,
each before its controller is asked for the next, in turns of a few milliseconds: requests are
served by the same thread, and must not wait. Between two writes what has changed meanwhile is
taken in, so that every key is decided about with all that is stored. A write that is refused ends
the look at its key, which is looked at again later and later.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from maar.core.controllers.work_queue import Controller, WorkQueue
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.batch_jobs import BatchJobs
from maar.embedded.controllers.budgets import Budgets
from maar.embedded.controllers.events import OldEvents
from maar.embedded.controllers.garbage import GarbageCollector
from maar.embedded.controllers.namespaces import Namespaces
from maar.embedded.controllers.view import EmbeddedController, ObjectChanged, View, moment
from maar.embedded.controllers.volumes import BoundVolumes
from maar.embedded.failures import ApiError
from maar.embedded.store import Change, Key

_LOG: Final = logging.getLogger(__name__)
_TURN_S: Final = 0.002  # how long requests may have to wait for the controllers
_GATHER_S: Final = 0.02  # what comes together is looked at together
_LONGEST_SLEEP_S: Final = 60.0  # clocks are set
_FIRST_RETRY_S: Final = 0.1
_LAST_RETRY_S: Final = 60.0


def all_controllers(authority: str = "") -> tuple[EmbeddedController, ...]:
    """One of each; `authority` is the certificate that pods should trust."""
    return (
        BatchJobs(), BoundVolumes(), Budgets(), OldEvents(), Namespaces(authority), GarbageCollector(),
    )  # fmt: skip


async def run_controllers(cluster: Cluster, authority: str = "") -> None:
    """Keep a cluster in order until cancelled."""
    await Runner(cluster, all_controllers(authority)).run()


class Runner:
    """Passes all objects and changes to controllers, and carries out what they want."""

    def __init__(self, cluster: Cluster, controllers: Sequence[EmbeddedController]) -> None:
        self._cluster, self._view = cluster, View(cluster)
        self._work = WorkQueue(self._view, [_CarriedOut(controller) for controller in controllers])
        self._changes: deque[Change] = deque()
        self._wake = asyncio.Event()
        self._has_ended = False
        self._pieces = self._all_pieces()
        cluster.store.listen(self._on_change)

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            while True:
                if (wait := self.turn()) == 0.0:
                    await asyncio.sleep(0)
                else:
                    await self._wait(wait)
        finally:
            self._has_ended = True
            self._changes.clear()

    def turn(self) -> float | None:
        """Work for a moment; give the seconds that may pass until the next turn, None for until a change."""
        end = time.monotonic() + _TURN_S
        while (wait := next(self._pieces)) == 0.0 and time.monotonic() < end:
            pass
        return wait

    def _on_change(self, change: Change) -> None:
        if not self._has_ended:
            self._changes.append(change)
            self._wake.set()

    async def _wait(self, seconds: float | None) -> None:
        """Wait for a change and what comes with it, or until a key is due."""
        self._wake.clear()
        with suppress(TimeoutError):
            longest = _LONGEST_SLEEP_S if seconds is None else min(seconds, _LONGEST_SLEEP_S)
            async with asyncio.timeout(longest):  # wait_for loses a cancellation that comes with a change
                await self._wake.wait()
            await asyncio.sleep(_GATHER_S)

    def _all_pieces(self) -> Iterator[float | None]:
        """All there ever is to do, piece by piece, and how long to wait after each."""
        for plural in self._cluster.served:
            for namespace, name, body in self._cluster.store.scan(plural):
                self._take_in(Change(0, Key(plural, namespace, name), "ADDED", body, None))
                yield 0.0
        while True:
            yield from self._all_taken_in()
            for _ in self._work.reconcile(moment(self._cluster.clock())):
                yield 0.0
                yield from self._all_taken_in()
            if self._work.has_keys:
                yield 0.0
            else:
                wake_at = self._work.wake_at
                now = moment(self._cluster.clock())
                yield None if wake_at is None else max((wake_at - now).total_seconds(), 0.001)

    def _all_taken_in(self) -> Iterator[float]:
        while self._changes:
            self._take_in(self._changes.popleft())
            yield 0.0

    def _take_in(self, change: Change) -> None:
        try:
            self._work.feed(self._view.changes(iter((change,))))
        except Exception:  # noqa: BLE001  one object that cannot be read harms no other
            _LOG.exception("%s cannot be read: the controllers leave it alone", change.key)


class _CarriedOut(Controller[View, ObjectChanged, Key, None]):
    """A controller whose writes are carried out key by key; an error harms one key only."""

    def __init__(self, controller: EmbeddedController) -> None:
        self._controller, self._name = controller, type(controller).__name__
        self._failures: dict[Key, int] = {}

    def keys(self, change: ObjectChanged, cluster: View) -> Iterator[Key]:
        """The keys that a change concerns."""
        try:
            yield from self._controller.keys(change, cluster)
        except Exception:  # noqa: BLE001  a bug in one controller harms no other
            _LOG.exception("%s cannot take in %s", self._name, change.key)

    def reconcile(
        self, cluster: View, keys: Collection[Key], now: datetime
    ) -> Iterator[tuple[Key, datetime | None]]:
        """Carry out what is wanted, and give up the turn after each write and each key."""
        for key in keys:
            try:
                for wanted_for, wanted in self._controller.reconcile(cluster, (key,), now):
                    if isinstance(wanted, datetime):
                        yield wanted_for, wanted
                    else:
                        wanted()
                        yield wanted_for, None
                self._failures.pop(key, None)
            except Exception as error:  # noqa: BLE001  a bug harms one key only
                failures = self._failures[key] = self._failures.get(key, 0) + 1
                again = min(_FIRST_RETRY_S * 2 ** (failures - 1), _LAST_RETRY_S)
                _LOG.warning(
                    "%s cannot reconcile %s, and tries again in %.1f s: %s",
                    self._name,
                    key,
                    again,
                    error,
                    exc_info=not isinstance(error, ApiError),  # a refusal explains itself
                )
                yield key, now + timedelta(seconds=again)
            yield key, None
