"""The times of a cron job: five fields of a wall clock in some zone, or an interval.

A time of five fields is every minute of real time at which the wall clock in the zone shows a
minute, hour, day and month that the fields name. Where both days are restricted, the day of the
month or the day of the week suffices. So a time that the clock skips in spring does not come, and
one that it shows twice in autumn comes twice: these are the rules of Kubernetes' cron jobs, and not
those of the libraries for Python, which move or merge such times.

The search walks through real time, and jumps to the end of an hour or day that no field names.
Within a jump the wall clock shows nothing but that hour or day, as long as the offset from UTC is
the same at both ends; where it is not, the walk takes a single minute. No schedule that ever comes
has gaps of more than eight years (29 February around 2100), so a search takes at most some thousand
steps of a day.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple, Protocol

from maar.core.model.durations import BadDurationError, seconds
from maar.core.model.whole_numbers import whole_number

MOST_MISSED: Final = 100  # more are not counted
_MINUTE: Final = timedelta(minutes=1)
_LONGEST_GAP: Final = timedelta(days=9 * 366)
_HOUR_MINUTES, _DAY_MINUTES = 60, 24 * 60
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_ZONES: Final = ("TZ=", "CRON_TZ=")
_ANY: Final = ("*", "?")
_LONGEST_TEXT: Final = 256


class BadScheduleError(ValueError):
    """A text that is no schedule: what is wrong with it and what to write instead."""


class _Field(NamedTuple):
    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()  # of its values, from the least


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 6, _WEEKDAYS),
)


class Times(Protocol):
    """Moments of real time, in UTC."""

    def after(self, moment: datetime) -> datetime | None:
        """The first time after a moment; None where none will come."""

    def until(self, moment: datetime) -> datetime | None:
        """The last time that is not after a moment; None where there was none."""


@dataclass(frozen=True)
class WallClockTimes:
    """The times that five fields name on the wall clock of a zone."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    is_either_day: bool  # both days are restricted, and one of them suffices
    zone: tzinfo

    def after(self, moment: datetime) -> datetime | None:
        """The first time after a moment."""
        return self._search(_whole_minute(moment) + _MINUTE, 1)

    def until(self, moment: datetime) -> datetime | None:
        """The last time that is not after a moment."""
        return self._search(_whole_minute(moment), -1)

    def _search(self, start: datetime, direction: int) -> datetime | None:
        here = start
        while abs(here - start) < _LONGEST_GAP:
            clock = here.astimezone(self.zone)
            minutes = self._step(clock, direction)
            if not minutes:
                return here
            there = here + direction * minutes * _MINUTE
            is_steady = there.astimezone(self.zone).utcoffset() == clock.utcoffset()
            here = there if is_steady else here + direction * _MINUTE
        return None

    def _step(self, clock: datetime, direction: int) -> int:
        """How many minutes can be passed over; 0 where the fields name this one."""
        if clock.month not in self.months or not self._has_day(clock):
            passed, whole = clock.hour * _HOUR_MINUTES + clock.minute, _DAY_MINUTES
        elif clock.hour not in self.hours:
            passed, whole = clock.minute, _HOUR_MINUTES
        else:
            return int(clock.minute not in self.minutes)
        return whole - passed if direction > 0 else passed + 1

    def _has_day(self, clock: datetime) -> bool:
        is_day, is_weekday = clock.day in self.days, clock.isoweekday() % 7 in self.weekdays
        return (is_day or is_weekday) if self.is_either_day else (is_day and is_weekday)


@dataclass(frozen=True)
class IntervalTimes:
    """Times in equal intervals after a first moment, which is none itself."""

    first: datetime
    interval: timedelta

    def after(self, moment: datetime) -> datetime | None:
        """The first time after a moment."""
        number = (moment - self.first) // self.interval + 1
        return self.first + max(number, 1) * self.interval

    def until(self, moment: datetime) -> datetime | None:
        """The last time that is not after a moment."""
        number = (moment - self.first) // self.interval
        return self.first + number * self.interval if number > 0 else None


class Missed(NamedTuple):
    """The last time of a span, and how many there were, counted up to one more than MOST_MISSED."""

    latest: datetime | None
    number: int


def missed(times: Times, since: datetime, now: datetime) -> Missed:
    """The times after one moment and not after another."""
    number, latest, due = 0, None, times.after(since)
    while due is not None and due <= now:
        number, latest = number + 1, due
        if number > MOST_MISSED:
            return Missed(times.until(now), number)
        due = times.after(due)
    return Missed(latest, number)


def times_of(schedule: str, zone: tzinfo, first: datetime) -> Times:
    """Read a schedule; intervals begin at a first moment."""
    text = schedule.strip()
    if len(text) > _LONGEST_TEXT:
        raise BadScheduleError(f"has more than {_LONGEST_TEXT} characters; write it shorter")
    if text.startswith(_ZONES):
        raise BadScheduleError("names a time zone itself; write the zone into spec.timeZone")
    if text.startswith(_EVERY):
        return IntervalTimes(first, _interval(text.removeprefix(_EVERY).strip()))
    if text.startswith("@") and text not in _DESCRIPTORS:
        known = ", ".join(_DESCRIPTORS)
        raise BadScheduleError(f"has an unknown descriptor; write one of {known} or @every 1h30m")
    return _wall_clock_times(_DESCRIPTORS.get(text, text), zone)


def _interval(text: str) -> timedelta:
    try:
        found = timedelta(seconds=int(seconds(text)))
    except BadDurationError as error:
        raise BadScheduleError(f"has no interval after @every: {error}") from None
    if found < _MINUTE:
        raise BadScheduleError("has an interval of less than a minute; write at least @every 1m")
    return found


def _wall_clock_times(text: str, zone: tzinfo) -> WallClockTimes:
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise BadScheduleError(
            f"has {len(parts)} fields; write five: minute, hour, day of the month, month and day of the week"
        )
    minutes, hours, days, months, weekdays = map(_values, _FIELDS, parts)
    either = not _is_any(parts[2]) and not _is_any(parts[4])
    return WallClockTimes(minutes, hours, days, months, weekdays, either, zone)


def _is_any(text: str) -> bool:
    return any(part in _ANY for part in text.split(","))


def _values(field: _Field, text: str) -> frozenset[int]:
    return frozenset(value for part in text.split(",") for value in _range(field, part))


def _range(field: _Field, text: str) -> range:
    """The values of one part: *, 5, 1-5, each with a step after a slash; 5/10 is 5-<most>/10."""
    span, slash, step_text = text.partition("/")
    step = whole_number(step_text) if slash else 1
    if not step:
        raise BadScheduleError(f"has {text!r} for the {field.name}; write a whole number above 0 as its step")
    if span in _ANY:
        first, last = field.least, field.most
    else:
        low, dash, high = span.partition("-")
        first = _value(field, low)
        last = _value(field, high) if dash else field.most if slash else first
    if first > last:
        raise BadScheduleError(f"has {text!r}, a {field.name} that ends before it begins; swap the two")
    return range(first, last + 1, step)


def _value(field: _Field, text: str) -> int:
    if text.lower() in field.names:
        return field.names.index(text.lower()) + field.least
    number = whole_number(text)
    if number is None or not field.least <= number <= field.most:
        named = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
        raise BadScheduleError(
            f"has {text[:20]!r} where the {field.name} belongs; write {field.least} to {field.most}{named}"
        )
    return number


def _whole_minute(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(second=0, microsecond=0)
