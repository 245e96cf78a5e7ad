"""Sets of indexes as Kubernetes writes them: 1,3-5,7."""

from collections.abc import Iterable

_MOST = 1_000_000  # more in one set are not believed


def indexes(text: str) -> frozenset[int]:
    """Read a set; parts that are no range are passed over."""
    found = set[int]()
    for part in text.split(","):
        first, _, last = part.partition("-")
        last = last or first
        if first.isascii() and first.isdecimal() and last.isascii() and last.isdecimal():
            low, high = int(first), int(last)
            if high - low < _MOST:
                found.update(range(low, high + 1))
    return frozenset(found)


def ranges(numbers: Iterable[int]) -> str:
    """Write a set, with as few parts as possible."""
    parts: list[list[int]] = []
    for one in sorted(set(numbers)):
        if parts and parts[-1][1] == one - 1:
            parts[-1][1] = one
        else:
            parts.append([one, one])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)
