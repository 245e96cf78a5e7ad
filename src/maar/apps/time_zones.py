"""Time zones by their IANA names, from the database of the system or of the package tzdata."""

from datetime import tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

# Files beside the zones, and what is another zone on every machine.
_NOT_ZONES: Final = ("Factory", "localtime", "posixrules")


@cache
def names() -> frozenset[str]:
    """The names of all zones."""
    return frozenset(available_timezones()) - frozenset(_NOT_ZONES)


def zone(name: str) -> tzinfo | None:
    """A zone by its name; None where there is none."""
    if name in _NOT_ZONES:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # no such file, no name of one, or a folder
        return None
