"""Durations as Go and Kubernetes write them: 30s, 1h2m3s, 500ms."""

import re
from typing import Final

_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|μs|ns)", re.ASCII)
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
_LONGEST_TEXT: Final = 64
_LONGEST: Final = 100 * 365 * 24 * 3600.0


class BadDurationError(ValueError):
    """A text that is no duration."""


def seconds(text: str) -> float:
    """Read a duration."""
    if text == "0":
        return 0.0
    if len(text) > _LONGEST_TEXT or _WHOLE.fullmatch(text) is None:
        raise BadDurationError(f"{text[:_LONGEST_TEXT]!r} is not a duration: write 30s, 1h30m or 500ms")
    total = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    if total > _LONGEST:
        raise BadDurationError(f"{text!r} is longer than a hundred years: write less, or leave it out")
    return total
