"""The rounds of the keepers: who looks at what and when, a little at a time."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from typing import Final, NamedTuple

import msgspec

from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError
from maar.embedded.keepers.keeper import Keeper, Seen, Visit, meta_of
from maar.embedded.store import Change, Key

_LOG: Final = logging.getLogger(__name__)
_TURN_S: Final = 0.002  # how long requests may have to wait for the keepers
_FIRST_RETRY_S: Final = 0.1
_LAST_RETRY_S: Final = 60.0


class _Errand(NamedTuple):
    keeper: Keeper
    key: Key


class Rounds:
    """Tells keepers about all objects and all changes, and lets them look; errors harm one errand only."""

    def __init__(self, cluster: Cluster, keepers: Sequence[Keeper]) -> None:
        self._cluster, self._keepers = cluster, keepers
        self._heard: deque[Change] = deque()
        self._ready: deque[_Errand] = deque()
        self._waiting: set[_Errand] = set()  # the same, to be found quickly
        self._later: list[tuple[float, int, _Errand]] = []
        self._due: dict[_Errand, float] = {}
        self._tickets = count()
        self._failures: dict[_Errand, int] = {}
        self._wake = asyncio.Event()
        self._ended = False
        self._work = self._all_work()
        cluster.store.listen(self._hear)

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            while True:
                if (wait := self.turn()) == 0.0:
                    await asyncio.sleep(0)
                else:
                    await self._rest(wait)
        finally:
            self._ended = True
            self._heard.clear()

    def turn(self) -> float | None:
        """Work for a moment; give the seconds that may pass until the next turn, None for until a change."""
        end = time.monotonic() + _TURN_S
        while (wait := next(self._work)) == 0.0 and time.monotonic() < end:
            pass
        return wait

    def _hear(self, change: Change) -> None:
        if not self._ended:
            self._heard.append(change)
            self._wake.set()

    async def _rest(self, seconds: float | None) -> None:
        """Wait for a change or for the next errand that is due."""
        self._wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):  # wait_for loses a cancellation that comes with a change
                await self._wake.wait()

    def _all_work(self) -> Iterator[float | None]:
        """All there ever is to do, piece by piece, and how long to wait after each."""
        for seen in self._everything():
            yield from self._tell(seen)
        while True:
            while self._heard:
                yield from self._tell(_seen(self._heard.popleft()))
            self._call_due()
            if self._ready:
                errand = self._ready.popleft()
                self._waiting.discard(errand)
                for visit in self._looks(errand):
                    if visit is not None:
                        self._plan(errand.keeper, visit)
                    yield 0.0
                yield 0.0
            else:
                yield max(self._later[0][0] - time.monotonic(), 0.001) if self._later else None

    def _everything(self) -> Iterator[Seen | None]:
        for plural in self._cluster.served:
            for namespace, name, body in self._cluster.store.scan(plural):
                yield _seen(Change(0, Key(plural, namespace, name), "ADDED", body, None))

    def _tell(self, seen: Seen | None) -> Iterator[float]:
        if seen is None:
            return
        for keeper in self._keepers:
            try:
                for visit in keeper.hear(seen):
                    self._plan(keeper, visit)
                    yield 0.0
            except Exception:  # noqa: BLE001  a bug in one keeper harms no other
                _LOG.exception("%s cannot take in %s", _name(keeper), seen.key)
        yield 0.0

    def _looks(self, errand: _Errand) -> Iterator[Visit | None]:
        try:
            yield from errand.keeper.look(errand.key)
        except Exception as error:  # noqa: BLE001  a bug harms one errand only
            failures = self._failures[errand] = self._failures.get(errand, 0) + 1
            again = min(_FIRST_RETRY_S * 2 ** (failures - 1), _LAST_RETRY_S)
            _LOG.warning(
                "%s cannot set %s right, and tries again in %.1f s: %s",
                _name(errand.keeper),
                errand.key,
                again,
                error,
                exc_info=not isinstance(error, ApiError),  # a refusal explains itself
            )
            yield Visit(errand.key, again)
        else:
            self._failures.pop(errand, None)

    def _plan(self, keeper: Keeper, visit: Visit) -> None:
        errand = _Errand(keeper, visit.key)
        if not visit.after:
            self._queue(errand)
            return
        at = time.monotonic() + visit.after
        if at < self._due.get(errand, float("inf")):
            self._due[errand] = at
            heappush(self._later, (at, next(self._tickets), errand))

    def _call_due(self) -> None:
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            at, _, errand = heappop(self._later)
            if self._due.get(errand) == at:
                del self._due[errand]
                self._queue(errand)

    def _queue(self, errand: _Errand) -> None:
        if errand not in self._waiting:
            self._waiting.add(errand)
            self._ready.append(errand)


def _seen(change: Change) -> Seen | None:
    try:
        return Seen(change.key, meta_of(change.body), change.body, change.type == "DELETED")
    except msgspec.MsgspecError:
        _LOG.exception("the metadata of %s cannot be read: the keepers leave it alone", change.key)
        return None


def _name(keeper: Keeper) -> str:
    return type(keeper).__name__
