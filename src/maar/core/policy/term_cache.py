"""A cache of terms: what a shape's terms mean for one of its pods, read once for all equal cases."""

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from maar.core.tables.shapes import Labels, Shape

T = TypeVar("T")

_MOST: Final = 4_096  # beyond that, forgotten and read again


class TermCache(Generic[T]):
    """What `read` makes of shapes, which depends on the pod's namespace and its values of some keys."""

    def __init__(
        self,
        keys: Callable[[Shape], tuple[str, ...]],
        read: Callable[[Shape, str, Mapping[str, str]], T],
    ) -> None:
        self._keys, self._read = keys, read
        self._keys_of: dict[Shape, tuple[str, ...]] = {}
        self._known: dict[tuple[Shape, str, tuple[str | None, ...]], T] = {}

    def of(self, shape: Shape, namespace: str, labels: Labels) -> T:
        """What a shape means for a pod of a namespace with these labels."""
        keys = self._keys_of.get(shape)
        if keys is None:
            keys = self._keys_of[shape] = self._keys(shape)
        values = dict(labels) if keys else {}
        key = shape, namespace, tuple(map(values.get, keys)) if keys else ()
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST:
                self._known.clear()
                self._keys_of.clear()
            known = self._known[key] = self._read(shape, namespace, values)
        return known
