"""Objects by key, and keys of objects by a value in the objects."""

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import TypeVar

_T = TypeVar("_T")


class Index:
    """For every value, the keys of the objects that have it, in the order in which they came."""

    def __init__(self) -> None:
        self._keys: dict[str, dict[str, None]] = {}

    def keys(self, value: str) -> Collection[str]:
        """The keys of all objects that have a value."""
        return self._keys.get(value, {}).keys()

    def move(self, key: str, before: str | None, after: str | None) -> None:
        """Know that an object has another value than before; None or empty where it has none."""
        if before == after:
            return
        if before:
            keys = self._keys[before]
            del keys[key]
            if not keys:
                del self._keys[before]
        if after:
            self._keys.setdefault(after, {})[key] = None

    def move_all(self, key: str, before: AbstractSet[str], after: AbstractSet[str]) -> None:
        """Know that an object has other values than before, of which it may have several."""
        for value in before - after:
            self.move(key, value, None)
        for value in after - before:
            self.move(key, None, value)


def put(objects: dict[str, _T], key: str, new: _T | None) -> _T | None:
    """Know an object as it is now, None where it is gone; what it was."""
    old = objects.pop(key, None) if new is None else objects.get(key)
    if new is not None:
        objects[key] = new
    return old
