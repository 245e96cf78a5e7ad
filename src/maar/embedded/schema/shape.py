"""A fast check of an object: msgspec goes through all of it in C, for types and unknown fields at once.

What has the shape of its schema is valid. What has not may still be valid: there is a null in it, or a
number in an unusual notation. Then the slow walks of `decode` and `check` find out, and make the messages.
In doubt a shape is too narrow, never too wide.
"""

from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Final

import msgspec

from maar.embedded.schema.types import MICRO_TIME, Schema
from maar.embedded.schema.types import TIME as TIME_TYPE

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
    fields = {f"field_{place}": name for place, name in enumerate(schema.properties)}
    inside |= {schema.name}
    return msgspec.defstruct(
        schema.name.rpartition(".")[2] or "Fields",
        [(field, _type(schema.properties[name], inside), None) for field, name in fields.items()],
        rename=fields,
        forbid_unknown_fields=not schema.open,
        gc=False,
    )
