"""Retries: while an error may pass, remembering what earlier attempts may have done."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final

from maar.kube.errors import ApiError, UnansweredError

SHORTEST_S: Final = 0.05
LONGEST_S: Final = 1.0  # an API server that comes back is noticed soon


class Backoff:
    """Pauses that grow from one attempt to the next."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start with short pauses again, after a success."""
        self._next_s = SHORTEST_S

    def pause_s(self) -> float:
        """The next pause, in seconds."""
        pause_s, self._next_s = self._next_s, min(self._next_s * 2, LONGEST_S)
        return jittered(pause_s)


def jittered(seconds: float) -> float:
    """A random time between half of it and all of it, so that clients do not retry at the same time."""
    return seconds * random.uniform(0.5, 1)  # noqa: S311  # dice, not a secret


async def persist(attempt: Callable[[], Awaitable[bytes]], retry_timeout_s: float) -> bytes:
    """Retry until there is an answer, an error that does not pass, or the time limit is reached.

    An error raised here says whether one of the attempts may have been carried out without an answer.
    """
    give_up_at = time.monotonic() + retry_timeout_s
    backoff, may_be_done = Backoff(), False
    while True:
        try:
            return await attempt()
        except (ApiError, UnansweredError) as error:
            error.may_be_done = may_be_done = may_be_done or error.may_be_done
            pause_s = max(backoff.pause_s(), error.retry_after_s)
            if not error.is_passing or time.monotonic() + pause_s > give_up_at:
                raise
        await asyncio.sleep(pause_s)
