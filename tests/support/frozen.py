"""Tables that nothing may write to: a decision on them shows that it only reads."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, Final, NoReturn

import numpy as np
import pytest

from maar.core.tables.tables import Tables

_CHANGES: Final = (
    "__setitem__", "__delitem__", "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse",
    "update", "setdefault", "popitem", "add", "discard", "subtract", "__iadd__", "__ior__", "__isub__",
)  # fmt: skip


class WrittenToError(AssertionError):
    """Something wrote to frozen tables."""


def _refuse(name: str) -> Callable[..., NoReturn]:
    """What a frozen container does instead of a change."""

    def refused(one: object, *arguments: object, **_: object) -> NoReturn:
        named = [one for one in arguments if isinstance(one, str | int)]  # a row names all others
        raise WrittenToError(f"{name} of {type(one).__name__} with {named}")

    return refused


def _set_of_others(known: Mapping[int, object]) -> Callable[[object, str, object], None]:
    """What sets an attribute: of objects that are made meanwhile, and not of those that are known."""

    def set_attribute(one: object, name: str, value: object) -> None:
        if id(one) in known:
            raise WrittenToError(f"{name} of {type(one).__name__} is set")
        object.__setattr__(one, name, value)

    return set_attribute


def _frozen(kind: type) -> type:
    return type(
        f"Frozen{kind.__name__.title()}",
        (kind,),
        {name: _refuse(name) for name in _CHANGES if hasattr(kind, name)},
    )


_FROZEN: Final[dict[type, type]] = {kind: _frozen(kind) for kind in (dict, list, set, Counter)}


@contextmanager
def frozen(tables: Tables) -> Iterator[None]:
    """Refuse every change of tables, of their rows and of all that these hold, at any depth."""
    with pytest.MonkeyPatch.context() as patched:
        seen: dict[int, object] = {}
        classes = set[type]()
        kept = list[tuple[object, str, object]]()
        for owner, name, value in list(_fields(tables, seen, classes)):
            replacement = _replaced(value)
            if replacement is not value:
                kept.append((owner, name, value))
                object.__setattr__(owner, name, replacement)
        for kind in classes:
            patched.setattr(kind, "__setattr__", _set_of_others(seen))
        try:
            yield
        finally:
            patched.undo()
            for owner, name, value in kept:
                object.__setattr__(owner, name, value)


def _replaced(value: object) -> object:
    """A container that refuses changes, and so do the plain containers in it."""
    kind: Any = _FROZEN.get(type(value))
    if kind is None:
        return value
    if isinstance(value, dict):  # a Counter too, whose constructor would use what is refused
        replaced: dict[object, object] = kind.__new__(kind)
        dict.update(replaced, {key: _replaced(one) for key, one in value.items()})
        return replaced
    return kind([_replaced(one) for one in value] if isinstance(value, list) else value)


def _fields(one: object, seen: dict[int, object], classes: set[type]) -> Iterator[tuple[object, str, object]]:
    """Every field of every object below one, with its owner; columns of nodes are made when first read."""
    stack = [one]
    while stack:
        owner = stack.pop()
        if id(owner) in seen or isinstance(owner, str | bytes | int | float | np.ndarray | type):
            continue
        seen[id(owner)] = owner
        if isinstance(owner, dict):
            stack += [*owner.keys(), *owner.values()]
        elif isinstance(owner, list | tuple | set | frozenset):
            stack += owner
        elif is_dataclass(owner) and type(owner).__module__.startswith("maar.core.tables"):
            classes.add(type(owner))
            names = [*(one.name for one in fields(owner)), *getattr(owner, "__dict__", ())]
            for name in dict.fromkeys(names):
                value = getattr(owner, name)
                yield owner, name, value
                stack.append(value)
