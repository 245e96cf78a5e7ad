"""Waiting for something to become true, in tests that share an event loop with what they test."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

TIMEOUT_S: Final = 30.0
PAUSE_S: Final = 0.02


async def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait until it holds; fail with what was waited for."""
    await until_async(what, lambda: _now(holds))


async def until_async(what: str, holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until it holds, where finding out takes a request."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                if await holds():
                    return
                await asyncio.sleep(PAUSE_S)
    except TimeoutError:
        raise AssertionError(f"waited {TIMEOUT_S:.0f} s in vain until {what}") from None


async def _now(holds: Callable[[], bool]) -> bool:
    return holds()


def wait_until(what: str, holds: Callable[[], bool], within_s: float = TIMEOUT_S) -> None:
    """Wait until it holds, in tests without a loop of their own."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"waited {within_s:.0f} s in vain until {what}"
        time.sleep(PAUSE_S)
