"""Asking pods whether they answer, for the probes of job flows; only the status of an answer is read."""

import asyncio
from http import HTTPStatus
from typing import Final

import aiohttp

from maar.core.model.writes import PodCheck

_TIMEOUT_S: Final = 2.0
_AT_ONCE: Final = 16


async def answering(checks: tuple[PodCheck, ...]) -> frozenset[PodCheck]:
    """Those that were answered: a connection was accepted, or a request got a status below 400."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def is_answered(check: PodCheck) -> bool:
        async with turns:
            try:
                async with asyncio.timeout(_TIMEOUT_S):
                    return await _answers(check)
            except (OSError, TimeoutError, ValueError, aiohttp.ClientError):
                return False

    found = await asyncio.gather(*map(is_answered, checks))
    return frozenset(check for check, is_one in zip(checks, found, strict=True) if is_one)


async def _answers(check: PodCheck) -> bool:
    if check.path is None:
        _, writer = await asyncio.open_connection(check.address, check.port)
        writer.close()
        return True
    host = f"[{check.address}]" if ":" in check.address else check.address
    headers = dict([check.header]) if check.header is not None else {}
    async with (
        aiohttp.ClientSession() as session,
        session.get(
            f"http://{host}:{check.port}{check.path}", headers=headers, allow_redirects=False
        ) as answer,
    ):
        return answer.status < HTTPStatus.BAD_REQUEST
