"""The indices of an array: `0-99`, `1,3,5`, `0-90:10` and what can be made of these with commas."""

import re
from typing import Final

MOST: Final = 10_000

_PART: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")


class BadArrayError(ValueError):
    """Text that names no indices: what is wrong, and what to write."""


def indices(text: str) -> tuple[int, ...]:
    """The indices that a text names, in its order."""
    if "%" in text:
        raise BadArrayError(
            f"{text!r}: how many run at a time cannot be limited here; give the queue a capability instead"
        )
    found: dict[int, None] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise BadArrayError(f"{text!r}: {part!r} is no index or range; write 0-99, 1,3,5 or 0-90:10")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or not step:
            raise BadArrayError(f"{text!r}: {part!r} has no index; write the smaller number first")
        named = range(first, last + 1, step)
        if len(found) + len(named) > MOST:
            raise BadArrayError(f"{text!r} has more than {MOST:,} indices; make several arrays of it")
        found |= dict.fromkeys(named)
    return tuple(found)
