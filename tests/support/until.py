"""Waiting for something to become true, and the one limit of every wait."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

# It costs only where something is broken, so it is far above what a busy machine needs.
TIMEOUT_S: Final = 300.0
PAUSE_S: Final = 0.02


async def until(what: str | Callable[[], str], holds: Callable[[], bool], pause_s: float = PAUSE_S) -> None:
    """Wait until it holds, in tests that share an event loop with what they test."""
    await until_async(what, lambda: _now(holds), pause_s)


async def until_async(
    what: str | Callable[[], str], holds: Callable[[], Awaitable[bool]], pause_s: float = PAUSE_S
) -> None:
    """Wait until it holds, where finding out takes a request; fail with what was waited for."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                if await holds():
                    return
                await asyncio.sleep(pause_s)
    except TimeoutError:
        raise AssertionError(_in_vain(what)) from None


async def _now(holds: Callable[[], bool]) -> bool:
    return holds()


def wait_until(what: str | Callable[[], str], holds: Callable[[], bool], pause_s: float = PAUSE_S) -> None:
    """Wait until it holds, in tests without a loop of their own."""
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline, _in_vain(what)
        time.sleep(pause_s)


def _in_vain(what: str | Callable[[], str]) -> str:
    return f"waited {TIMEOUT_S:.0f} s in vain until {what if isinstance(what, str) else what()}"
