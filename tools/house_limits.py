"""Compares figures of the code with their limits in `tools/house_limits.toml`, which only fall.

A figure above its limit fails the check. A figure clearly below it is printed, and fails nothing:
`python tools/house_limits.py --tighten` then lowers every limit to the present figure, and raises
none. A limit is raised by hand, with a decision record that the entry names as `raised_by`. A
figure without an entry has the limit 0, so that a new package needs an entry. `--list NAME` prints
what a figure counts.
"""

import argparse
import gc
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from house_figures import Figure, figures
from tracked_files import tracked
from walks import pod_in_core

LIMITS: Final = Path("tools/house_limits.toml")
COMMAND: Final = "python tools/house_limits.py"
RECORDS: Final = Path("docs/decisions")
CLEARLY: Final = 0.97  # of a limit: a figure below that is worth a line
HEADER: Final = re.compile(r"^\[.+\]$")
LIMIT: Final = re.compile(r"^limit = \d+$")


class Limit(msgspec.Struct, forbid_unknown_fields=True):
    """The most that a figure may be, why it is counted, and the record that raised it."""

    limit: int
    why: str
    raised_by: str = ""


Limits = Mapping[str, Limit]


def main() -> int:
    """Print the figures above their limits and those clearly below; the former fail with 1."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tighten", action="store_true", help="lower the limits to the present figures")
    parser.add_argument("--list", metavar="NAME", help="print what a figure counts, place by place")
    given = parser.parse_args()
    gc.disable()  # trees of all modules are alive until the end, and looking through them doubles the time
    measured, text = {**_pod(), **figures(tracked())}, LIMITS.read_text(encoding="utf-8")
    if given.list:
        print("\n".join(measured[given.list].places))
        return 0
    if given.tighten:
        LIMITS.write_text(tightened(text, measured), encoding="utf-8")
        return 0
    limits = read(text)
    for line in loose(limits, measured):
        print(line)
    problems = [*above(limits, measured), *unrecorded(limits)]
    for line in problems:
        print(line)
    return 1 if problems else 0


def read(text: str) -> Limits:
    """The limits by the names of their figures."""
    groups = msgspec.convert(tomllib.loads(text), dict[str, dict[str, Limit]])
    return {f"{group}.{name}": limit for group, named in groups.items() for name, limit in named.items()}


def above(limits: Limits, measured: Mapping[str, Figure]) -> Iterator[str]:
    """What fails the check."""
    for name, figure in measured.items():
        most = limits[name].limit if name in limits else 0
        if figure.number > most:
            why = f" ({limits[name].why})" if name in limits else ""
            yield (
                f"{LIMITS}: {name} is {figure.number}, its limit {most}{why}; lower it, or raise"
                f" the limit with a decision record; `{COMMAND} --list {name}` lists what is counted"
            )


def unrecorded(limits: Limits) -> Iterator[str]:
    """Limits that say that a record raised them, which does not exist."""
    for name, limit in limits.items():
        record = Path(limit.raised_by)
        if limit.raised_by and (record.parent != RECORDS or not record.is_file()):
            yield f"{LIMITS}: {name} is raised by {record}, which is no record; write it in {RECORDS}"


def loose(limits: Limits, measured: Mapping[str, Figure]) -> Iterator[str]:
    """What can be tightened; this fails nothing."""
    for name, limit in limits.items():
        number = measured[name].number if name in measured else 0
        if number < limit.limit * CLEARLY:
            yield f"{LIMITS}: {name} is {number}, its limit {limit.limit}; `{COMMAND} --tighten` lowers it"


def tightened(text: str, measured: Mapping[str, Figure]) -> str:
    """The file with limits as low as the figures are; all else in it stays as it is."""
    lines, name = list[str](), ""
    for line in text.splitlines():
        if HEADER.match(line):
            [name] = read(f"{line}\nlimit = 0\nwhy = ''")
        if LIMIT.match(line):
            number = measured[name].number if name in measured else 0
            lines.append(f"limit = {min(number, int(line.removeprefix('limit = ')))}")
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _pod() -> dict[str, Figure]:
    """How many files one pod passes in the core, and how often it changes from one to another."""
    files = [file for file, _, _ in pod_in_core()]
    changes = [f"{one} to {other}" for one, other in pairwise(files) if one != other]
    return {"pod.files": Figure.counting(sorted(set(files))), "pod.changes": Figure.counting(changes)}


if __name__ == "__main__":
    sys.exit(main())
