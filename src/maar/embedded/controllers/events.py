"""Events are forgotten an hour after they happened last."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

import msgspec

from maar.embedded.cluster import Cluster
from maar.embedded.controllers.controller import Observed, WorkItem
from maar.embedded.store import Key

_KEPT_S: Final = 3600.0


class _Times(msgspec.Struct, frozen=True, rename="camel"):
    creation_timestamp: datetime | None = None


class _Series(msgspec.Struct, frozen=True, rename="camel"):
    last_observed_time: datetime | None = None


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Times = _Times()
    series: _Series | None = None
    event_time: datetime | None = None
    last_timestamp: datetime | None = None


_EVENT: Final = msgspec.json.Decoder(_Event)


class EventController:
    """Deletes old events."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def observe(self, observed: Observed) -> Iterable[WorkItem]:
        """Come back for every event."""
        return () if observed.key.resource != "events" or observed.is_gone else (WorkItem(observed.key),)

    def reconcile(self, key: Key) -> Iterator[WorkItem | None]:
        """Forget it if it is old, else come back when it is."""
        body = self._cluster.store.get(key)
        if body is None:
            return
        left = _last(_EVENT.decode(body)) + _KEPT_S - self._cluster.clock()
        if left > 0:
            yield WorkItem(key, left)
        else:
            self._cluster.delete(*key)


def _last(event: _Event) -> float:
    times = (
        event.metadata.creation_timestamp,
        event.event_time,
        event.last_timestamp,
        event.series.last_observed_time if event.series else None,
    )
    return max((one.timestamp() for one in times if one is not None), default=0.0)
