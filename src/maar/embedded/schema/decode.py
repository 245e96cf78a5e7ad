"""Reads objects: wrong types, unknown fields, and nulls without a meaning.

Built-in kinds, and the metadata of all kinds, are read as Go types; a value that does not fit is reported
with the message of Go's decoder. The rest of a custom kind is checked against its schema, later and with
other messages.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from maar.embedded.failures import Json
from maar.embedded.schema.go_types import is_go, problems
from maar.embedded.schema.shape import fits
from maar.embedded.schema.types import Schema

_ZEROS: Final = {"string": "", "integer": 0, "number": 0, "boolean": False}


class Reading(NamedTuple):
    """A decoded object, why it could not be decoded, and the fields that were unknown."""

    value: Json  # without unknown fields, and without nulls where they mean nothing
    problem: str | None = None  # why it cannot be decoded at all
    unknown: tuple[str, ...] = ()  # the paths of unknown fields


def read(schema: Schema, value: Json) -> Reading:
    """Read an object of a kind."""
    if fits(schema, value):
        return Reading(value)
    if problem := _mistyped(schema, value):
        return Reading(value, problem)
    kept = _kept(schema, value, go=False)
    return Reading(kept if isinstance(kept, dict) else {}, None, tuple(_all_unknown(schema, value)))


def _mistyped(schema: Schema, value: object) -> str | None:
    problem = next(problems(schema, value), None)
    if problem is None:
        return None
    version, kind = schema.name.split(".")[-2:]
    return f'{kind} in version "{version}" cannot be handled as a {kind}: {problem}'


def _all_unknown(schema: Schema, value: object) -> list[str]:
    found = list(_unknown(schema, value, ""))
    return found if is_go(schema) else sorted(found)


def _unknown(schema: Schema, value: object, path: str) -> Iterator[str]:
    if isinstance(value, dict) and schema.type == "object":
        for name, below in value.items():
            here = f"{path}.{name}" if path else name
            field = schema.properties.get(name, schema.values)
            if field is not None:
                yield from _unknown(field, below, here)
            elif not schema.open:
                yield here
    elif isinstance(value, list) and schema.items:
        for place, below in enumerate(value):
            yield from _unknown(schema.items, below, f"{path}[{place}]")


def _kept(schema: Schema, value: object, *, go: bool) -> object:
    """What stays of a value; in a Go type a null is nothing, or the type's zero where something must be."""
    go = go or is_go(schema)
    if value is None and go:
        return _zero(schema)
    if isinstance(value, dict) and schema.type == "object":
        kept: Json = {}
        for name, below in value.items():
            if field := schema.properties.get(name):
                if below is not None or not (go or is_go(field)):
                    kept[name] = _kept(field, below, go=go)
            elif schema.values:
                kept[name] = _kept(schema.values, below, go=go)
            elif schema.open:
                kept[name] = below
        return kept
    if isinstance(value, list) and schema.items:
        return [_kept(schema.items, below, go=go) for below in value]
    return value


def _zero(schema: Schema) -> object:
    if schema.format == "quantity":
        return "0"
    if schema.type in ("object", "array"):
        return {} if schema.type == "object" else []
    return 0 if schema.int_or_string else _ZEROS.get(schema.type)
