"""Schedules that people write: what is read, what is refused and how, and the two odd nights of a year."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from maar.core.model.cron_schedule import BadScheduleError, times_of

BERLIN = ZoneInfo("Europe/Berlin")
CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def following(schedule: str, moment: str, zone: ZoneInfo = BERLIN, most: int = 3) -> list[str]:
    """The next times after a moment, as the clock of the zone shows them."""
    found: list[str] = []
    times, here = times_of(schedule, zone, CREATED), datetime.fromisoformat(moment)
    while len(found) < most and (due := times.after(here)) is not None:
        found.append(due.astimezone(zone).strftime("%d.%m. %H:%M%z"))
        here = due
    return found


def test_a_time_that_the_clock_skips_does_not_come() -> None:
    assert following("30 2 * * *", "2026-03-28T12:00+00:00") == [
        "30.03. 02:30+0200",
        "31.03. 02:30+0200",
        "01.04. 02:30+0200",
    ]


def test_a_time_that_the_clock_shows_twice_comes_twice() -> None:
    assert following("30 2 * * *", "2026-10-24T12:00+00:00") == [
        "25.10. 02:30+0200",
        "25.10. 02:30+0100",
        "26.10. 02:30+0100",
    ]


def test_one_of_two_restricted_days_suffices() -> None:
    assert following("0 12 13 * fri", "2026-02-01T00:00+00:00") == [
        "06.02. 12:00+0100",
        "13.02. 12:00+0100",
        "20.02. 12:00+0100",
    ]
    assert following("0 12 13 * *", "2026-02-01T00:00+00:00", most=2) == [
        "13.02. 12:00+0100",
        "13.03. 12:00+0100",
    ]
    assert following("0 12 ? * fri", "2026-02-01T00:00+00:00", most=1) == ["06.02. 12:00+0100"]


def test_a_value_with_a_step_goes_on_to_the_end() -> None:
    assert following("50/5 23 31 dec *", "2026-12-01T00:00+00:00", most=2) == [
        "31.12. 23:50+0100",
        "31.12. 23:55+0100",
    ]


def test_the_29th_of_february_comes_after_eight_years_without_it() -> None:
    assert times_of("0 0 29 2 *", UTC, CREATED).after(datetime(2096, 3, 1, tzinfo=UTC)) == datetime(
        2104, 2, 29, tzinfo=UTC
    )
    assert times_of("0 0 31 4 *", UTC, CREATED).after(CREATED) is None


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("", "has 0 fields; write five"),
        ("0 0 * * * *", "has 6 fields; write five"),
        ("60 * * * *", "has '60' where the minute belongs; write 0 to 59"),
        ("* 24 * * *", "has '24' where the hour belongs; write 0 to 23"),
        ("* * 0 * *", "has '0' where the day of the month belongs; write 1 to 31"),
        ("* * * 13 *", "where the month belongs; write 1 to 12 or jan to dec"),
        ("* * * * 7", "where the day of the week belongs; write 0 to 6 or sun to sat"),
        ("* * * * L", "where the day of the week belongs"),
        ("*/0 * * * *", "write a whole number above 0 as its step"),
        ("*/x * * * *", "write a whole number above 0 as its step"),
        ("5-1 * * * *", "ends before it begins; swap the two"),
        ("1, * * * *", "has '' where the minute belongs"),
        ("²/1 * * * *", "where the minute belongs"),
        ("TZ=UTC * * * * *", "names a time zone itself; write the zone into spec.timeZone"),
        ("CRON_TZ=UTC * * * * *", "names a time zone itself"),
        ("@dayly", "has an unknown descriptor; write one of @yearly"),
        ("@every", "has an unknown descriptor"),
        ("@every soon", "has no interval after @every: 'soon' is not a duration"),
        ("@every 59s", "has an interval of less than a minute; write at least @every 1m"),
        ("* " * 200, "has more than 256 characters"),
    ],
)  # fmt: skip
def test_what_is_no_schedule_is_refused_with_what_to_write(schedule: str, problem: str) -> None:
    with pytest.raises(BadScheduleError) as refusal:
        times_of(schedule, UTC, CREATED)
    assert problem in str(refusal.value)
