"""Events are forgotten an hour after they happened last."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from maar.embedded.controllers.view import EmbeddedController, ObjectChanged, View, Wanted
from maar.embedded.store import Key

_KEPT: Final = timedelta(hours=1)


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


class OldEvents(EmbeddedController):
    """Keys are those of events."""

    def keys(self, change: ObjectChanged, cluster: View) -> Iterator[Key]:
        """Every event."""
        if change.key.resource == "events" and change.after is not None:
            yield change.key

    def wanted(self, cluster: View, key: Key, now: datetime) -> Wanted:
        """Delete it if it is old, and otherwise look at it when it is."""
        if (body := cluster.cluster.store.get(key)) is None:
            return
        event = _EVENT.decode(body)
        times = (
            event.metadata.creation_timestamp,
            event.event_time,
            event.last_timestamp,
            event.series.last_observed_time if event.series else None,
        )
        last = max((time for time in times if time is not None), default=now)
        yield last + _KEPT if last + _KEPT > now else partial(cluster.cluster.delete, *key)
