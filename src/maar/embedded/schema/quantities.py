"""Quantities as Kubernetes writes them: 2 and "2000m" are both "2" in an object of a built-in kind."""

from collections.abc import Mapping

from maar.embedded.schema.rules.fields import canonical
from maar.embedded.schema.types import Schema


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
