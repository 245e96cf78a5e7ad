"""The shares in the status of queues, as the cycle gives them; state and counters are another's to write."""

from datetime import datetime
from typing import Final

import msgspec

from maar.core.model.differences import difference
from maar.core.model.metadata import Condition
from maar.core.model.plan import QueueStanding, Share
from maar.core.model.queue import Queue, QueueStatus, QueueSummary
from maar.core.model.writes import SetStatus

_OURS: Final = ("GuaranteeReduced", "SetAside")


def queue_write(queue: Queue, standing: QueueStanding, now: datetime) -> SetStatus | None:
    """What to write about a queue whose shares have changed."""
    if not queue.metadata.uid:
        return None  # implied by the tree, not an object of the cluster
    patch = difference(queue.status, _status(queue.status, standing, now.replace(microsecond=0)))
    return SetStatus(kind="Queue", key=queue.key, status=patch) if patch else None


def with_shares(old: QueueStatus, standing: QueueStanding) -> QueueStatus:
    """A status with the amounts of a standing."""
    return msgspec.structs.replace(
        old,
        deserved=standing.deserved,
        real_capability=standing.real_capability,
        allocated=standing.allocated,
        used=standing.used,
        preempting=standing.preempting,
        share=written_share(standing.share),
    )


def written_share(share: Share) -> str:
    """A share as statuses have it: two decimals, or inf."""
    return share if isinstance(share, str) else f"{share:.2f}"


def _status(old: QueueStatus, standing: QueueStanding, now: datetime) -> QueueStatus:
    return msgspec.structs.replace(
        with_shares(old, standing),
        summary=QueueSummary(deserved=standing.deserved.summary(), used=standing.used.summary()),
        conditions=_combined(old.conditions, standing.conditions, now),
    )


def _combined(old: tuple[Condition, ...], new: tuple[Condition, ...], now: datetime) -> tuple[Condition, ...]:
    """The cycle's conditions beside those of others; one that was there before keeps its time."""
    since = {one.type: one.last_transition_time for one in old}
    others = [one for one in old if one.type not in _OURS]
    ours = [msgspec.structs.replace(one, last_transition_time=since.get(one.type) or now) for one in new]
    return (*others, *ours)
