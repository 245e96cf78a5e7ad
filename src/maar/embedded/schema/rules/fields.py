"""Reading an object that has been decoded: its types are as the schema says, only presence is open."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from maar.core.model.quantity import Quantity, parse

Fields = dict[str, Any]  # an object of a built-in kind, or a part of one, after `decode.read`


def amount(value: object) -> Quantity:
    """A quantity, written as a text or as a number."""
    return parse(value if isinstance(value, str) else str(value))


@lru_cache(maxsize=4096)
def canonical(value: str | float) -> str:
    """A quantity as Kubernetes writes it."""
    return str(amount(value))


def say(fields: Fields, sayings: Iterable[tuple[str, object]]) -> None:
    """Say what has not been said; nothing, an empty text and 0 say nothing, as in Go."""
    for key, value in sayings:
        if not fields.get(key):
            fields[key] = value
