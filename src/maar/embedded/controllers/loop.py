"""The loop of the controllers: each reconciles what has changed or is due, a little at a time."""

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
from maar.embedded.controllers.batch_jobs import BatchJobController
from maar.embedded.controllers.budgets import BudgetController
from maar.embedded.controllers.controller import Controller, Observed, WorkItem, meta_of
from maar.embedded.controllers.events import EventController
from maar.embedded.controllers.garbage import GarbageCollector
from maar.embedded.controllers.namespaces import NamespaceController
from maar.embedded.controllers.volumes import VolumeController
from maar.embedded.failures import ApiError
from maar.embedded.store import Change, Key

_LOG: Final = logging.getLogger(__name__)
_TURN_S: Final = 0.002  # how long requests may have to wait for the controllers
_FIRST_RETRY_S: Final = 0.1
_LAST_RETRY_S: Final = 60.0


class _Task(NamedTuple):
    controller: Controller
    key: Key


class ControllerLoop:
    """Passes all objects and changes to controllers, and runs their work; an error affects one task only."""

    def __init__(self, cluster: Cluster, controllers: Sequence[Controller]) -> None:
        self._cluster, self._controllers = cluster, controllers
        self._changes: deque[Change] = deque()
        self._ready: deque[_Task] = deque()
        self._waiting: set[_Task] = set()  # the same, to be found quickly
        self._later: list[tuple[float, int, _Task]] = []
        self._due: dict[_Task, float] = {}
        self._tickets = count()
        self._failures: dict[_Task, int] = {}
        self._wake = asyncio.Event()
        self._ended = False
        self._work = self._all_work()
        cluster.store.listen(self._observe)

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            while True:
                if (wait := self.turn()) == 0.0:
                    await asyncio.sleep(0)
                else:
                    await self._wait(wait)
        finally:
            self._ended = True
            self._changes.clear()

    def turn(self) -> float | None:
        """Work for a moment; give the seconds that may pass until the next turn, None for until a change."""
        end = time.monotonic() + _TURN_S
        while (wait := next(self._work)) == 0.0 and time.monotonic() < end:
            pass
        return wait

    def _observe(self, change: Change) -> None:
        if not self._ended:
            self._changes.append(change)
            self._wake.set()

    async def _wait(self, seconds: float | None) -> None:
        """Wait for a change or for the next task that is due."""
        self._wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):  # wait_for loses a cancellation that comes with a change
                await self._wake.wait()

    def _all_work(self) -> Iterator[float | None]:
        """All there ever is to do, piece by piece, and how long to wait after each."""
        for observed in self._everything():
            yield from self._notify(observed)
        while True:
            while self._changes:
                yield from self._notify(_observed(self._changes.popleft()))
            self._call_due()
            if self._ready:
                task = self._ready.popleft()
                self._waiting.discard(task)
                for item in self._reconciled(task):
                    if item is not None:
                        self._plan(task.controller, item)
                    yield 0.0
                yield 0.0
            else:
                yield max(self._later[0][0] - time.monotonic(), 0.001) if self._later else None

    def _everything(self) -> Iterator[Observed | None]:
        for plural in self._cluster.served:
            for namespace, name, body in self._cluster.store.scan(plural):
                yield _observed(Change(0, Key(plural, namespace, name), "ADDED", body, None))

    def _notify(self, observed: Observed | None) -> Iterator[float]:
        if observed is None:
            return
        for controller in self._controllers:
            try:
                for item in controller.observe(observed):
                    self._plan(controller, item)
                    yield 0.0
            except Exception:  # noqa: BLE001  a bug in one controller harms no other
                _LOG.exception("%s cannot take in %s", _name(controller), observed.key)
        yield 0.0

    def _reconciled(self, task: _Task) -> Iterator[WorkItem | None]:
        try:
            yield from task.controller.reconcile(task.key)
        except Exception as error:  # noqa: BLE001  a bug harms one task only
            failures = self._failures[task] = self._failures.get(task, 0) + 1
            again = min(_FIRST_RETRY_S * 2 ** (failures - 1), _LAST_RETRY_S)
            _LOG.warning(
                "%s cannot reconcile %s, and tries again in %.1f s: %s",
                _name(task.controller),
                task.key,
                again,
                error,
                exc_info=not isinstance(error, ApiError),  # a refusal explains itself
            )
            yield WorkItem(task.key, again)
        else:
            self._failures.pop(task, None)

    def _plan(self, controller: Controller, item: WorkItem) -> None:
        task = _Task(controller, item.key)
        if not item.after:
            self._queue(task)
            return
        at = time.monotonic() + item.after
        if at < self._due.get(task, float("inf")):
            self._due[task] = at
            heappush(self._later, (at, next(self._tickets), task))

    def _call_due(self) -> None:
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            at, _, task = heappop(self._later)
            if self._due.get(task) == at:
                del self._due[task]
                self._queue(task)

    def _queue(self, task: _Task) -> None:
        if task not in self._waiting:
            self._waiting.add(task)
            self._ready.append(task)


def all_controllers(cluster: Cluster, authority: str = "") -> tuple[Controller, ...]:
    """One of each."""
    return (
        GarbageCollector(cluster),
        NamespaceController(cluster, authority),
        BudgetController(cluster),
        VolumeController(cluster),
        EventController(cluster),
        BatchJobController(cluster),
    )


async def run_controllers(cluster: Cluster, authority: str = "") -> None:
    """Keep a cluster in order until cancelled; `authority` is the certificate that its pods should trust."""
    await ControllerLoop(cluster, all_controllers(cluster, authority)).run()


def _observed(change: Change) -> Observed | None:
    try:
        return Observed(change.key, meta_of(change.body), change.body, change.type == "DELETED")
    except msgspec.MsgspecError:
        _LOG.exception("the metadata of %s cannot be read: the controllers leave it alone", change.key)
        return None


def _name(controller: Controller) -> str:
    return type(controller).__name__
