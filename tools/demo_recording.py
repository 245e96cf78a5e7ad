"""Draws docs/pictures/demo.svg: a recording of `maar demo`, an animation without scripts.

Run it after the demo has changed: `PYTHONPATH=tools python tools/demo_recording.py`. It takes half
a minute. The demo runs on a terminal of its own, so that it draws what readers see. A picture of
the display is kept for every few minutes of the simulated hour, and the summary at the end.

All pictures stand below one another, and the animation moves them past a window in steps. A line
that several of them have is stored once. Readers who want no motion see the summary.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from rich.text import Text

ROOT: Final = Path(__file__).parents[1]
PICTURE: Final = ROOT / "docs" / "pictures" / "demo.svg"
COMMAND: Final = ("maar", "demo", "--speed", "120")
COLUMNS: Final = 80
LINES: Final = 40  # more than the display has, so that nothing scrolls
EVERY_MINUTES: Final = 3
SUMMARY_STEPS: Final = 8  # for so many steps the summary stays
STEP_S: Final = 0.8
CELL: Final = (7.8, 17)  # width and height of a character
MARGIN: Final = 12
HIDE_CURSOR: Final = "\x1b[?25l"
SHOW_CURSOR: Final = "\x1b[?25h"
# What rich writes before it draws the display anew: it erases each line, from the last to the first.
ERASED: Final = re.compile(r"\r?(?:\x1b\[2K\x1b\[1A|\x1b\[1A\x1b\[2K)+(?:\x1b\[2K)?")
HOUR: Final = re.compile(r"^(\d\d):\d\d of the hour")
CLASSES: Final = {"bold": "t", "dim": "d", "color(1)": "r", "color(2)": "g", "color(3)": "y", "color(4)": "b"}
STYLE: Final = """
svg{--paper:#fff;--t:#1f2328;--d:#656d76;--g:#1a7f37;--y:#9a6700;--b:#0969da;--r:#cf222e}
@media(prefers-color-scheme:dark){
svg{--paper:#0d1117;--t:#e6edf3;--d:#8b949e;--g:#3fb950;--y:#d29922;--b:#58a6ff;--r:#f85149}}
.paper{fill:var(--paper);stroke:var(--d);stroke-opacity:.4}
text{font:13px ui-monospace,DejaVu Sans Mono,Menlo,Consolas,monospace;fill:var(--t);white-space:pre}
.t{font-weight:bold}.d{fill:var(--d)}.g{fill:var(--g)}.y{fill:var(--y)}.b{fill:var(--b)}.r{fill:var(--r)}
"""


def main() -> None:
    """Record the demo and draw it."""
    pictures = displays(recorded())
    if len(pictures) < SUMMARY_STEPS:
        sys.exit("the demo drew hardly anything; run it on a terminal and see why")
    PICTURE.write_text(drawn(pictures), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {len(pictures)} pictures, {PICTURE.stat().st_size:,} bytes")


def recorded() -> str:
    """What the demo writes to a terminal."""
    terminal, end = os.openpty()
    size = {"COLUMNS": str(COLUMNS), "LINES": str(LINES), "TERM": "xterm-256color"}
    program = str(Path(sys.executable).with_name(COMMAND[0]))
    written = b""
    with subprocess.Popen(
        [program, *COMMAND[1:]], cwd=ROOT, env={**os.environ, **size}, stdin=end, stdout=end, stderr=end
    ):
        os.close(end)
        try:
            while part := os.read(terminal, 1 << 16):
                written += part
        except OSError:  # so Linux says that the other end is closed
            pass
    return written.decode()


def displays(written: str) -> list[list[Text]]:
    """The display every few minutes of the hour, and the summary."""
    _, _, shown = written.partition(HIDE_CURSOR)
    shown, _, summary = shown.partition(SHOW_CURSOR)
    found: list[list[Text]] = []
    next_minute = EVERY_MINUTES  # in the first minutes nothing runs
    for display in ERASED.split(shown):
        lines = _lines(display)
        hour = HOUR.match(lines[0].plain) if lines else None
        if hour and int(hour[1]) >= next_minute:
            found.append(lines)
            next_minute = int(hour[1]) + EVERY_MINUTES
    return [*found, [part for line in _lines(ERASED.sub("", summary)) for part in _as_wide_as_terminal(line)]]


def _lines(display: str) -> list[Text]:
    found = [Text.from_ansi(line) for line in display.replace("\r", "").split("\n")]
    return found if found[-1].plain else found[:-1]


def _as_wide_as_terminal(line: Text) -> list[Text]:
    return list(line.divide(range(COLUMNS, len(line), COLUMNS)))


def drawn(pictures: list[list[Text]]) -> str:
    """The animation as SVG."""
    wide, high = CELL
    rows = max(map(len, pictures)) + 1  # below the command
    height, width = rows * high, COLUMNS * wide
    names: dict[str, str] = {}
    strip = [_picture(lines, names) for lines in pictures]
    steps = len(pictures) + SUMMARY_STEPS - 1
    last = (len(pictures) - 1) * height
    strip.append(f'<g id="end">{strip.pop()}</g>')
    moved = [f'<g transform="translate(0,{number * height})">{one}</g>' for number, one in enumerate(strip)]
    moved += [f'<use href="#end" y="{number * height}"/>' for number in range(len(pictures), steps)]
    motion = (
        f"@keyframes play{{to{{transform:translateY(-{steps * height}px)}}}}\n"
        f".strip{{animation:play {steps * STEP_S:g}s steps({steps}) infinite}}\n"
        f"@media(prefers-reduced-motion){{.strip{{animation:none;transform:translateY(-{last}px)}}}}\n"
    )
    size = f"{width + 2 * MARGIN:g} {height + 2 * MARGIN:g}"
    stored = "\n".join(f'<g id="{name}">{line}</g>' for line, name in names.items())
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img">
<title>A recording of maar demo: a tree of queues shares 96 CPUs over an hour, and a summary.</title>
<style>{STYLE}{motion}</style>
<defs>
{stored}
</defs>
<rect class="paper" width="100%" height="100%" rx="8"/>
<svg x="{MARGIN}" y="{MARGIN}" width="{width:g}" height="{height}" viewBox="0 0 {width:g} {height}">
<g class="strip">
{chr(10).join(moved)}
</g></svg></svg>
"""


def _picture(lines: list[Text], names: dict[str, str]) -> str:
    command = Text.assemble(("$ make demo", "bold"))
    return "".join(_used(number, line, names) for number, line in enumerate([command, *lines]))


def _used(number: int, line: Text, names: dict[str, str]) -> str:
    if not line.plain.strip():
        return ""
    name = names.setdefault("".join(_parts(line)), f"l{len(names)}")
    return f'<use href="#{name}" y="{number * CELL[1]}"/>'


def _parts(line: Text) -> Iterator[str]:
    """The parts of a line that look alike, each where it begins and as wide as its characters."""
    classes = ["".join(_classes(line, place)) for place in range(len(line))]
    begin = 0
    for place in range(1, len(line) + 1):
        if place == len(line) or classes[place] != classes[begin]:
            text = line.plain[begin:place]
            if text.strip():
                left = f"{begin * CELL[0]:g}"
                length = f"{len(text) * CELL[0]:g}"
                named = f' class="{classes[begin]}"' if classes[begin] else ""
                yield f'<text x="{left}" y="13" textLength="{length}"{named}>{escape(text)}</text>'
            begin = place


def _classes(line: Text, place: int) -> Iterator[str]:
    for span in line.spans:
        if span.start <= place < span.end:
            for word in str(span.style).split():
                if word in CLASSES:
                    yield CLASSES[word]


if __name__ == "__main__":
    main()
