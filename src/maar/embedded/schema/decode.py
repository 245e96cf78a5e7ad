"""Reads objects: wrong types, unknown fields, and nulls without a meaning.

First comes a fast check (`fits`): msgspec goes through all of an object in C. What has the shape of
its schema is valid. What has not may still be valid: there is a null in it, or a number in an
unusual notation. In doubt a shape is too narrow, never too wide.

Then slow walks find out, and make the messages. Built-in kinds, and the metadata of all kinds, are
read as Go types; a value that does not fit is reported with the message of Go's decoder. The rest
of a custom kind is checked against its schema, later and with other messages.
"""

from collections.abc import Iterator
from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from maar.embedded.failures import Json
from maar.embedded.schema.go_types import is_go, problems
from maar.embedded.schema.types import MICRO_TIME, Schema
from maar.embedded.schema.types import TIME as TIME_TYPE

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
        for position, below in enumerate(value):
            yield from _unknown(schema.items, below, f"{path}[{position}]")


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


_DAY: Final = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
_HOUR: Final = r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_SAFE_QUANTITY: Final = r"^([0-9]{1,6}(m|[KMGT]i|[kMGT])|[0-9]{1,18})\Z"  # surely in range

TIME: Final = Annotated[str, msgspec.Meta(pattern=rf"{_DAY}{_HOUR}Z\Z")]

_INT64: Final = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_SAFE_NUMBER: Final = Annotated[int, msgspec.Meta(ge=-(2**63 - 1), le=2**63 - 1)]  # as quantities go
_FORMATS: Final[dict[str, object]] = {
    "int32": Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)],
    "int64": _INT64,
    "byte": bytes,
    "quantity": Annotated[str, msgspec.Meta(pattern=_SAFE_QUANTITY)] | _SAFE_NUMBER,
    "date-time": TIME,
}
_GO_TIMES: Final[dict[str, object]] = {  # Go clients send a null for no time, which is accepted
    TIME_TYPE: TIME | None,
    MICRO_TIME: Annotated[str, msgspec.Meta(pattern=rf"{_DAY}{_HOUR}\.[0-9]{{6}}Z\Z")] | None,
}
_TYPES: Final[dict[str, object]] = {"string": str, "integer": _INT64, "number": float, "boolean": bool}


def fits(schema: Schema, value: object) -> bool:
    """Whether a value is surely of the right types, without nulls and without unknown fields."""
    try:
        msgspec.convert(value, _shape(schema))
    except msgspec.ValidationError:
        return False
    return True


@cache
def _shape(schema: Schema) -> Any:  # noqa: ANN401 - types made at run time have no type of their own
    return _type(schema, frozenset())


def _type(schema: Schema, inside: frozenset[str]) -> Any:  # noqa: ANN401 - see _shape
    """The type to convert to; what contains itself is not looked into a second time."""
    if schema.name in _GO_TIMES:
        return _GO_TIMES[schema.name]
    if schema.int_or_string:
        found: Any = str | _FORMATS["int32"] if schema.name else str | _INT64
    elif schema.type == "array":
        found = GenericAlias(list, _type(schema.items, inside) if schema.items else Any)
    elif schema.type == "object":
        found = _object(schema, inside)
    else:
        found = _FORMATS.get(schema.format) or _TYPES.get(schema.type, Any)
    return found | None if schema.nullable else found


def _object(schema: Schema, inside: frozenset[str]) -> Any:  # noqa: ANN401 - see _shape
    if schema.name and schema.name in inside:
        return Any
    if not schema.properties:
        values = _type(schema.values, inside) if schema.values else Any if schema.open else None
        return GenericAlias(dict, (str, values))
    fields = {f"field_{position}": name for position, name in enumerate(schema.properties)}
    inside |= {schema.name}
    return msgspec.defstruct(
        schema.name.rpartition(".")[2] or "Fields",
        [(field, _type(schema.properties[name], inside), None) for field, name in fields.items()],
        rename=fields,
        forbid_unknown_fields=not schema.open,
        gc=False,
    )
