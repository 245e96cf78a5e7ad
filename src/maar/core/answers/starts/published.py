"""Planned starts that are worked out now, and those in the status of pod groups: one time is shown of both.

The scheduler writes a start again only when it has moved by more than a minute and by more than a
tenth of the time to come: with every pod that ends all later starts may move a little. Whoever
works a start out anew shows the time in the status until then, so that all pages show the same.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from maar.core.answers.future import Certainty, Start
from maar.core.model.metadata import Object
from maar.core.model.pod_group import PlannedStartStatus, PodGroup

_SMALL_S: Final = 60.0
_SMALL_PART: Final = 0.1  # of the time to come


def has_moved(published: PlannedStartStatus, time: float | None, certainty: Certainty, now: float) -> bool:
    """Whether a start differs so much from the one in the status that it is written again."""
    if published.certainty != certainty or published.time is None or time is None:
        return published.certainty != certainty or (published.time is None) != (time is None)
    return abs(time - published.time.timestamp()) > max(_SMALL_S, _SMALL_PART * (time - now))


def published_starts(objects: Iterable[Object]) -> dict[str, PlannedStartStatus]:
    """The starts in the status of pod groups."""
    groups = [one for one in objects if isinstance(one, PodGroup)]
    return {one.key: one.status.planned_start for one in groups if one.status.planned_start is not None}


def as_published(
    starts: Mapping[str, Start], published: Mapping[str, PlannedStartStatus], now: float
) -> dict[str, Start]:
    """The same starts, with the time in the status where it has not moved."""
    return {key: _as_published(start, published.get(key), now) for key, start in starts.items()}


def _as_published(start: Start, published: PlannedStartStatus | None, now: float) -> Start:
    if published is None or published.time is None or start.time is None or start.time <= now:
        return start
    if has_moved(published, start.time, start.certainty, now) or published.time.timestamp() <= now:
        return start
    return start._replace(time=published.time.timestamp())
