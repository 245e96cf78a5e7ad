"""Sets of fields, and how managedFields writes them (FieldsV1)."""

from collections.abc import Iterable
from typing import Final

import msgspec

from maar.embedded.failures import Json

Path = tuple[str, ...]  # elements as FieldsV1 writes them: f:spec, k:{"name":"web"}, v:"a", i:0
Fields = frozenset[Path]

NOTHING: Final[Fields] = frozenset()
SELF: Final = "."  # in FieldsV1: the place itself is in the set, besides what is below it
_LETTERS: Final = "fkvi"  # in the order in which Kubernetes sorts them


class IllegibleError(Exception):
    """What managedFields says cannot be read."""


def field(name: str) -> str:
    """The path element of a field of an object."""
    return f"f:{name}"


def keyed(keys: Json) -> str:
    """The path element of an object in a list, told apart by its keys."""
    return f"k:{_text({name: keys[name] for name in sorted(keys)})}"


def valued(value: object) -> str:
    """The path element of a plain value in a list."""
    return f"v:{_text(value)}"


def written(fields: Fields) -> Json:
    """The set as FieldsV1."""
    tree: Json = {}
    nodes: dict[Path, Json] = {(): tree}
    for path in sorted(fields):  # so that what contains comes before what is contained
        for depth in range(1, len(path) + 1):
            if path[:depth] not in nodes:
                nodes[path[:depth]] = nodes[path[: depth - 1]][path[depth - 1]] = {}
    for path in fields:
        if nodes[path]:
            nodes[path][SELF] = {}
    return tree


def read(tree: object) -> Fields:
    """The set that FieldsV1 writes; IllegibleError where it is none."""
    paths: list[Path] = []
    _collect(tree, (), paths)
    return frozenset(paths)


def _collect(tree: object, path: Path, paths: list[Path]) -> None:
    if not isinstance(tree, dict):
        raise IllegibleError("fieldsV1 is made of objects only")
    members = {element: below for key, below in tree.items() if (element := _element(key))}
    if path and (SELF in tree or not members):
        paths.append(path)
    for element, below in members.items():
        _collect(below, (*path, element), paths)


def _element(key: str) -> str:
    """The path element in the only spelling that we use; nothing where a later Kubernetes may know it."""
    if key == SELF:
        return ""
    letter, colon, text = key.partition(":")
    if len(letter) != 1 or not colon:
        raise IllegibleError(f"fieldsV1 has no {key!r}; its keys start with f:, k:, v: or i:")
    if letter == "k":
        keys = _value(text)
        if not isinstance(keys, dict):
            raise IllegibleError(f"fieldsV1 has keys that are no object: {key!r}")
        return keyed(keys)
    if letter == "v":
        return valued(_value(text))
    if letter == "i" and not text.isdecimal():
        raise IllegibleError(f"fieldsV1 has a position that is no number: {key!r}")
    return key if letter in "fi" else ""


def shown(path: Path) -> str:
    """The path as people read it: .spec.containers[name="web"].image."""
    return "".join(map(_shown_element, path))


def _shown_element(element: str) -> str:
    letter, _, text = element.partition(":")
    if letter == "f":
        return f".{text}"
    if letter == "k":
        keys = _value(text)
        pairs = keys.items() if isinstance(keys, dict) else ()
        return f"[{','.join(f'{name}={_text(value)}' for name, value in pairs)}]"
    return f"[={text}]" if letter == "v" else f"[{text}]"


def in_reading_order(paths: Iterable[Path]) -> list[Path]:
    """The paths as Kubernetes lists them: of each object its own fields, and then what is in them."""
    return sorted(
        paths, key=lambda path: [(depth < len(path) - 1, *_rank(e)) for depth, e in enumerate(path)]
    )


def _rank(element: str) -> tuple[int, list[tuple[str, int, float, str]]]:
    letter, _, text = element.partition(":")
    value = text if letter == "f" else _value(text)
    pairs = value.items() if isinstance(value, dict) else [("", value)]
    return _LETTERS.index(letter), [_comparable(name, one) for name, one in pairs]


def _comparable(name: str, value: object) -> tuple[str, int, float, str]:
    """Numbers before texts, and all else by how it is written."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return name, 0, value, ""
    return (name, 1, 0, value) if isinstance(value, str) else (name, 2, 0, _text(value))


def _text(value: object) -> str:
    if isinstance(value, dict):
        value = {name: int(v) if isinstance(v, float) and v.is_integer() else v for name, v in value.items()}
    elif isinstance(value, float) and value.is_integer():
        value = int(value)
    return msgspec.json.encode(value).decode()


def _value(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise IllegibleError(f"fieldsV1 has an element that is not JSON: {text!r}") from error
