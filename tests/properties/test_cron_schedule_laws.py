"""The times of schedules, beside a slow twin that looks at every minute; and of what is missed."""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from maar.core.model.cron_schedule import MOST_MISSED, WallClockTimes, missed, times_of

MINUTE: Final = timedelta(minutes=1)
SPAN: Final = 2 * 24 * 60  # minutes that the twin looks at
# Half hours of summer time, summer time that begins at midnight, offsets of 45 minutes, and none at all.
ZONES: Final = (
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu",
    "Africa/Cairo", "America/St_Johns", "Pacific/Apia",
)  # fmt: skip
# Around changes of clocks, and around the ends of months and years.
MOMENTS: Final = (
    "2026-03-28T12:00", "2026-10-24T12:00", "2026-03-07T12:00", "2026-10-31T12:00", "2026-04-04T12:00",
    "2026-10-03T12:00", "2026-09-05T12:00", "2026-04-23T12:00", "2010-11-06T12:00", "2011-12-29T00:00",
    "2026-02-27T00:00", "2028-02-28T00:00", "2026-12-30T12:00",
)  # fmt: skip


def field(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    spans = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.tuples(st.one_of(st.just("*"), spans, number.map(str)), st.integers(1, 20)).map(
        lambda pair: f"{pair[0]}/{pair[1]}"
    )
    part = st.one_of(number.map(str), spans, steps)
    return st.one_of(st.sampled_from("*?"), st.lists(part, min_size=1, max_size=3).map(",".join))


SCHEDULES: Final = st.tuples(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6)).map(
    " ".join
)
STARTS: Final = st.tuples(st.sampled_from(MOMENTS), st.integers(0, 24 * 60 * 60)).map(
    lambda pair: datetime.fromisoformat(f"{pair[0]}:00+00:00") + timedelta(seconds=pair[1])
)


def shows(part: str, value: int, least: int, most: int) -> bool:
    """Whether one part of a field, such as 1-5/2, names a value; written from the definition."""
    span, _, step = part.partition("/")
    low, _, high = span.partition("-")
    first = least if span in "*?" else int(low)
    last = most if span in "*?" or (step and not high) else int(high or low)
    return first <= value <= last and (value - first) % int(step or 1) == 0


def is_time(schedule: str, clock: datetime) -> bool:
    """Whether a wall clock shows a time of a schedule."""
    values = (clock.minute, clock.hour, clock.day, clock.month, clock.isoweekday() % 7)
    limits = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
    minute, hour, day, month, weekday = (
        any(shows(part, value, *limit) for part in text.split(","))
        for text, value, limit in zip(schedule.split(), values, limits, strict=True)
    )
    _, _, days, _, weekdays = schedule.split()
    is_any = any(part in "*?" for text in (days, weekdays) for part in text.split(","))
    return minute and hour and month and ((day and weekday) if is_any else (day or weekday))


def slow(schedule: str, zone: ZoneInfo, start: datetime, end: datetime) -> list[datetime]:
    """Every time after a start and not after an end, by looking at every minute between them."""
    here, found = start.replace(second=0, microsecond=0) + MINUTE, []
    while here <= end:
        if is_time(schedule, here.astimezone(zone)):
            found.append(here)
        here += MINUTE
    return found


@given(SCHEDULES, st.sampled_from(ZONES).map(ZoneInfo), STARTS)
def test_the_next_and_the_last_time_are_those_that_a_walk_through_all_minutes_finds(
    schedule: str, zone: ZoneInfo, start: datetime
) -> None:
    times, end = times_of(schedule, zone, start), start + SPAN * MINUTE
    expected = slow(schedule, zone, start, end)
    following, last = times.after(start), times.until(end)
    if expected:
        assert (following, last) == (expected[0], expected[-1])
    else:
        assert following is None or following > end
        assert last is None or last <= start


@given(SCHEDULES, st.sampled_from(ZONES).map(ZoneInfo), STARTS, st.integers(0, SPAN))
def test_of_missed_times_the_latest_counts_however_many_there_are(
    schedule: str, zone: ZoneInfo, start: datetime, minutes: int
) -> None:
    times, end = times_of(schedule, zone, start), start + minutes * MINUTE
    expected = slow(schedule, zone, start, end)
    found = missed(times, start, end)
    assert found.latest == (expected[-1] if expected else None)
    assert found.number == min(len(expected), MOST_MISSED + 1)


@given(st.integers(60, 10**6), st.integers(-(10**7), 10**7))
def test_intervals_go_on_from_the_first_moment(length: int, offset: int) -> None:
    first = datetime(2026, 1, 1, tzinfo=UTC)
    times, moment = times_of(f"@every {length}s", UTC, first), first + timedelta(seconds=offset)
    following, last = times.after(moment), times.until(moment)
    assert following is not None
    assert following > max(moment, first)
    assert (following - first) % timedelta(seconds=length) == timedelta()
    assert following - max(moment, first) <= timedelta(seconds=length)
    assert last == (following - timedelta(seconds=length) if offset >= length else None)


def test_a_descriptor_is_the_fields_that_it_stands_for() -> None:
    now = datetime(2026, 6, 1, tzinfo=UTC)
    for descriptor, fields in (
        ("@yearly", "0 0 1 1 *"),
        ("@weekly", "0 0 * * sun"),
        ("@hourly", "0 * * * ?"),
    ):
        assert isinstance(times_of(descriptor, UTC, now), WallClockTimes)
        assert times_of(descriptor, UTC, now).after(now) == times_of(fields, UTC, now).after(now)
