"""Sets of indexes as Kubernetes writes them into the status of jobs: 0,2-4,7."""

from collections.abc import Collection
from typing import Final

from maar.core.model.whole_numbers import whole_number

_MOST: Final = 1_000_000


def parse_indexes(text: str, below: int = _MOST) -> frozenset[int]:
    """The indexes of a text that are below a number; what cannot be read is left out."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        start = whole_number(first)
        end = whole_number(last) if dash else start
        if start is not None and end is not None:
            found.update(range(start, min(end + 1, below)))
    return frozenset(found)


def format_indexes(indexes: Collection[int]) -> str:
    """Indexes as text; three and more in a row are a range."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(f"{run[0]}-{run[-1]}" if run[2:] else ",".join(map(str, run)) for run in runs)
