"""Durations as Go and Kubernetes write them: 30s, 1h2m3s, 500ms; ages as kubectl shows them; and times."""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Final

_UNITS: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "\u00b5s": Fraction(1, 10**6),
    "\u03bcs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern})+")
_LONGEST_TEXT: Final = 64
LONGEST: Final = 100 * 365 * 24 * 3600

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3_600, 86_400, 31_536_000
_AGES: Final = (  # below this, whole first unit, and the second where it still matters
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
    (1 << 62, _YEAR, "y", 0, ""),
)


class BadDurationError(ValueError):
    """A text that is no duration."""


@lru_cache(maxsize=1024)  # thousands of pods state the same few
def seconds(text: str) -> float:
    """Read a duration of at most a hundred years."""
    total = Fraction() if text == "0" else exact_seconds(text)
    if total is None:
        raise BadDurationError(f"{text[:_LONGEST_TEXT]!r} is not a duration: write 30s, 1h30m or 500ms")
    if total > LONGEST:
        raise BadDurationError(f"{text!r} is longer than a hundred years: write less, or leave it out")
    return float(total)


def exact_seconds(text: str) -> Fraction | None:
    """A duration in seconds; None where the text is none."""
    if len(text) > _LONGEST_TEXT or _WHOLE.fullmatch(text) is None:
        return None
    return sum((Fraction(size) * _UNITS[unit] for size, unit in _PART.findall(text)), Fraction())


def duration_text(span: timedelta) -> str:
    """A duration of whole seconds as Go writes it: 1h2m3s."""
    hours, rest = divmod(int(span.total_seconds()), _HOUR)
    minutes, left = divmod(rest, _MINUTE)
    if hours:
        return f"{hours}h{minutes}m{left}s"
    return f"{minutes}m{left}s" if minutes else f"{left}s"


def time_to_come(moment: float) -> str:
    """A time as RFC 3339 writes it, to the second; rounded up, so that it has come then."""
    return datetime.fromtimestamp(ceil(moment), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def age(moment: str, now: float) -> str:
    """The time since a moment, in the two largest units that say something."""
    try:
        passed = int(now - datetime.fromisoformat(moment).timestamp())
    except ValueError:
        return "<unknown>"
    _, unit, letter, part, part_letter = next(step for step in _AGES if passed < step[0])
    whole, rest = divmod(max(passed, 0), unit)
    return f"{whole}{letter}" + (f"{rest // part}{part_letter}" if part and rest // part else "")
