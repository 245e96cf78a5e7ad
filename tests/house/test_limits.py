"""The limits of the house: each fails in a copy that exceeds it, and only ever falls."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from house_figures import Figure
from house_limits import Limit, above, loose, read, tightened, unrecorded
from support.project_copy import ROOT, append, copy_to

FILE: Final = "tools/house_limits.toml"
FUNCTIONS: Final = "".join(
    f"def of_{number}(one, other):\n    return one * {number} + other\n" for number in range(3)
)
LONG: Final = "with words " * 10
# What makes a figure exceed its limit: the file, and what is added to it.
EXCESSES: Final = {
    "files.long": ("src/maar/kube/lists_of_numbers.py", "x = 1\n" * 301),
    "files.longest": ("src/maar/core/tables/tables.py", "x = 1\n" * 20),
    "public.core/reporting": ("src/maar/core/reporting/plan.py", "\n\ndef one_more() -> None: ...\n"),
    "public.others": ("src/maar/kube/watch.py", "\n\nONE_MORE = 1\n"),
    "public.core/newcomer": ("src/maar/core/newcomer/__init__.py", '"""New."""\n\nNAME = 1\n'),
    "inside-cycle.core/views": ("src/maar/core/views/svg.py", "\nfrom maar.core.cycle.state import State\n"),
    "inside-cycle.apps": ("src/maar/apps/up.py", "\nimport maar.core.cycle.state\n"),
    "prose.markdown": ("docs/metrics.md", f"\n{LONG}\n"),
    "prose.docstrings": ("src/maar/kube/paths.py", f'\n\ndef _more() -> None:\n    """{LONG}"""\n'),
    "duplicates.source": ("src/maar/kube/retry.py", FUNCTIONS + FUNCTIONS),
    "duplicates.others": ("bench/measure.py", FUNCTIONS + FUNCTIONS),
}  # fmt: skip
DETOUR: Final = """

from maar.core.newcomer import detour

_feed = Engine.feed


def _feed_by_detour(self: Engine, events: object) -> None:
    detour.step()
    _feed(self, events)


Engine.feed = _feed_by_detour
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the project that a test may spoil."""
    return copy_to(tmp_path)


def checked(house: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the check in a copy, on the code of the copy."""
    command = [sys.executable, "tools/house_limits.py", *options]
    environment = {**os.environ, "PYTHONPATH": "src"}
    return subprocess.run(command, cwd=house, env=environment, capture_output=True, text=True, check=False)


def tight(house: Path) -> Mapping[str, int]:
    """Limits as low as the figures of a copy, by name."""
    assert checked(house, "--tighten").returncode == 0
    return {name: limit.limit for name, limit in read((house / FILE).read_text(encoding="utf-8")).items()}


def test_every_limit_fails_when_it_is_exceeded(house: Path) -> None:
    """One copy is spoilt in every way; its limits are tightened first: one more is too much."""
    limits = tight(house)
    assert checked(house).returncode == 0
    for file, text in EXCESSES.values():
        append(house / file, text)
    append(house / "src/maar/core/newcomer/detour.py", '"""A detour."""\n\n\ndef step() -> None: ...\n')
    append(house / "src/maar/core/engine.py", DETOUR)
    result = checked(house)
    assert result.returncode == 1, result.stderr
    for name in (*EXCESSES, "pod.files", "pod.changes"):
        assert f"{name} is " in result.stdout
        assert f"its limit {limits.get(name, 0)}" in next(
            line for line in result.stdout.splitlines() if f": {name} is " in line
        )


def test_what_a_figure_counts_is_listed(house: Path) -> None:
    append(house / "docs/metrics.md", f"\n{LONG}\n")
    listed = checked(house, "--list", "prose.markdown").stdout.splitlines()
    number = len((house / "docs/metrics.md").read_text(encoding="utf-8").splitlines())
    assert f"docs/metrics.md:{number}" in listed


def test_limits_are_lowered_and_never_raised() -> None:
    text = f"{entry('a.low', 5)}\n# a comment\n{entry('a.high', 7)}\n{entry('a.gone', 3)}"
    lower = tightened(text, {"a.low": figure(6), "a.high": figure(2)})
    assert {name: one.limit for name, one in read(lower).items()} == {"a.low": 5, "a.high": 2, "a.gone": 0}
    assert "# a comment" in lower


def test_a_figure_clearly_below_its_limit_is_told_and_fails_nothing() -> None:
    limits = read(entry("a.b", 100))
    assert [*loose(limits, {"a.b": figure(98)})] == []
    [line] = loose(limits, {"a.b": figure(90)})
    assert "a.b is 90, its limit 100" in line
    assert [*above(limits, {"a.b": figure(90)})] == []


def test_a_raised_limit_names_a_record_that_exists() -> None:
    assert [*unrecorded({"a.b": Limit(1, "why", "docs/decisions/0001-a-pure-core.md")})] == []
    for wrong in ("docs/decisions/0001-nothing.md", "README.md"):
        [line] = unrecorded({"a.b": Limit(1, "why", wrong)})
        assert f"a.b is raised by {wrong}, which is no record" in line


def test_every_limit_has_a_reason_of_one_line() -> None:
    text = (ROOT / FILE).read_text(encoding="utf-8")
    assert tomllib.loads(text)
    for name, limit in read(text).items():
        assert limit.why, name
        assert "\n" not in limit.why, name


def entry(name: str, limit: int) -> str:
    """An entry as the file has it."""
    return f'[{name}]\nlimit = {limit}\nwhy = "reasons"\n'


def figure(number: int) -> Figure:
    """A figure that counts nothing in particular."""
    return Figure(number, ())
