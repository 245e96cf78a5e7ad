"""The cluster as it is now, for questions about it; everything is read with the rights of the viewer."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

from maar.apps.console.replies import RefusedError
from maar.apps.console.viewer import Viewer
from maar.core.answers.future import Present
from maar.core.model.metadata import Object
from maar.core.model.queue import Queue
from maar.core.policy.configuration import DEFAULT
from maar.core.views.past_use import usage_in_force, with_usage

READ_WITHIN_S: Final = 30.0


async def read_objects(viewer: Viewer) -> list[Object]:
    """Read all that a decision needs; NotAllowedError where the viewer may not."""
    async with reading(viewer):
        return await viewer.everything()


async def read_present(viewer: Viewer) -> Present:
    """The same, with the time and how decisions are made."""
    objects = await read_objects(viewer)
    usage = usage_in_force([one for one in objects if isinstance(one, Queue)])
    return Present(tuple(objects), with_usage(DEFAULT, usage), time.time())


@asynccontextmanager
async def reading(viewer: Viewer) -> AsyncIterator[None]:
    """What is read here is there within a time, or it is said why not."""
    try:
        async with asyncio.timeout(READ_WITHIN_S):
            yield
    except TimeoutError:
        slow = f"the cluster could not be read within {READ_WITHIN_S:g} s; ask again in a moment"
        raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, viewer.problem or slow) from None
