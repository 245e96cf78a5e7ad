"""Defaults of custom kinds: what the schema says a field is when nobody says anything."""

from copy import deepcopy
from functools import cache

from maar.embedded.failures import Json
from maar.embedded.schema.go_types import is_go
from maar.embedded.schema.types import Schema


def defaulted(schema: Schema, value: object) -> object:
    """The value, changed in place: with the defaults of its schema, and without nulls that are no values."""
    if isinstance(value, dict):
        _fill_object(schema, value)
    elif isinstance(value, list) and schema.items:
        for below in value:
            defaulted(schema.items, below)
    return value


def _fill_object(schema: Schema, value: Json) -> None:
    for name, below in list(value.items()):
        field = schema.properties.get(name, schema.values)
        if field is None or is_go(field):
            continue
        if below is None:
            if not field.nullable:
                del value[name]
        elif isinstance(below, dict | list):
            defaulted(field, below)
    for name, default in _defaults(schema):
        if name not in value:
            value[name] = deepcopy(default)


@cache
def _defaults(schema: Schema) -> tuple[tuple[str, object], ...]:
    """The defaults of the fields of an object, each with the defaults inside it."""
    return tuple(
        (name, defaulted(field, deepcopy(field.default)))
        for name, field in schema.properties.items()
        if field.default is not None
    )
