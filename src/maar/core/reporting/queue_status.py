"""The shares in the status of queues, as the cycle gives them; state and counters are another's to write."""

from datetime import datetime
from typing import Final

import msgspec

from maar.core.model.differences import difference
from maar.core.model.metadata import Condition
from maar.core.model.plan import GUARANTEE_REDUCED, QueueStanding
from maar.core.model.queue import Queue
from maar.core.model.writes import SetStatus

_OURS: Final = (GUARANTEE_REDUCED, "SetAside")


def queue_write(queue: Queue, standing: QueueStanding, now: datetime) -> SetStatus | None:
    """What to write about a queue whose shares have changed."""
    if not queue.metadata.uid:
        return None  # implied by the tree, not an object of the cluster
    conditions = _combined(queue.status.conditions, standing.conditions, now.replace(microsecond=0))
    status = msgspec.structs.replace(standing.status(queue.status), conditions=conditions)
    patch = difference(queue.status, status)
    return SetStatus(kind="Queue", key=queue.key, status=patch) if patch else None


def _combined(old: tuple[Condition, ...], new: tuple[Condition, ...], now: datetime) -> tuple[Condition, ...]:
    """The cycle's conditions beside those of others; one that was there before keeps its time."""
    since = {one.type: one.last_transition_time for one in old}
    others = [one for one in old if one.type not in _OURS]
    ours = [msgspec.structs.replace(one, last_transition_time=since.get(one.type) or now) for one in new]
    return (*others, *ours)
