"""The clock of the simulated hour: faster than real time, and paused while the cluster is behind."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

MINUTE_S: Final = 60.0
_TICK_S: Final = 0.05


@dataclass
class Clock:
    """Counts simulated minutes while it runs."""

    speed: float  # played seconds in one of ours
    minute: float = 0.0
    is_held: bool = False
    _tick: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, is_behind: Callable[[], bool]) -> None:
        """Run the clock, paused while the cluster is behind, so that the workload keeps its timing."""
        before = time.monotonic()
        while True:
            await asyncio.sleep(_TICK_S)
            now, self.is_held = time.monotonic(), is_behind()
            if not self.is_held:
                self.minute += (now - before) * self.speed / MINUTE_S
            before = now
            tick, self._tick = self._tick, asyncio.Event()
            tick.set()

    async def until(self, minute: float) -> None:
        """Wait for a minute of the hour; it may be over."""
        while self.minute < minute:
            await self._tick.wait()


def clock_time(minute: float) -> str:
    """A moment or a time span of the hour, as minutes and seconds."""
    seconds = round(minute * MINUTE_S)
    return f"{seconds // 60:02}:{seconds % 60:02}"
