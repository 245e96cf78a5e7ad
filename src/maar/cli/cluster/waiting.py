"""Waiting for something on a cluster, for commands that do until it has happened."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

_BETWEEN_LOOKS_S: Final = 0.2


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again until something is so."""
    while not await is_so():  # noqa: ASYNC110  # a server is asked, nothing sets an event
        await asyncio.sleep(_BETWEEN_LOOKS_S)
