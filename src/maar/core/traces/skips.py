"""What was read of a trace, and what was left out of it and why."""

from array import array
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple


class TraceError(ValueError):
    """A trace that cannot be read at all: what is wrong, where, and what to do next."""


class SkipReason(Enum):
    """Why a record of a trace is left out."""

    NOT_TEXT = "not text: a character of it is NUL"
    TOO_LONG = "longer than any record of this format"
    BAD_FIELDS = "not a record of this format: fields are missing or there are too many"
    BAD_NUMBER = "a number in it cannot be read"
    BAD_TIME = "a time in it cannot be read"
    BAD_JSON = "not a job: its JSON cannot be read"
    PARTIAL = "a part of a job that another record has whole (status 2 to 4)"
    STEP = "a step of a job that another record has whole"
    NO_SUBMISSION = "its time of submission is not known"
    NO_RUN_TIME = "it never ran, or for how long is not known"
    NEGATIVE_RUN_TIME = "it ends before it starts"
    NO_RESOURCES = "it asks for no processors, GPUs or memory, or for how many is not known"
    OUT_OF_RANGE = "a number in it is larger than any real one"
    DUPLICATE = "another job has the same name"
    OUT_OF_ORDER = "submitted long before the jobs above it: sort the file by the time of submission"
    NO_QUEUE = "its queue does not exist"
    LARGER_THAN_NODE = "a pod of it is larger than the largest node: it would never start"
    LARGER_THAN_CLUSTER = "it is larger than the whole cluster: it would never start"


class Skip(NamedTuple):
    """Records that were left out for one reason."""

    reason: SkipReason
    records: int
    line: int  # of the first
    detail: str  # of the first

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.records:,} skipped: {self.reason.value} (first in line {self.line:,}{detail})"


class Skips:
    """Counts while a trace is read: records, jobs made of them, and the others by reason."""

    def __init__(self, *, may_end_early: bool = False) -> None:
        self.read = 0  # records
        self.jobs = 0
        self._found: dict[SkipReason, Skip] = {}
        self._may_end_early = may_end_early
        self._places: dict[SkipReason, array[int]] = {}  # among the records that were read, if so

    def add(self, reason: SkipReason, line: int, detail: str = "") -> None:
        """Count a record that is left out."""
        found = self._found.get(reason)
        self._found[reason] = (
            found._replace(records=found.records + 1) if found else Skip(reason, 1, line, detail)
        )
        if self._may_end_early:
            self._places.setdefault(reason, array("q")).append(self.read)

    def end_at(self, read: int) -> None:
        """Count nothing that came after so many records: no more of them are wanted."""
        self.read = min(self.read, read)
        for reason, places in self._places.items():
            count = sum(place <= read for place in places)
            if count:
                self._found[reason] = self._found[reason]._replace(records=count)
            else:
                del self._found[reason]
        self._places = {reason: self._places[reason] for reason in self._found}

    def __iter__(self) -> Iterator[Skip]:
        return iter(self._found.values())

    @property
    def total(self) -> int:
        """How many records were left out."""
        return sum(one.records for one in self)

    def sentences(self) -> list[str]:
        """A sentence for every reason, most frequent first."""
        return [str(one) for one in sorted(self, key=lambda one: -one.records)]


def excerpt(text: str) -> str:
    """The beginning of a text, as it can be shown in a sentence."""
    return ascii(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


_SHOWN = 40  # characters
