"""Kubernetes quantities: the whole grammar in, the canonical form out, exact in between."""

import re
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple, Self

NANOS: Final = 10**9  # Kubernetes keeps nothing smaller than a nano
LARGEST: Final = 2**63 - 1

_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]*))?|\.(?P<bare>[0-9]+))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[numkMGTPE]|[KMGTPE]i))?"
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_LONGEST_TEXT: Final = 64  # no number in range needs more, and a longer one only costs time
_LARGEST_EXPONENT: Final = 40


class Notation(Enum):
    """How a quantity was written, and so how it is written back."""

    DECIMAL = "decimal suffix"
    BINARY = "binary suffix"
    EXPONENT = "decimal exponent"


class BadQuantityError(ValueError):
    """A text that is no quantity, or one that Maar cannot count with."""


class Quantity(NamedTuple):
    """An exact number as Kubernetes writes it."""

    nanos: int
    notation: Notation = Notation.DECIMAL

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a quantity; refuse anything outside the grammar or the range of 64 bits, showing the text."""
        match = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
        if match is None:
            raise BadQuantityError(
                f"{_shown(text)} is not a quantity: write a number and at most one suffix (2, 500m, 1.5Gi)"
            )
        exponent, suffix = match["exponent"], match["suffix"] or ""
        power = int(exponent) if exponent else _DECIMAL.get(suffix, 0)
        if abs(power) > _LARGEST_EXPONENT:
            raise BadQuantityError(f"{_shown(text)} is out of range: the largest quantity is {LARGEST}")
        digits = (match["whole"] or "") + (match["part"] or match["bare"] or "")
        decimals = len(match["part"] or match["bare"] or "")
        nanos = _scaled(int(digits) << _BINARY.get(suffix, 0), power - decimals + 9)
        if nanos > LARGEST * NANOS:
            raise BadQuantityError(f"{_shown(text)} is out of range: the largest quantity is {LARGEST}")
        if exponent:
            notation = Notation.EXPONENT
        else:
            notation = Notation.BINARY if suffix in _BINARY else Notation.DECIMAL
        return cls(-nanos if match["sign"] == "-" else nanos, notation)

    def __str__(self) -> str:
        """Write the canonical form: no fraction, the largest suffix that keeps the number whole."""
        size = abs(self.nanos)
        sign = "-" if self.nanos < 0 else ""
        if self.notation is Notation.BINARY and size >= 1024 * NANOS and size % NANOS == 0:
            return sign + _binary(size // NANOS)
        power = max((p for p in _DECIMAL.values() if size % 10 ** (p + 9) == 0), default=0) if size else 0
        number = f"{sign}{size // 10 ** (power + 9)}"
        if self.notation is Notation.EXPONENT:
            return f"{number}e{power}" if power else number
        return number + next(suffix for suffix, p in _DECIMAL.items() if p == power)

    def units(self, per_one: int) -> int:
        """Count in units of which `per_one` make 1, rounded up as Kubernetes' scheduler does."""
        return -(-self.nanos * per_one // NANOS)


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    """Read a quantity; manifests repeat few texts many times."""
    return Quantity.parse(text)


def _scaled(number: int, power: int) -> int:
    """Give number x 10^power, rounded up to a whole number as Kubernetes rounds what is too precise."""
    factor: int = 10 ** abs(power)
    return number * factor if power >= 0 else -(-number // factor)


def _binary(number: int) -> str:
    suffix, bits = "", 0
    for larger, more in _BINARY.items():
        if number % (1 << more) == 0:
            suffix, bits = larger, more
    return f"{number >> bits}{suffix}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "...")
