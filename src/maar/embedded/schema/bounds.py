"""The fast look at what a schema demands of a custom kind beyond types, made as in `shape`."""

import math
import re
from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Final, Literal

import msgspec

from maar.embedded.schema.go_types import is_go
from maar.embedded.schema.shape import TIME
from maar.embedded.schema.types import Merge, Schema

_INT32: Final = (-(2**31), 2**31 - 1)
_INT64: Final = (-(2**63), 2**63 - 1)


def keeps(schema: Schema, value: object) -> bool:
    """Whether a value surely breaks nothing that its schema demands, but for rules."""
    try:
        msgspec.convert(value, _bounds(schema))
    except msgspec.ValidationError:
        return False
    return True


@cache
def pattern(text: str) -> str:
    """A Go pattern for Python, where $ would also match before a last line break."""
    return re.sub(r"(?<!\\)\$$", r"\\Z", text)


@cache
def _bounds(schema: Schema) -> Any:  # noqa: ANN401 - types made at run time have no type of their own
    if is_go(schema):
        return Any  # has rules of its own
    found: Any
    if schema.enum:
        found = Literal.__getitem__(schema.enum)
    elif schema.int_or_string:
        found = _text(schema) | _number(int, schema)
    else:
        make = {"array": _array, "object": _object, "string": _text}.get(schema.type)
        plain = {"boolean": bool, "number": _number(float, schema), "integer": _number(int, schema)}
        found = make(schema) if make else plain.get(schema.type, Any)
    return found | None if schema.nullable else found


def _text(schema: Schema) -> Any:  # noqa: ANN401 - see _bounds
    if schema.format == "date-time":
        return TIME
    limits = msgspec.Meta(
        pattern=pattern(schema.pattern) if schema.pattern else None,
        min_length=schema.min_length,
        max_length=schema.max_length,
    )
    return Annotated[str, limits]


def _number(kind: type[int | float], schema: Schema) -> Any:  # noqa: ANN401 - see _bounds
    least, most = schema.minimum, schema.maximum
    if kind is int:
        smallest, largest = _INT32 if schema.format == "int32" else _INT64
        least = smallest if least is None else max(math.ceil(least), smallest)
        most = largest if most is None else min(math.floor(most), largest)
    return Annotated[kind, msgspec.Meta(ge=least, le=most)]


def _array(schema: Schema) -> Any:  # noqa: ANN401 - see _bounds
    items = GenericAlias(list, _bounds(schema.items) if schema.items else Any)
    # Of two entries that must differ somebody else has to see that they do.
    most = schema.max_items if schema.merge is Merge.ATOMIC else min(schema.max_items or 1, 1)
    return Annotated[items, msgspec.Meta(min_length=schema.min_items, max_length=most)]


def _object(schema: Schema) -> Any:  # noqa: ANN401 - see _bounds
    limits = msgspec.Meta(min_length=schema.min_properties, max_length=schema.max_properties)
    if not schema.properties:
        return Annotated[GenericAlias(dict, (str, _bounds(schema.values) if schema.values else Any)), limits]
    fields = {f"field_{place}": name for place, name in enumerate(schema.properties)}
    return msgspec.defstruct(
        "Fields",
        [
            (field, _bounds(schema.properties[name]), *(() if name in schema.required else (None,)))
            for field, name in fields.items()
        ],
        rename=fields,
        kw_only=True,
        gc=False,
    )
