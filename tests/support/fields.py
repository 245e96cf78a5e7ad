"""Strict reading of what people write in YAML: every key is taken once, what is left over is refused."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from difflib import get_close_matches
from types import TracebackType
from typing import Final, Self, TypeVar

from maar.core.model.resources import BadAmountError, amount

T = TypeVar("T")

_PLAIN_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pods", "gpu")
_QUOTA_NAMES: Final = ("persistentvolumeclaims", "configmaps")
_SHORT_NAMES: Final = {"gpu": "nvidia.com/gpu"}
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}


class BadScenarioError(ValueError):
    """What a scenario says wrong, and where."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


class Fields:
    """The keys of one mapping; used with `with`, it refuses the keys that nobody took."""

    def __init__(self, value: object, path: str) -> None:
        if value is not None and not isinstance(value, dict):
            raise BadScenarioError(path, f"expected a mapping, got {value!r}")
        self.path = path
        self._left: dict[str, object] = {str(key): one for key, one in (value or {}).items()}
        self._known: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is None and self._left:
            key = next(iter(self._left))
            meant = get_close_matches(key, self._known, n=1)
            raise BadScenarioError(
                self._at(key), "unknown key" + (f"; is {meant[0]} meant?" if meant else "")
            )

    def __contains__(self, key: str) -> bool:
        self._known.append(key)
        return key in self._left

    def take(self, key: str, kind: type[T], default: T) -> T:
        """Take a value of one type; a key that is not there has the default."""
        if key not in self:
            return default
        value = self._left.pop(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise BadScenarioError(self._at(key), f"expected {kind.__name__}, got {value!r}")
        return value

    def anything(self, key: str) -> object:
        """Take whatever is there, or None."""
        return self._left.pop(key) if key in self else None

    def peek(self, key: str) -> object:
        """Look at a value without taking it."""
        return self._left.get(key)

    def texts(self, key: str) -> list[str]:
        """Take one text or a list of them."""
        value = self.anything(key)
        if value is None:
            return []
        return [str(one) for one in value] if isinstance(value, list) else [str(value)]

    def labels(self, key: str) -> dict[str, str]:
        """Take a mapping of texts."""
        return {name: str(value) for name, value in self.every(key)}

    def each(self, key: str) -> Iterator[tuple[str, "Fields"]]:
        """Take a mapping of mappings, one after the other."""
        for name, value in self.every(key):
            with Fields(value, f"{self._at(key)}.{name}") as fields:
                yield name, fields

    def every(self, key: str) -> list[tuple[str, object]]:
        """Take a mapping, whatever its values are."""
        return self._within(key).items()

    def time(self, key: str) -> timedelta | None:
        """Take a length of time such as 30s, 5m or 2h."""
        text = self.take(key, str, "")
        return self._time(key, text) if text else None

    def times(self, key: str) -> list[timedelta]:
        """Take one length of time or a list of them."""
        return [self._time(key, text) for text in self.texts(key)]

    def _time(self, key: str, text: str) -> timedelta:
        match = re.fullmatch(r"(\d+)([smh])", text)
        if match is None:
            raise BadScenarioError(self._at(key), f"{text!r} is not a time such as 30s, 5m or 2h")
        return timedelta(seconds=int(match[1]) * _SECONDS[match[2]])

    def amounts(self, key: str) -> dict[str, str]:
        """Take a mapping of resources."""
        with self._within(key) as fields:
            return fields.resources()

    def resources(self, *, besides: str = "") -> dict[str, str]:
        """Take every key that names a resource."""
        names = [name for name in self._left if name != besides and is_resource(name)]
        return {long_name(name): self._amount(name) for name in names}

    def refuse_unless(self, *, holds: bool, key: str, problem: str) -> None:
        """Refuse the value of a key."""
        if not holds:
            raise BadScenarioError(self._at(key), problem)

    def read(self, key: str, reader: Callable[[object, str], T]) -> T:
        """Take a value with a reader that also gets the path."""
        return reader(self.anything(key), self._at(key))

    def items(self) -> list[tuple[str, object]]:
        """Take everything that is still there."""
        items, self._left = list(self._left.items()), {}
        return items

    def _within(self, key: str) -> "Fields":
        return Fields(self.anything(key), self._at(key))

    def _amount(self, name: str) -> str:
        text = str(self._left.pop(name))
        try:
            amount(long_name(name), text)
        except BadAmountError as error:
            raise BadScenarioError(self._at(name), error.problem) from None
        return text

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}" if key else self.path


def is_resource(name: str) -> bool:
    """Whether a key names a resource."""
    plain = name in _PLAIN_RESOURCES or name in _QUOTA_NAMES or "/" in name
    return plain or name.startswith(("hugepages-", "requests.", "limits."))


def long_name(resource: str) -> str:
    """The name that Kubernetes has for a resource."""
    return _SHORT_NAMES.get(resource, resource)
