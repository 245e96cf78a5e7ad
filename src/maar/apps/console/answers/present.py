"""The cluster as it is now, for questions about it; everything is read with the rights of the viewer."""

import time

from maar.apps.console.viewer import Viewer
from maar.core.answers.future import Present
from maar.core.model.queue import Queue
from maar.core.policy.configuration import DEFAULT
from maar.core.views.past_use import usage_in_force, with_usage


async def read_present(viewer: Viewer) -> Present:
    """Read all that a decision needs; NotAllowedError where the viewer may not."""
    objects = await viewer.everything()
    usage = usage_in_force([one for one in objects if isinstance(one, Queue)])
    return Present(tuple(objects), with_usage(DEFAULT, usage), time.time())
