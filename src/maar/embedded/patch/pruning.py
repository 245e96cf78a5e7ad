"""What goes from an object when somebody no longer applies it."""

from maar.embedded.patch.combination import without
from maar.embedded.patch.comparison import fields_of
from maar.embedded.patch.fields import Fields
from maar.embedded.patch.shapes import ANYTHING, below
from maar.embedded.schema.types import Schema


def pruned(value: object, last: Fields, owned: Fields, schema: Schema) -> object:
    """The value without what was applied last time and is now owned by nobody."""
    if not last:
        return value
    there, before = with_parents(fields_of(value, schema), schema), with_parents(last, schema)
    left = with_parents(fields_of(without(value, before, schema), schema), schema)
    kept = without(value, there - left - with_parents(owned, schema), schema)
    gone = there - with_parents(fields_of(kept, schema), schema)
    return without(value, gone & before, schema)  # and not what was there without an owner


def with_parents(fields: Fields, schema: Schema) -> Fields:
    """The fields and the declared ones that they are in, which are owned with what is in them."""
    found = set(fields)
    for path in fields:
        at = schema
        for depth, element in enumerate(path[:-1], start=1):
            kind, _, name = element.partition(":")
            if kind == "f" and name in at.properties:
                found.add(path[:depth])
            at = (below(at, name) if kind == "f" else at.items if kind == "k" else None) or ANYTHING
    return frozenset(found)
