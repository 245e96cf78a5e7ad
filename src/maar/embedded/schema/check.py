"""What breaks the schema of a custom kind: types, bounds, patterns, required fields, duplicates, rules."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from maar.embedded.failures import Cause
from maar.embedded.schema.cel import broken, has_rules
from maar.embedded.schema.go_types import bad_time, is_go
from maar.embedded.schema.messages import (
    duplicate,
    invalid,
    required,
    shown,
    too_long,
    too_many,
    unsupported,
    without_field,
)
from maar.embedded.schema.messages import mistyped as wrong_type
from maar.embedded.schema.types import Merge, Schema

_BLOCKING: Final = frozenset(
    f"FieldValue{why}" for why in ("NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid")
)
_UNCHECKED: Final = without_field(
    None,
    "some validation rules were not checked because the object was invalid;"
    " correct the existing errors to complete validation",
)
_JSON_TYPES: Final[dict[type[object], str]] = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object",
}  # fmt: skip
_BITS: Final = {"int32": 31, "int64": 63}


def refusals(schema: Schema, value: object, old: object = None) -> list[Cause]:
    """All that is wrong with an object of a custom kind; rules are tried only on what they can read."""
    causes = wrong(schema, value)
    if not has_rules(schema):
        return causes
    if any(cause.reason in _BLOCKING for cause in causes):
        return [*causes, _UNCHECKED]
    return [*causes, *broken(schema, value, old)]


def wrong(schema: Schema, value: object, path: str = "") -> list[Cause]:
    """What of a value breaks its schema, but for the rules; metadata is checked elsewhere."""
    return list(_wrong(schema, value, path))


def _wrong(schema: Schema, value: object, path: str) -> Iterator[Cause]:
    if is_go(schema) or (value is None and schema.nullable):
        return
    if schema.int_or_string:
        yield from _neither_integer_nor_string(value, path)
    elif schema.type:
        yield from _of_another_type(schema, value, path)
    if isinstance(value, str):
        yield from _text(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(schema, value, path)
    elif isinstance(value, list):
        yield from _list(schema, value, path)
    if schema.enum and value not in schema.enum:
        yield unsupported(path, value, schema.enum)
    if isinstance(value, dict) and schema.type == "object":
        yield from _object(schema, value, path)


def _of_another_type(schema: Schema, value: object, path: str) -> Iterator[Cause]:
    found = _json_type(value)
    if found == schema.type or (schema.type == "number" and found == "integer"):
        return
    if schema.type != "integer":
        yield wrong_type(path, found, schema.type)
        return
    if isinstance(value, float) and _small(value) and value == int(value):
        return  # 1.0 is a whole number
    if schema.format in _BITS and found in ("boolean", "object"):
        yield wrong_type(path, "", schema.format)
        return
    yield wrong_type(
        path,
        "float64" if found == "number" and schema.format in _BITS else found,
        schema.format if found == "number" and schema.format in _BITS else "integer",
    )
    if found == "number":
        size = f"with format {schema.format}" if schema.format in _BITS else "(default format)"
        yield without_field("", f"Checked value must be of type integer {size} in {path}")


def _neither_integer_nor_string(value: object, path: str) -> Iterator[Cause]:
    found = _json_type(value)
    if found not in ("string", "integer"):
        yield wrong_type(path, found, "integer,string")
        yield without_field("", f'"{path}" must validate at least one schema (anyOf)')
        yield wrong_type(path, found, "integer")
        if found == "number":
            yield without_field("", f"Checked value must be of type integer (default format) in {path}")


def _text(schema: Schema, value: str, path: str) -> Iterator[Cause]:
    if schema.max_length is not None and len(value) > schema.max_length:
        yield too_long(path, schema.max_length)
    if schema.min_length is not None and len(value) < schema.min_length:
        yield invalid(path, value, f"{path} in body should be at least {schema.min_length} chars long")
    if schema.pattern and not re.search(_pattern(schema.pattern), value):
        yield invalid(path, value, f"{path} in body should match '{schema.pattern}'")
    if schema.format == "date-time" and bad_time(value):
        shown_value = shown(value)
        message = f"Invalid value: {shown_value}: {path} in body must be of type date-time: {shown_value}"
        yield Cause(path, "FieldValueTypeInvalid", message)


@cache
def _pattern(text: str) -> str:
    """A Go pattern for Python, where $ would also match before a last line break."""
    return re.sub(r"(?<!\\)\$$", r"\\Z", text)


def _number(schema: Schema, value: float, path: str) -> Iterator[Cause]:
    bits = _BITS.get(schema.format)
    if bits and _small(value) and value == int(value) and not -(1 << bits) <= value < 1 << bits:
        yield without_field(
            "", f"Checked value must be of type integer with format {schema.format} in {path}"
        )
    if schema.maximum is not None and value > schema.maximum:
        yield invalid(path, value, f"{path} in body should be less than or equal to {schema.maximum:.15g}")
    if schema.minimum is not None and value < schema.minimum:
        yield invalid(path, value, f"{path} in body should be greater than or equal to {schema.minimum:.15g}")


def _list(schema: Schema, value: list[object], path: str) -> Iterator[Cause]:
    if schema.max_items is not None and len(value) > schema.max_items:
        yield too_many(path, len(value), schema.max_items)
        return  # one message is enough where there are too many items
    if schema.min_items is not None and len(value) < schema.min_items:
        yield invalid(path, len(value), f"{path} in body should have at least {schema.min_items} items")
    for position, below in enumerate(value if schema.items else ()):
        yield from _wrong(schema.items or schema, below, f"{path}[{position}]")
    if schema.merge is not Merge.ATOMIC:
        yield from _twice(schema, value, path)


def _twice(schema: Schema, value: list[object], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for position, below in enumerate(value):
        if schema.merge is Merge.MAP and isinstance(below, dict):
            below = {key: below[key] for key in schema.keys if key in below}  # noqa: PLW2901 - its keys only
        if (text := shown(below)) in seen:
            yield duplicate(f"{path}[{position}]", below)
        seen.add(text)


def _object(schema: Schema, value: dict[str, object], path: str) -> Iterator[Cause]:
    if schema.max_properties is not None and len(value) > schema.max_properties:
        yield too_many(path, len(value), schema.max_properties)
        return
    if schema.min_properties is not None and len(value) < schema.min_properties:
        many = f"should have at least {schema.min_properties} properties"
        yield invalid(path, len(value), f"{path} in body {many}")
    for name, below in value.items():
        if (field := schema.properties.get(name, schema.values)) is not None:
            yield from _wrong(field, below, f"{path}.{name}" if path else name)
    for name in schema.required:
        if name not in value:
            yield required(f"{path}.{name}" if path else name)


def _json_type(value: object) -> str:
    found = _JSON_TYPES.get(type(value), "null")
    return "number" if isinstance(value, int) and not _small(value) else found


def _small(value: float) -> bool:
    return -(1 << 63) <= value < 1 << 63
