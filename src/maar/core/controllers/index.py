"""Keys of objects by a value in the objects."""

from collections.abc import Collection


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
