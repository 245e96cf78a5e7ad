"""Plain values from anywhere: read without trusting their types, and shown without trusting their size."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from maar.core.model.whole_numbers import whole_number

_LONGEST: Final = 64
_LARGEST: Final = 10**20
_LONGEST_PATH: Final = 500
_PART: Final = re.compile(r"\[[^\]]*\]|[^.\[]+")
_SIMPLE_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,63}")


def at(value: object, *keys: str) -> object:
    """What is below a value, key by key; None where there is nothing."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def text_at(value: object, *keys: str) -> str:
    """A text below a value; empty where there is none."""
    found = at(value, *keys)
    return found if isinstance(found, str) else ""


def map_at(value: object, *keys: str) -> Mapping[object, object]:
    """A map below a value; empty where there is none."""
    found = at(value, *keys)
    return found if isinstance(found, dict) else {}


def list_at(value: object, *keys: str) -> list[object]:
    """A list below a value; empty where there is none."""
    found = at(value, *keys)
    return found if isinstance(found, list) else []


def has_more_values(value: object, most: int) -> bool:
    """Whether an object has more values than a limit; no more than that are counted."""
    todo, seen = [value], 0
    while todo and seen + len(todo) <= most:
        one = todo.pop()
        seen += 1
        if isinstance(one, dict):
            todo.extend(one.values())
        elif isinstance(one, list):
            todo.extend(one)
    return bool(todo)


def value_at(value: object, path: str) -> object:
    """The value at a path such as spec.tasks[0].name; None where a key in it is not a plain identifier."""
    for part in _PART.findall(path[:_LONGEST_PATH]):
        if part.startswith("["):
            place = whole_number(part[1:-1])
            value = (
                value[place] if isinstance(value, list) and place is not None and place < len(value) else None
            )
        else:
            value = at(value, part)
    return value


def numbered(path: str, values: list[object]) -> Iterator[tuple[str, object]]:
    """Every value of a list with its path."""
    for index, value in enumerate(values):
        yield f"{path}[{index}]", value


def below(path: str, key: object) -> str:
    """The path of a key; one that is not a plain identifier is in brackets, as Kubernetes writes it."""
    if isinstance(key, str) and _SIMPLE_KEY.fullmatch(key):
        return f"{path}.{key}"
    return f"{path}[{cut(key) if isinstance(key, str) else brief(key)}]"


def brief(value: object) -> str:
    """A value in a sentence: short, on one line, and never costly."""
    match value:
        case str():
            words = f'"{cut(value)}"'
        case None | bool():
            words = {None: "null", True: "true", False: "false"}[value]
        case int() if abs(value) > _LARGEST:
            words = "a number of more than 20 digits"
        case int() | float():
            words = str(value)
        case dict():
            words = f"an object of {len(value)} fields"
        case list():
            words = f"a list of {len(value)}"
        case _:
            words = f"of type {type(value).__name__}"
    return words


def listed(names: list[str], most: int = 5) -> str:
    """Names in a sentence; of many, the first."""
    more = len(names) - most
    return ", ".join(map(cut, names[:most])) + (f" and {more} more" if more > 0 else "")


def cut(text: str, most: int = _LONGEST) -> str:
    """The text without characters that break a line or a terminal, and cut to a length."""
    short = text if len(text) <= most else f"{text[:most]}..."
    return short if short.isprintable() else ascii(short)[1:-1]
