"""Quantities, durations and times, as Kubernetes writes them."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from reference.amounts import Amounts
from reference.objects import LONG_AGO

SUFFIXES: Final = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{suffix + "i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}
QUANTITY: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|([A-Za-z]*))")
DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|[hms])")
SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def quantity(text: object) -> Fraction:
    """A Kubernetes quantity, exactly."""
    match = QUANTITY.fullmatch(str(text))
    if not match or (match[3] or "") not in SUFFIXES:
        raise ValueError(f"{text!r} is not a quantity")
    number, exponent, suffix = match.groups()
    return Fraction(number) * (Fraction(10) ** int(exponent) if exponent else SUFFIXES[suffix or ""])


def amounts(quantities: Mapping[str, Any] | None) -> Amounts:
    """A resource list."""
    return Amounts({resource: quantity(text) for resource, text in (quantities or {}).items()})


def duration(text: object) -> timedelta | None:
    """A Go duration such as 10m or 1h30m; a plain 0 too; unset is None."""
    if text is None:
        return None
    parts = DURATION.findall(str(text))
    if "".join(number + unit for number, unit in parts) != str(text) and str(text) != "0":
        raise ValueError(f"{text!r} is not a duration")
    return timedelta(seconds=sum(float(number) * SECONDS[unit] for number, unit in parts))


def time(text: object) -> datetime:
    """An RFC 3339 time."""
    return datetime.fromisoformat(str(text))


def created(metadata: Mapping[str, Any]) -> datetime:
    """When an object was made; one that does not say is older than all that do."""
    return time(metadata.get("creationTimestamp", LONG_AGO))
