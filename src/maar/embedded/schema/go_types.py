"""What Go's decoder says about a value that does not fit one of Kubernetes' types."""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from maar.core.model.quantity import BadQuantityError, parse
from maar.embedded.schema import types
from maar.embedded.schema.types import Schema

_TIME: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_TIME: Final = "2006-01-02T15:04:05.000000Z07:00"

_PARTS: Final = tuple(
    (part, re.compile(part if not part.isdigit() else f"[0-9]{{{len(part)}}}"))
    for part in ("2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05")
)
_ZONE: Final = ("Z07:00", re.compile("Z|[+-][0-9]{2}:[0-9]{2}"))
_FRACTION: Final = (".000000", re.compile(r"\.[0-9]{6}"))
_ANY_FRACTION: Final = ("", re.compile(r"(\.[0-9]+)?"))


def bad_time(text: str, layout: str = _TIME) -> str | None:
    """Why a text is not a time of a layout, as Go says it; None where it is one."""
    rest = text
    for part, pattern in (*_PARTS, _FRACTION if layout == _MICRO_TIME else _ANY_FRACTION, _ZONE):
        found = pattern.match(rest)
        if found is None:
            return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{part}"'
        rest = rest[found.end() :]
    if rest:
        return f'parsing time "{text}": extra text: "{rest}"'
    try:
        datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")  # noqa: DTZ007 - only whether there is such a day
    except ValueError:
        return f'parsing time "{text}": day out of range'
    return None


_LOOSE_QUANTITY: Final = re.compile("([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
_BAD_QUANTITY: Final = f"quantities must match the regular expression '^{_LOOSE_QUANTITY.pattern}$'"
_BITS: Final = {"int32": 31, "int64": 63}
_FOUND: Final[dict[type[object], str]] = {str: "string", bool: "bool", list: "array", dict: "object"}


def is_go(schema: Schema) -> bool:
    """Whether Kubernetes has a Go type for it."""
    return schema.name.startswith("io.k8s.")


def problems(schema: Schema, value: object) -> Iterator[str]:
    """Everything that Go could not decode, in what has a Go type."""
    if is_go(schema):
        yield from _walk(schema, value, "", ())
    elif isinstance(value, dict):
        for name, field in schema.properties.items():
            if name in value and is_go(field):
                yield from _walk(field, value[name], "", ())
    else:
        yield _cannot(value, _written(schema), "", ())


def _walk(schema: Schema, value: object, struct: str, path: tuple[str, ...]) -> Iterator[str]:
    """Go down into a value; `struct` is the type that has the field at the end of the path."""
    if value is None:
        return
    if schema.type == "object" and isinstance(value, dict):
        inner = schema.name.rpartition(".")[2]
        for name, below in value.items():
            if field := schema.properties.get(name):
                yield from _walk(field, below, inner, (*path, name))
            elif schema.values:
                yield from _walk(schema.values, below, struct, path)
    elif schema.type == "array" and isinstance(value, list):
        for below in value if schema.items else ():
            yield from _walk(schema.items or schema, below, struct, path)
    elif schema.type or schema.int_or_string:
        yield from _leaf(schema, value, struct, path)


def _leaf(schema: Schema, value: object, struct: str, path: tuple[str, ...]) -> Iterator[str]:
    if schema.format == "quantity":
        if not is_quantity(value):
            loose = isinstance(value, str) and _LOOSE_QUANTITY.fullmatch(value)
            yield "unable to parse quantity's suffix" if loose else _BAD_QUANTITY
    elif not _fits(schema, value):
        yield _cannot(value, _written(schema), struct, path)
    elif isinstance(value, str) and schema.format == "byte":
        yield from _bad_base64(value)
    elif isinstance(value, str) and schema.format == "date-time":
        layout = _MICRO_TIME if schema.name == types.MICRO_TIME else _TIME
        if problem := bad_time(value, layout):
            yield problem


def _fits(schema: Schema, value: object) -> bool:
    if schema.type == "boolean":
        return isinstance(value, bool)
    if schema.type == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if schema.type == "integer" or (schema.int_or_string and not isinstance(value, str)):
        limit = 1 << _BITS.get(schema.format, 31)
        return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit
    return isinstance(value, str) and schema.type not in ("object", "array")


def _cannot(value: object, wanted: str, struct: str, path: tuple[str, ...]) -> str:
    found = _FOUND.get(type(value), "number")
    if found == "number" and wanted in _BITS:
        found = f"number {value}"
    place = f"struct field {'.'.join((struct, *path))}" if path else "value"
    return f"json: cannot unmarshal {found} into Go {place} of type {wanted}"


def _written(schema: Schema) -> str:
    """A type as Go writes it."""
    if schema.type == "array":
        return f"[]{_written(schema.items)}" if schema.items else "[]interface {}"
    if schema.type == "object" and schema.values:
        quantities = schema.values.format == "quantity"
        return "v1.ResourceList" if quantities else f"map[string]{_written(schema.values)}"
    if schema.type == "object":
        return ".".join(schema.name.split(".")[-2:])
    if schema.type == "integer" or schema.int_or_string:
        return schema.format if schema.format in _BITS else "int32"
    if schema.format == "byte":
        return "[]uint8"
    return {"boolean": "bool", "number": "float64"}.get(schema.type, "string")


def is_quantity(value: object) -> bool:
    """Whether a JSON value is a quantity that can be counted with."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    try:
        parse(str(value))
    except BadQuantityError:
        return False
    return True


def _bad_base64(text: str) -> Iterator[str]:
    try:
        b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        yield "illegal base64 data at input byte 0"
