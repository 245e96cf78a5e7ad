"""Time zones: IANA names, and nothing that is another zone on another machine."""

import pytest

from maar.apps.time_zones import names, zone


def test_every_name_has_its_zone() -> None:
    assert {"UTC", "Europe/Paris", "Asia/Kathmandu"} <= names()
    assert all(zone(name) is not None for name in names())


@pytest.mark.parametrize(
    "name", ["localtime", "Local", "Europe", "Europe/Pariss", "../etc/passwd", "/etc/passwd", "a\0b", ""]
)
def test_what_is_no_zone_has_none(name: str) -> None:
    assert name not in names()
    assert zone(name) is None
