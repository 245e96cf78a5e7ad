"""The time of the played hour: minutes that pass faster than ours."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

MINUTE_S: Final = 60.0


@dataclass
class Clock:
    """Counts played minutes from the moment it is made."""

    speed: float  # played seconds in one of ours
    _started: float = field(default_factory=time.monotonic)

    @property
    def minute(self) -> float:
        """How many minutes have been played."""
        return (time.monotonic() - self._started) * self.speed / MINUTE_S

    async def until(self, minute: float) -> None:
        """Wait for a minute of the hour; it may be over."""
        await asyncio.sleep(max(0.0, (minute - self.minute) * MINUTE_S / self.speed))


def clock_time(minute: float) -> str:
    """A moment or a time span of the hour, as minutes and seconds."""
    seconds = round(minute * MINUTE_S)
    return f"{seconds // 60:02}:{seconds % 60:02}"
