"""How the fields of a value are owned: each by itself, or all together."""

from enum import Enum, auto
from typing import Final

from maar.embedded.patch.fields import keyed, valued
from maar.embedded.schema.types import Merge, Schema


class Shape(Enum):
    """How a value is divided into parts with owners of their own."""

    LEAF = auto()  # not at all: a plain value, or an atomic object or list
    MAP = auto()  # into its fields
    LIST = auto()  # into its elements, each with a path element of its own


class UnkeyedError(Exception):
    """An item of a list has no key that distinguishes it from the others."""


class Absent(Enum):
    """A value that is not there, as opposed to null."""

    ABSENT = auto()


ABSENT: Final = Absent.ABSENT
ANYTHING: Final = Schema()
_LITERALS: Final = ("string", "integer", "number", "boolean")


def shape(schema: Schema, value: object) -> Shape:
    """How a value is divided; one that does not fit its schema is not."""
    if schema.int_or_string or schema.type in _LITERALS:
        return Shape.LEAF
    if schema.type != "array" and isinstance(value, dict | None):
        return Shape.LEAF if schema.atomic else Shape.MAP
    if schema.type == "object" or not isinstance(value, list | None) or elements(schema, value or []) is None:
        return Shape.LEAF
    return Shape.LIST


def below(schema: Schema, name: str) -> Schema | None:
    """The schema of a field of an object; none where the object has no such field."""
    found = schema.properties.get(name) or schema.values
    if found is None and (schema.open or not schema.properties):
        return ANYTHING
    return found


def elements(schema: Schema, items: list[object]) -> list[str] | None:
    """The path elements of the list's items; none where the list is atomic or an item has no identity."""
    if schema.merge is Merge.ATOMIC:
        return None
    try:
        return [element(schema, item) for item in items]
    except UnkeyedError:
        return None


def element(schema: Schema, item: object) -> str:
    """The path element of an item of a list; UnkeyedError where it has no key."""
    if schema.merge is Merge.SET:
        if isinstance(item, dict | list | None):
            what = (
                "a list" if isinstance(item, list) else "an explicit null" if item is None else "a map type"
            )
            raise UnkeyedError(f"associative list without keys has an element that's {what}")
        return valued(item)
    if not isinstance(item, dict):
        raise UnkeyedError("associative list with keys may not have non-map elements")
    keys = {key: item[key] if key in item else _default(schema, key) for key in schema.keys}
    present = {key: value for key, value in keys.items() if key in item or value is not None}
    if not present:
        names = " ".join(f'"{key}"' for key in schema.keys)
        raise UnkeyedError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return keyed(present)


def _default(schema: Schema, key: str) -> object:
    properties = schema.items.properties if schema.items else {}
    return properties[key].default if key in properties else None
