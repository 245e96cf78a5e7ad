"""The places of waiting pod groups in the order of their queues, for the rows of jobs.

They are worked out for all at once, by a decision on the whole cluster, while somebody looks at
jobs: at most every half minute, and never for more than a twentieth of the time. All viewers who
may read everything that the order depends on are given the same.
"""

import asyncio
import logging
import time
from functools import partial
from typing import Final, cast

from maar.apps.console.answers.present import read_present
from maar.apps.console.answers.work import IsWanted, in_thread
from maar.apps.console.replies import RefusedError
from maar.apps.console.viewer import NotAllowedError, Viewer
from maar.apps.console.viewers import Viewers
from maar.core.answers.explain.order_terms import places_in_queues
from maar.core.answers.future import Present
from maar.core.engine import Engine
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.job import Job
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.kube.errors import ApiError, UnansweredError

_LOG: Final = logging.getLogger(__name__)

EVERY_S: Final = 30.0
_TIMES_COST: Final = 20.0
_LOOK_EVERY_S: Final = 1.0
_LOOKED_AT_S: Final = 40.0  # pages that look at jobs ask at least so often


async def run_places(viewers: Viewers, every_s: float = EVERY_S) -> None:
    """Work places out until cancelled."""
    next_at = 0.0
    while True:
        await asyncio.sleep(_LOOK_EVERY_S)
        looking = [one for one in viewers if _looks_at_jobs(one) and _sees_all(one)]
        if not looking or time.monotonic() < next_at:
            continue
        began = time.process_time()
        try:
            present, _ = await read_present(looking[0], has_jobs=False)  # no place follows from them
            places = await in_thread(partial(places_of, present))
        except (NotAllowedError, RefusedError, ApiError, UnansweredError) as error:
            _LOG.debug("no places of jobs: %s", error)
        except Exception as error:  # noqa: BLE001  a bug here must not stop the console
            _LOG.warning("places of jobs cannot be worked out", exc_info=error)
        else:
            for one in looking:
                one.set_places(places)
        cost_s = time.process_time() - began
        next_at = time.monotonic() + max(every_s, _TIMES_COST * cost_s)


def places_of(present: Present, _is_wanted: IsWanted) -> dict[str, int]:
    """The place of each waiting group among those of its leaf queue."""
    engine = Engine(present.configuration, present.scheduler_name)
    objects = [one for one in present.objects if not isinstance(one, Job)]
    engine.feed(Upserted(object=cast("AnyObject", one)) for one in objects)
    return places_in_queues(engine.tables, present.configuration, present.now)


def _looks_at_jobs(viewer: Viewer) -> bool:
    return time.monotonic() - viewer.stream.wanted.get("jobs", float("-inf")) < _LOOKED_AT_S


def _sees_all(viewer: Viewer) -> bool:
    return all(viewer.rights.everywhere(kind) for kind in (Queue, PodGroup, Pod, Node))
