"""The cluster as it is now, for questions about it; everything is read with the rights of the viewer."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final, NamedTuple

from maar.apps.console.replies import RefusedError
from maar.apps.console.viewer import Viewer
from maar.apps.daemons.configuration_source import INSTALLED, UnreadableError, from_config_map
from maar.core.answers.future import Present
from maar.core.model.metadata import Object
from maar.core.model.queue import Queue
from maar.core.policy.configuration import DEFAULT, BadConfigurationError, Configuration
from maar.core.views.past_use import usage_in_force, with_usage

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
        configuration, note = await _configuration(viewer)
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


async def _configuration(viewer: Viewer) -> tuple[Configuration | None, str]:
    """The configuration of the installed scheduler; None where it is not known, and why."""
    source = from_config_map(viewer.api, INSTALLED)
    try:
        found = await source.changed()
    except UnreadableError as error:
        why = str(error).partition("; ")[0]  # what follows is for the scheduler
    except BadConfigurationError as error:
        why = "; ".join(error.problems)
    else:
        about = source.about()
        if about is not None and about.uid:
            return found, ""
        why = f"there is no ConfigMap {INSTALLED}"
    return None, f"The scheduler's configuration is taken for the default one: {why}."
