"""The recording of the demo: what is kept of a terminal's output, and what the picture may contain."""

import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from demo_recording import displays, drawn

PICTURE: Final = Path(__file__).parents[2] / "docs" / "pictures" / "demo.svg"
BAR: Final = "\x1b[32m██\x1b[0m"
WRITTEN: Final = (
    "maar up\r\n\x1b[?25l"
    f"\x1b[1m00:30 of the hour\x1b[0m\r\nroot {BAR}\r\x1b[2K\x1b[1A\x1b[2K"
    f"\x1b[1m03:10 of the hour\x1b[0m\r\nroot {BAR}\r\x1b[2K\x1b[1A\x1b[2K"
    f"\x1b[1m04:50 of the hour\x1b[0m\r\nroot {BAR}\r\x1b[2K\x1b[1A\x1b[2K"
    f"\x1b[1m06:20 of the hour\x1b[0m\r\nroot {BAR}\r\n\x1b[?25h\r\x1b[1A\x1b[2K\x1b[1A\x1b[2K"
    f"the end\r\n{'x' * 85}\r\n"
)


def test_a_display_is_kept_every_few_minutes_and_the_summary_is_as_wide_as_the_terminal() -> None:
    kept = [[line.plain for line in lines] for lines in displays(WRITTEN)]
    assert kept == [
        ["03:10 of the hour", "root ██"],
        ["06:20 of the hour", "root ██"],
        ["the end", "x" * 80, "x" * 5],
    ]


def test_lines_that_come_again_are_stored_once_and_have_their_colours() -> None:
    picture = drawn(displays(WRITTEN))
    assert picture.count('class="g">██</text>') == 1
    name = re.search(r'<g id="(\w+)"><text x="0" y="13" textLength="39">root ', picture)
    assert name
    assert picture.count(f'href="#{name[1]}"') == 2


def test_the_picture_is_well_formed_and_fetches_and_runs_nothing() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    used = {one.tag.rpartition("}")[2] for one in ET.fromstring(text).iter()}  # noqa: S314  # ours
    assert used == {"svg", "title", "style", "defs", "g", "text", "rect", "use"}
    assert not re.search(r"url\(|@import|\bon\w+=", text)
    assert all(target.startswith("#") for target in re.findall(r'href="([^"]*)"', text))
    assert "prefers-color-scheme:dark" in text
    assert "prefers-reduced-motion" in text
