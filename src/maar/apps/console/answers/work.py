"""Answers that take long: in threads, few at a time, so that pages and rows of everybody go on."""

import asyncio
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeVar

from maar.apps.console.replies import RefusedError

T = TypeVar("T")

AT_A_TIME: Final = 2  # of one console
WAIT_S: Final = 10.0  # for a turn
LONGEST_S: Final = 120.0
_LOOK_EVERY_S: Final = 0.05

_turns: Final = threading.BoundedSemaphore(AT_A_TIME)


async def in_thread(work: Callable[[], T], longest_s: float = LONGEST_S) -> T:
    """Work in a thread when it is its turn; what takes longer goes on without anybody who waits for it."""
    end = time.monotonic() + WAIT_S
    while not _turns.acquire(blocking=False):
        if time.monotonic() > end:
            raise RefusedError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"the console is busy with {AT_A_TIME} other questions; ask again in a moment",
            )
        await asyncio.sleep(_LOOK_EVERY_S)
    working = asyncio.get_running_loop().run_in_executor(None, _with_turn, work)
    try:
        async with asyncio.timeout(longest_s):
            return await asyncio.shield(working)
    except TimeoutError:
        raise RefusedError(
            HTTPStatus.GATEWAY_TIMEOUT,
            f"there was no answer within {longest_s:g} s; ask about less, or with maar on the command line",
        ) from None


def _with_turn(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        _turns.release()
