"""Defaults of custom kinds, and quantities of built-in ones as Kubernetes writes them."""

from collections.abc import Mapping
from copy import deepcopy
from functools import cache

from maar.embedded.schema.go_types import is_go
from maar.embedded.schema.rules.fields import canonical
from maar.embedded.schema.shape import fits
from maar.embedded.schema.types import Schema


def defaulted(schema: Schema, value: object) -> object:
    """The value, changed in place: with the defaults of its schema, and without nulls that are no values."""
    _fill(schema, value, nulls=not fits(schema, value))
    return value


def _fill(schema: Schema, value: object, *, nulls: bool) -> None:
    """Go where there may be something to do: nulls to take away, or defaults to fill in."""
    if is_go(schema) or not (nulls or _has_defaults(schema)):
        return
    if isinstance(value, list) and schema.items:
        for below in value:
            _fill(schema.items, below, nulls=nulls)
    elif isinstance(value, dict):
        for name, below in list(value.items()):
            if (field := schema.properties.get(name, schema.values)) is None:
                continue
            if below is None and not (field.nullable or is_go(field)):
                del value[name]
            else:
                _fill(field, below, nulls=nulls)
        for name, default in _defaults(schema):
            if name not in value:
                value[name] = deepcopy(default)


@cache
def _has_defaults(schema: Schema) -> bool:
    """Whether there is a default anywhere in a schema."""
    below = [one for one in (*schema.properties.values(), schema.items, schema.values) if one is not None]
    return schema.default is not None or any(not is_go(one) and _has_defaults(one) for one in below)


@cache
def _defaults(schema: Schema) -> tuple[tuple[str, object], ...]:
    """The defaults of the fields of an object, each with the defaults inside it."""
    return tuple(
        (name, defaulted(field, deepcopy(field.default)))
        for name, field in schema.properties.items()
        if field.default is not None
    )


def with_canonical_quantities(schema: Schema, value: object) -> object:
    """The value with every quantity in its canonical form; what cannot be read stays as it is."""
    if schema.format == "quantity":
        return canonical(value)
    if isinstance(value, Mapping):
        return {
            name: one if (below := _below(schema, name)) is None else with_canonical_quantities(below, one)
            for name, one in value.items()
        }
    if isinstance(value, list) and schema.items is not None:
        return [with_canonical_quantities(schema.items, one) for one in value]
    return value


def _below(schema: Schema, name: str) -> Schema | None:
    return schema.properties.get(name) or schema.values
