"""Trees as lines of text: branches, columns, and a bar that shows what is used beside what is deserved.

A line is parts with styles, which are the names that terminals have for colours; whoever has none
joins the texts. One column may hold bars: it takes the width that the others leave. A label that
leaves no room for the columns gets a line of its own, so nothing is cut off.
"""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Final, NamedTuple

WIDTH: Final = 100  # where no width is given
LEGEND: Final = "█ used  ▓ used beyond deserved  ░ deserved and idle"

_GAP: Final = "  "
_SHORTEST_BAR: Final = 6
_LONGEST_BAR: Final = 24
_LABEL: Final = 34  # a label of so much has its place, whatever the columns take
_LEAST_TEXT: Final = 30  # columns for a note beside its label


class Part(NamedTuple):
    """A text in one style."""

    text: str
    style: str = ""


class Bar(NamedTuple):
    """What is used beside what is deserved."""

    used: int
    deserved: int


class Row(NamedTuple):
    """A label at its place in the tree, and a cell for each column; `below` draws the branches on."""

    label: str
    below: str
    cells: tuple[Part | Bar, ...]


class Note(NamedTuple):
    """A text beside a place in the tree, across all columns."""

    label: str
    below: str
    text: Part


class Branch(NamedTuple):
    """A name at its place in a tree: what is drawn before it, and below it before its children."""

    name: str
    before: str
    below: str


Line = tuple[Part, ...]


def branches(children: Mapping[str, Sequence[str]], top: str) -> Iterator[Branch]:
    """Walk a tree from a name down, parents before children; what is its own ancestor is met once."""
    waiting, seen = [Branch(top, "", "")], {top}
    while waiting:
        one = waiting.pop()
        inside = [child for child in children.get(one.name, ()) if child not in seen]
        yield Branch(one.name, one.before, one.below + ("│  " if inside else "   "))
        seen.update(inside)
        for child in reversed(inside):
            before, below = ("└─ ", "   ") if child == inside[-1] else ("├─ ", "│  ")
            waiting.append(Branch(child, one.below + before, one.below + below))


def table(headings: Sequence[str], rows: Sequence[Row | Note], width: int = WIDTH) -> Iterator[Line]:
    """Draw rows below headings; a heading with a space before it is over numbers, which end below it."""
    texts = [[_text(cell) for cell in row.cells] for row in rows if isinstance(row, Row)]
    widths = [
        max(len(column[0].strip()), *map(len, column[1:]), 0)
        for column in zip([*headings[1:]], *texts, strict=True)
    ]
    bars = {
        place
        for row in rows
        if isinstance(row, Row)
        for place, one in enumerate(row.cells)
        if isinstance(one, Bar)
    }
    taken = sum(size for place, size in enumerate(widths) if place not in bars) + len(_GAP) * len(widths)
    room = max(_LABEL, width - taken - _SHORTEST_BAR * len(bars))
    label = max(len(one) for one in (headings[0], *(row.label for row in rows)) if len(one) <= room)
    for place in bars:
        widths[place] = max(
            len(headings[1 + place]), min(_LONGEST_BAR, max(_SHORTEST_BAR, width - taken - label))
        )
    rights = [heading.startswith(" ") for heading in headings[1:]]
    yield _joined(Part(headings[0].ljust(label)), [Part(one.strip()) for one in headings[1:]], widths, rights)
    for row in rows:
        first = row.label
        if len(first) > label:
            yield (Part(first),)
            first = row.below
        if isinstance(row, Row):
            yield _joined(Part(first.ljust(label)), row.cells, widths, rights)
        else:
            beside = max(_LEAST_TEXT, width - label - len(_GAP))
            for text in wrap(row.text.text, beside, break_on_hyphens=False):
                yield (Part(first.ljust(label) + _GAP), Part(text, row.text.style))
                first = row.below


def bar(one: Bar, width: int) -> Line:
    """Draw what is used, then what of it is beyond deserved or what is idle; what is there is seen."""
    whole, inside = max(one), min(one)
    if not whole:
        return ()
    cells = round(inside * width / whole)
    if inside < whole:
        cells = min(cells, width - 1)
    cells = max(cells, 1 if inside else 0)
    rest = (
        Part("▓" * (width - cells), "yellow")
        if one.used > one.deserved
        else Part("░" * (width - cells), "dim")
    )
    return Part("█" * cells, "green"), rest


def paragraph(part: Part, width: int = WIDTH) -> Iterator[Line]:
    """Break a text into lines."""
    for text in wrap(part.text, width, break_on_hyphens=False):
        yield (Part(text, part.style),)


def plain(line: Line) -> str:
    """A line without its styles."""
    return "".join(part.text for part in line).rstrip()


def _text(cell: Part | Bar) -> str:
    return "" if isinstance(cell, Bar) else cell.text


def _joined(label: Part, cells: Sequence[Part | Bar], widths: Sequence[int], rights: Sequence[bool]) -> Line:
    parts = [label]
    for cell, width, is_right in zip(cells, widths, rights, strict=True):
        drawn = bar(cell, width) if isinstance(cell, Bar) else (cell,)
        blank = Part(" " * (width - sum(len(part.text) for part in drawn)))
        parts += [Part(_GAP), blank, *drawn] if is_right else [Part(_GAP), *drawn, blank]
    return tuple(parts)
