"""Pictures of the product at work, made anew for each build from the examples, for light and dark pages.

What a command prints is drawn by Rich, with the colours that it has on a terminal. Such a picture
has no font of its own, which would have to come from another server: it uses the reader's
monospaced one, and every line has its length written beside it. A plot is taken out of the page
that `maar simulate` writes.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME
from rich.text import Text

from doc_site.paths import ROOT

COLUMNS: Final = 92
EXTRA: Final = "extra"  # the folder of files that are copied as they are
REPORT: Final = "simulation-report.html"
THEMES: Final = {"light": DEFAULT_TERMINAL_THEME, "dark": SVG_EXPORT_THEME}
SCREENSHOTS: Final = ROOT / "docs" / "pictures"


class Printed(NamedTuple):
    """A command whose output is drawn, and a sentence for those who do not see the picture."""

    command: str
    meaning: str


class Plot(NamedTuple):
    """A plot of the report of the simulation, by its title."""

    title: str
    meaning: str


SIMULATION: Final = (
    "maar simulate --trace examples/simulate/jobs.swf --nodes 4x16cpu,64Gi "
    "--queues examples/simulate/queues.yaml "
    "--config default --config examples/simulate/no-reclaim.yaml --config fcfs"
)
PICTURES: Final[dict[str, Printed | Plot]] = {
    "plan": Printed(
        "maar plan -f examples/small",
        "What maar plan prints: the tree of queues with what each uses, deserves and asks for, which pods "
        "would be evicted, and why each group waits.",
    ),
    "explain": Printed(
        "maar queue explain train -f examples/small",
        "What maar queue explain prints: how the share of a queue follows from weights and siblings.",
    ),
    "simulation": Plot(
        "Utilisation",
        "A plot of the report: how much of the CPUs is in use over two days, under three policies.",
    ),
}


def draw(folder: Path) -> None:
    """Draw all pictures, each for both themes, and the report of the simulation beside their folder."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        _output(f"{SIMULATION} --out {scratch}")
        report = (Path(scratch) / "report.html").read_text(encoding="utf-8")
    (folder.parent / EXTRA).mkdir()
    (folder.parent / EXTRA / REPORT).write_text(report, encoding="utf-8")
    for name, picture in PICTURES.items():
        for theme in THEMES:
            drawn = _plot(report, picture, theme) if isinstance(picture, Plot) else _terminal(picture, theme)
            (folder / f"{name}-{theme}.svg").write_text(drawn, encoding="utf-8")


def shown(name: str) -> str:
    """A picture in a page of the site: one for each theme, of which the reader sees one."""
    picture = PICTURES[name]
    more = f'<p><a href="{REPORT}">The whole report that this is taken from</a></p>\n' * isinstance(
        picture, Plot
    )
    return _images(f"pictures/{name}-{{}}.svg", picture.meaning) + more


def screenshots(folder: Path) -> str:
    """Pictures of the console where there are some, copied beside the others."""
    files = {theme: SCREENSHOTS / f"console-tree-{theme}.png" for theme in THEMES}
    if not all(file.is_file() for file in files.values()):
        return ""
    for file in files.values():
        (folder / file.name).write_bytes(file.read_bytes())
    return _images(
        "pictures/console-tree-{}.png",
        "The console: every queue as a bar, with what it deserves and what it uses.",
    )


def recording(folder: Path) -> str:
    """The recording of the demo, which has colours for both themes, copied beside the others."""
    file = SCREENSHOTS / "demo.svg"
    (folder / file.name).write_bytes(file.read_bytes())
    meaning = "A recording of make demo: a tree of queues shares 96 CPUs over an hour."
    return f"```{{image}} pictures/{file.name}\n:alt: {meaning}\n```\n"


def _images(place: str, meaning: str) -> str:
    return "\n".join(
        f"```{{image}} {place.format(theme)}\n:alt: {meaning}\n:class: only-{theme}\n```\n"
        for theme in THEMES
    )


def _output(command: str) -> str:
    """What a command prints on a terminal of this width."""
    program, *arguments = shlex.split(command)
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    done = subprocess.run(
        [Path(sys.executable).with_name(program), *arguments],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{command}, of which a picture is drawn, failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _terminal(picture: Printed, theme: str) -> str:
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(
            record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        console.print(Text(f"$ {picture.command}", style="bold"))
        console.print(Text.from_ansi(_output(picture.command)))
        drawn = console.export_svg(title="", theme=THEMES[theme], unique_id=f"picture-{theme}")
    return _FONT.sub("", drawn).replace("Fira Code, monospace", _FONTS)


_FONT: Final = re.compile(r"@font-face \{[^}]*\}|<!-- Generated with[^>]*-->")
_FONTS: Final = "ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace"
_DARK: Final = re.compile(r"@media\(prefers-color-scheme:dark\)\{((?:[^{}]*\{[^{}]*\})*)\}")


def _plot(report: str, plot: Plot, theme: str) -> str:
    """A plot of a report as a file of its own, with the colours that the report has in this theme."""
    style = re.search(r"<style>(.*?)</style>", report, re.DOTALL)
    found = re.search(rf"<svg (?:(?!</svg>).)*?>{plot.title}</title>.*?</svg>", report, re.DOTALL)
    if style is None or found is None:
        raise SystemExit(f"the report of maar simulate has no plot with the title {plot.title}")
    rules = _DARK.sub(r"\1" if theme == "dark" else "", style[1])
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="720" height="326" '
    return found[0].replace("<svg ", head, 1).replace("<title", f"<style>{rules}</style><title", 1)
