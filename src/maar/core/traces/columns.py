"""Tables with a header line: columns by name, and rows with as many fields.

A row is a line: none of these formats has line ends inside of quotes, and so a quote that is never
closed harms one row only.
"""

import csv
from collections.abc import Iterator
from typing import Final

from maar.core.traces.lines import Numbered
from maar.core.traces.skips import SkipReason, Skips, TraceError, excerpt

_SHOWN: Final = 20  # columns in a sentence


class Table:
    """The columns of a table, and its rows as they are asked for."""

    def __init__(self, lines: Numbered, skips: Skips, format_name: str, delimiter: str = ",") -> None:
        self._lines, self._skips, self._format, self._delimiter = lines, skips, format_name, delimiter
        number, line = next(lines, (0, ""))
        if not number:
            raise TraceError(f"the trace is empty: {format_name} starts with a line of column names")
        self.columns = column_names(line, delimiter)
        self._at = {name: index for index, name in enumerate(self.columns)}

    def require(self, *names: str) -> None:
        """Raise unless there are all of these columns."""
        missing = [name for name in names if name.lower() not in self._at]
        if missing:
            there = ", ".join(excerpt(name) for name in self.columns[:_SHOWN])
            raise TraceError(
                f"{self._format} has no column {', '.join(missing)} in its first line, which has {there}:"
                " name another file or format"
            )

    def at(self, name: str) -> int | None:
        """Where a column is; None: there is none."""
        return self._at.get(name.lower())

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Rows with as many fields as there are columns; others are counted."""
        width, delimiter, skips = len(self.columns), self._delimiter, self._skips
        for number, line in self._lines:
            skips.read += 1
            fields = line.split(delimiter) if '"' not in line else _quoted(line, delimiter)
            if len(fields) == width:
                yield number, fields
            else:
                skips.add(SkipReason.BAD_FIELDS, number, f"{len(fields)} fields, not {width}")


def column_names(line: str, delimiter: str) -> list[str]:
    """The names in a header line, in small letters."""
    return [name.strip().lower() for name in _quoted(line.removeprefix("\ufeff"), delimiter)]


def _quoted(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
