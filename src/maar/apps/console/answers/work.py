"""Answers that take long: in threads, few at a time, so that pages and rows of everybody go on.

A thread cannot be ended from outside. So work is told whether its answer is still wanted, and what
takes many decisions looks after each of them; whoever waits is answered when the time is over,
whatever the work does.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeVar

from maar.apps.console.replies import RefusedError

T = TypeVar("T")
IsWanted = Callable[[], bool]

AT_A_TIME: Final = 2  # of one console
WAIT_S: Final = 10.0  # for a turn
LONGEST_S: Final = 60.0
_LOOK_EVERY_S: Final = 0.05

_turns: Final = threading.BoundedSemaphore(AT_A_TIME)


async def in_thread(work: Callable[[IsWanted], T], longest_s: float = LONGEST_S) -> T:
    """Work in a thread when it is its turn."""
    end = time.monotonic() + WAIT_S
    while not _turns.acquire(blocking=False):
        if time.monotonic() > end:
            raise RefusedError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"the console is busy with {AT_A_TIME} other questions; ask again in a moment",
            )
        await asyncio.sleep(_LOOK_EVERY_S)
    stopped = threading.Event()
    working = asyncio.get_running_loop().run_in_executor(None, _with_turn, work, stopped)
    try:
        async with asyncio.timeout(longest_s):
            return await asyncio.shield(working)
    except TimeoutError:
        working.add_done_callback(_forget)
        raise RefusedError(
            HTTPStatus.GATEWAY_TIMEOUT,
            f"there was no answer within {longest_s:g} s; ask about less, or with maar on the command line",
        ) from None
    finally:
        stopped.set()


def _with_turn(work: Callable[[IsWanted], T], stopped: threading.Event) -> T:
    try:
        return work(lambda: not stopped.is_set())
    finally:
        _turns.release()


def _forget(working: "asyncio.Future[T]") -> None:
    """Look at how it ended, so that nobody is warned of an error that was not looked at."""
    if not working.cancelled():
        working.exception()
