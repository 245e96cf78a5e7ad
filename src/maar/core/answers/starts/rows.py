"""Planned starts as cells of a table and as plain data."""

from typing import Final

from maar.core.answers.future import Start
from maar.core.model.durations import time_to_come

HEADINGS: Final = ("START", "CERTAINTY")
WIDE: Final = ("WAITS FOR", "BECAUSE")
_NONE: Final = "<none>"


def start_cells(start: Start | None) -> list[str]:
    """When, and how sure; nothing of one that does not wait, or was not asked about."""
    return [_NONE, _NONE] if start is None else [start_text(start), start.certainty]


def wide_cells(start: Start | None) -> list[str]:
    """What it waits for at present, and what its start depends on."""
    return [_NONE, _NONE] if start is None else [start.waits_for or _NONE, start.because or _NONE]


def start_text(start: Start) -> str:
    """The time of a start, to the second and rounded up."""
    return "unknown" if start.time is None else time_to_come(start.time)


def start_data(start: Start) -> dict[str, object]:
    """A start as plain data; time is null where it is unknown."""
    return {
        "time": None if start.time is None else time_to_come(start.time),
        "certainty": start.certainty,
        "because": start.because,
        "waitsFor": start.waits_for,
    }
