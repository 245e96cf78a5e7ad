"""Many writes at a time, up to a bound; only those to one object wait for one another."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from types import TracebackType
from typing import Final, Self, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 64

_Job = Callable[[], Awaitable[None]]


class Writers:
    """Carries out writes as they come; each reports its outcome by itself.

    Writers may have lower priority than others: while those are busy, only `meanwhile` of these go on. Of
    one object only one write is under way, whoever writes it: none overtakes another.
    """

    def __init__(self, at_once: int = AT_ONCE, behind: "Writers | None" = None, meanwhile: int = 0) -> None:
        self._at_once, self._behind, self._meanwhile = at_once, behind, meanwhile
        self._lines: dict[Hashable, list[_Job]] = {}  # by object, the one that is being written first
        # Objects that are being written, by whichever of the writers behind one another.
        self.in_flight: dict[Hashable, asyncio.Event] = {} if behind is None else behind.in_flight
        self._turns = asyncio.Queue[Hashable]()

    async def __aenter__(self) -> Self:
        self._group = await asyncio.TaskGroup().__aenter__()
        self._workers = [self._group.create_task(self._work(number)) for number in range(self._at_once)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.cancel()
        await self._group.__aexit__(kind, error, trace)

    @property
    def is_busy(self) -> bool:
        """Whether there is anything to write."""
        return bool(self._lines)

    @property
    def waiting(self) -> int:
        """How many writes have no outcome yet."""
        return sum(len(line) for line in self._lines.values())

    def submit(self, key: Hashable, write: Callable[[], Awaitable[T]], done: Callable[[T], None]) -> None:
        """Have something written, after what was submitted before for the same key."""
        job, line = partial(_carry_out, write, done), self._lines.get(key)
        if line is None:
            self._lines[key] = [job]
            self._turns.put_nowait(key)
        else:
            line.append(job)

    async def idle(self) -> None:
        """Wait until everything that was submitted has its outcome."""
        await self._turns.join()

    async def _work(self, number: int) -> None:
        while True:
            key = await self._turns.get()
            if self._behind is not None and self._behind.is_busy and number >= self._meanwhile:
                self._turns.put_nowait(key)
                self._turns.task_done()
                await self._behind.idle()
                continue
            line = self._lines[key]
            while (written := self.in_flight.get(key)) is not None:
                await written.wait()
            written = self.in_flight[key] = asyncio.Event()
            await line[0]()
            del self.in_flight[key], line[0]
            written.set()
            if line:
                self._turns.put_nowait(key)
            else:
                del self._lines[key]
            self._turns.task_done()


async def _carry_out(write: Callable[[], Awaitable[T]], done: Callable[[T], None]) -> None:
    done(await write())
