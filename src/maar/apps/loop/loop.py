"""One loop for the scheduler and the controllers: watch, learn, work in rounds, write, stop.

How it works, in the order in which things happen:

1. One watch for each kind puts its events into an inbox. Nothing is learned at that moment: the
   worker may be deciding in a thread, and what it decides from must not change meanwhile. But the
   worker is asked at once whether the events call for a round.
2. Until every watch has listed its kind, and then until this process is elected, what comes is
   learned at once: while the server prepares more, and so that a standby can begin when elected.
3. Then there are rounds. A round is the worker's: it learns what the inbox has, works out what has
   to be written, and hands that to writers, which report each outcome by themselves. A round waits
   for no write.
4. After a round the loop waits for events. What comes within the gathering window after the first
   of them is one round. Events that call for no round are learned without one. `wake` and
   `wake_in` ask for a round without an event: for a write that failed, for a time that has come.
   `longest_wait_s` bounds the wait.
5. `stop` lets the round that is under way end, begins no other, ends the watches, and gives the
   writers a few seconds for what they were handed before.

All of this runs in one task of one event loop; only what the worker itself puts into a thread does
not. So nothing here needs a lock: between two `await`s no other code runs.
"""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Final, Protocol

from maar.core.model.events import AnyObject, Deleted, Event
from maar.kube.api_server import ApiServer
from maar.kube.record import Recorder
from maar.kube.watch import Trouble, Watch
from maar.kube.write_failures import WriteFailures
from maar.kube.writers import Writers


class Inbox:
    """Events in the order they came, and since when the first of them waits."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._since = 0.0

    def put(self, events: list[Event]) -> None:
        """Add what has just come."""
        if not self._events:
            self._since = time.monotonic()
        self._events += events

    def take(self) -> tuple[list[Event], float]:
        """Take everything, with the seconds that the first has waited."""
        events, self._events = self._events, []
        return events, time.monotonic() - self._since if events else 0.0


_FINISH_WITHIN_S: Final = 5.0  # what was handed to the writers before the end


class Worker(Protocol):
    """What the loop is for: the scheduler, or the controllers."""

    def needs_round(self, events: list[Event]) -> bool:
        """Whether these call for a round; asked when they come, which may be during a round."""

    def learn(self, events: list[Event], delay_s: float) -> None:
        """Learn what has happened; the first of the events has waited so long."""

    async def round(self) -> None:
        """Learn what the inbox has (`Loop.learn`), work out what has to be written, and submit it."""

    def after_other_events(self) -> None:
        """Do what has to be done after events that were learned and call for no round."""

    def interrupted(self, trouble: Trouble) -> None:
        """Log and count a watch that was interrupted, or an object that cannot be read."""


@dataclass(frozen=True)
class Rhythm:
    """When rounds begin, in seconds."""

    gather_s: float  # what comes together is looked at together
    longest_wait_s: float | None = None  # then there is a round without any event


class Loop:
    """Runs a worker's rounds until stopped."""

    def __init__(
        self,
        server: ApiServer,
        worker: Worker,
        kinds: Sequence[type[AnyObject]],
        rhythm: Rhythm,
        writers: Sequence[Writers],  # in the order in which they are waited for at the end, events last
        component: str,
        identity: str,
    ) -> None:
        self._worker, self._rhythm, self._writers = worker, rhythm, writers
        self._inbox = _Inbox()
        self._watches = {
            kind.__name__: Watch(server, kind, self._on_events, worker.interrupted) for kind in kinds
        }
        self._arrived = asyncio.Event()  # the inbox has something, or a round is wanted
        self._wanted = asyncio.Event()  # a round is wanted
        self._stop = asyncio.Event()
        self.failures = WriteFailures()
        self.recorder = Recorder(server, writers[-1], component, identity, self.failures)
        self.known = asyncio.Event()  # everything has been listed
        self.first_round = asyncio.Event()  # it has ended

    async def run(self, elected: asyncio.Event | None = None) -> None:
        """Watch and work until stopped; no round before all is known and this process is elected."""
        async with asyncio.TaskGroup() as tasks, AsyncExitStack() as writing:
            for writers in self._writers:
                await writing.enter_async_context(writers)
            watching = [tasks.create_task(watch.run()) for watch in self._watches.values()]
            for watch in self._watches.values():
                await self._learn_until(watch.synced())
            self.known.set()
            if elected is not None:
                await self._learn_until(elected.wait())
            while not self._stop.is_set():
                self._wanted.clear()
                await self._worker.round()
                self.first_round.set()
                await self._wait()
            for task in watching:
                task.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(_FINISH_WITHIN_S):
                    for writers in self._writers:
                        await writers.idle()

    def stop(self) -> None:
        """Begin no other round; what was submitted is still written."""
        self._stop.set()
        self.wake()

    def wake(self) -> None:
        """Have a round after the gathering window."""
        self._wanted.set()
        self._arrived.set()

    def wake_in(self, seconds: float) -> None:
        """Have a round so much later, and the gathering window; whatever rounds there are before."""
        asyncio.get_running_loop().call_later(seconds, self.wake)

    def learn(self) -> None:
        """Have the worker learn what the inbox has."""
        self._arrived.clear()
        events, delay_s = self._inbox.take()
        if events:
            self._worker.learn(events, delay_s)
            for event in events:
                if type(event) is Deleted:
                    self.failures.object_gone(event.kind, event.key)

    def see(self, written: AnyObject) -> None:
        """Know an object as the answer to a write has it, before the stream says so."""
        self._watches[type(written).__name__].see(written)

    def lags(self) -> dict[str, float]:
        """For how many seconds changes may have gone unseen, by kind."""
        return {kind: watch.lag_s for kind, watch in self._watches.items()}

    async def _learn_until(self, what: Coroutine[None, None, object]) -> None:
        """Learn while waiting for something or for the end, so that little is left to be learned then."""
        ends = asyncio.create_task(what), asyncio.create_task(self._stop.wait())
        arrival = asyncio.create_task(self._arrived.wait())
        try:
            while not any(task.done() for task in ends):
                await asyncio.wait((*ends, arrival), return_when=asyncio.FIRST_COMPLETED)
                if arrival.done():
                    self.learn()
                    arrival = asyncio.create_task(self._arrived.wait())
        finally:
            for task in (*ends, arrival):
                task.cancel()

    async def _wait(self) -> None:
        """Wait until a round is wanted and what comes with it has come too, or the time is up."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._rhythm.longest_wait_s):
                while True:
                    await self._arrived.wait()
                    await asyncio.sleep(self._rhythm.gather_s)  # also for what came during the round
                    if self._wanted.is_set():
                        return
                    self.learn()
                    self._worker.after_other_events()

    def _on_events(self, events: list[Event]) -> None:
        if self._worker.needs_round(events):
            self._wanted.set()
        self._inbox.put(events)
        self._arrived.set()


class _Inbox:
    """Events in the order they came, and since when the first of them waits."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._since = 0.0

    def put(self, events: list[Event]) -> None:
        """Add what has just come."""
        if not self._events:
            self._since = time.monotonic()
        self._events += events

    def take(self) -> tuple[list[Event], float]:
        """Take everything, with the seconds that the first has waited."""
        events, self._events = self._events, []
        return events, time.monotonic() - self._since if events else 0.0
