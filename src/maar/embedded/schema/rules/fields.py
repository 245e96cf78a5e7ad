"""Reading an object that has been decoded: its types are as the schema says, only presence is open."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from maar.core.model.quantity import NANOS, Quantity, parse

_THOUSANDTH: Final = NANOS // 1000

Fields = dict[str, Any]  # an object of a built-in kind, or a part of one, after `decode.read`


def amount(value: object) -> Quantity:
    """A quantity, written as a text or as a number."""
    return parse(value if isinstance(value, str) else str(value))


@lru_cache(maxsize=4096)
def canonical(value: str | float) -> str:
    """A quantity as Kubernetes writes it."""
    return str(amount(value))


@lru_cache(maxsize=4096)
def in_thousandths(value: str | float) -> str:
    """An amount of a resource as Kubernetes writes it: what is smaller than a thousandth is one."""
    found = amount(value)
    return str(found._replace(nanos=-(-found.nanos // _THOUSANDTH) * _THOUSANDTH))


def fill_unset(fields: Fields, defaults: Iterable[tuple[str, object]]) -> None:
    """Set a default; nothing, an empty text and 0 count as unset, as in Go."""
    for key, value in defaults:
        if not fields.get(key):
            fields[key] = value
