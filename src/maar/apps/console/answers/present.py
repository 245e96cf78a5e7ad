"""The cluster as it is now, for questions about it; everything is read with the rights of the viewer."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final, NamedTuple

from maar.apps.console.replies import RefusedError
from maar.apps.console.viewer import Viewer
from maar.apps.daemons.configuration_source import read_installed
from maar.core.answers.future import Present
from maar.core.answers.tree.past_use import usage_in_force, with_usage
from maar.core.model.metadata import Object
from maar.core.model.queue import Queue
from maar.core.policy.configuration import DEFAULT

READ_WITHIN_S: Final = 30.0


class ReadPresent(NamedTuple):
    """The cluster, and a sentence where its configuration is not known."""

    present: Present
    note: str = ""


async def read_objects(viewer: Viewer, *, has_jobs: bool = True) -> list[Object]:
    """Read all that a decision needs; NotAllowedError where the viewer may not."""
    async with reading(viewer):
        return await viewer.everything(has_jobs=has_jobs)


async def read_present(viewer: Viewer, *, has_jobs: bool = True) -> ReadPresent:
    """The same, with the time and how decisions are made."""
    objects = await read_objects(viewer, has_jobs=has_jobs)
    async with reading(viewer):
        configuration, why = await read_installed(viewer.api)
    note = f"The scheduler's configuration is taken for the default one: {why}." if why else ""
    if configuration is None:
        usage = usage_in_force([one for one in objects if isinstance(one, Queue)])
        configuration = with_usage(DEFAULT, usage)
    return ReadPresent(Present(tuple(objects), configuration, time.time()), note)


@asynccontextmanager
async def reading(viewer: Viewer) -> AsyncIterator[None]:
    """What is read here is there within a time, or it is said why not."""
    try:
        async with asyncio.timeout(READ_WITHIN_S):
            yield
    except TimeoutError:
        slow = f"the cluster could not be read within {READ_WITHIN_S:g} s; ask again in a moment"
        raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, viewer.problem or slow) from None
