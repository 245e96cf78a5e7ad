"""Times as Kubernetes writes them, and what Go says about others."""

import re
from datetime import datetime
from typing import Final

TIME: Final = "2006-01-02T15:04:05Z07:00"
MICRO_TIME: Final = "2006-01-02T15:04:05.000000Z07:00"

_PARTS: Final = tuple(
    (part, re.compile(part if not part.isdigit() else f"[0-9]{{{len(part)}}}"))
    for part in ("2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05")
)
_ZONE: Final = ("Z07:00", re.compile("Z|[+-][0-9]{2}:[0-9]{2}"))
_FRACTION: Final = (".000000", re.compile(r"\.[0-9]{6}"))
_ANY_FRACTION: Final = ("", re.compile(r"(\.[0-9]+)?"))


def bad_time(text: str, layout: str = TIME) -> str | None:
    """Why a text is not a time of a layout, as Go says it; None where it is one."""
    rest = text
    for part, pattern in (*_PARTS, _FRACTION if layout == MICRO_TIME else _ANY_FRACTION, _ZONE):
        found = pattern.match(rest)
        if found is None:
            return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{part}"'
        rest = rest[found.end() :]
    if rest:
        return f'parsing time "{text}": extra text: "{rest}"'
    try:
        datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")  # noqa: DTZ007 - only whether there is such a day
    except ValueError:
        return f'parsing time "{text}": day out of range'
    return None
