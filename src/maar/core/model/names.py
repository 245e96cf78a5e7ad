"""Names in the order in which a person reads them: `f-2` before `f-10`."""

import re
from typing import Final

_DIGITS: Final = re.compile(r"[0-9]{2,}")


def natural(name: str) -> str:
    """A text that sorts as a person would sort the name: numbers in it count as numbers.

    A number is preceded by a colon for every digit after its first. The colon comes after the digits and
    before the letters, so that the longer number is the larger one, and different names stay different.
    """
    return _DIGITS.sub(_with_colons, name)


def _with_colons(found: re.Match[str]) -> str:
    number = found[0]
    return ":" * (len(number) - 1) + number
