"""Whole numbers in texts from outside, which may be anything."""

from typing import Final

_LARGEST: Final = (1 << 63) - 1
_LONGEST: Final = len(str(_LARGEST))


def whole_number(text: str) -> int | None:
    """Read decimal digits; None for anything else, and for more than 64 bits with a sign can hold.

    Python's own tests are wider than its int(): a superscript two is a digit, and 5000 digits are too many.
    """
    if len(text) > _LONGEST or not text.isascii() or not text.isdecimal():
        return None
    return number if (number := int(text)) <= _LARGEST else None
