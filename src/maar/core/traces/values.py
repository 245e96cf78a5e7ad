"""Numbers and times as traces write them."""

from datetime import UTC, datetime
from math import isfinite, isnan
from typing import Final

_MISSING: Final = frozenset({"", "none", "unknown", "nan", "nat", "null", "n/a"})


def number(text: str) -> float | None:
    """A number; None: it is missing. Raises ValueError where it is neither."""
    try:
        found = float(text)
    except ValueError:
        if text.strip().lower() in _MISSING:
            return None
        raise
    if not isfinite(found):
        if isnan(found):  # how tables write what is missing
            return None
        raise ValueError(text)
    return found


def time_of(text: str, utc_offset: float) -> float | None:
    """A date with a time of day, in seconds since the epoch; None: it is missing.

    One without a zone is `utc_offset` seconds ahead of UTC. Raises ValueError where it is not a time.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        if text.strip().lower() in _MISSING:
            return None
        raise
    try:
        if found.tzinfo is None:
            return found.replace(tzinfo=UTC).timestamp() - utc_offset
        return found.timestamp()
    except OverflowError:
        raise ValueError(text) from None
