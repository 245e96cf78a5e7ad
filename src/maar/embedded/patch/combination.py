"""Merging an applied configuration into the live object, and removing fields that were applied before."""

from collections import Counter, deque

from maar.embedded.patch.comparison import fields_of
from maar.embedded.patch.fields import SELF, Fields, field, written
from maar.embedded.patch.shapes import ANYTHING, Shape, below, elements, shape
from maar.embedded.schema.types import Schema


def combined(live: object, wanted: object, schema: Schema) -> object:
    """The live value with the applied one merged into it; nothing is removed."""
    kind = shape(schema, wanted)
    if kind is Shape.LEAF or kind is not shape(schema, live):
        return wanted
    if not live or not wanted:
        return live or wanted
    if isinstance(live, dict) and isinstance(wanted, dict):
        return live | {
            name: combined(live[name], value, below(schema, name) or ANYTHING) if name in live else value
            for name, value in wanted.items()
        }
    if isinstance(live, list) and isinstance(wanted, list):
        return _combined_lists(live, wanted, schema)
    return wanted


def _combined_lists(live: list[object], wanted: list[object], schema: Schema) -> list[object]:
    """The applied items in their order; items that only the live list has keep their places among them."""
    names, wanted_names = elements(schema, live) or [], elements(schema, wanted) or []
    there, times = dict(zip(names, live, strict=True)), Counter(names)
    given = dict(zip(wanted_names, wanted, strict=True))
    coming, shared = deque(wanted_names), deque(name for name in wanted_names if name in there)
    result: list[object] = []

    def take() -> str:
        name = coming.popleft()
        alone = times[name] == 1  # of several items with one key none can be chosen
        items = schema.items or ANYTHING
        result.append(combined(there[name], given[name], items) if alone else given[name])
        return name

    for name, item in zip(names, live, strict=True):
        if name not in given:
            result.append(item)
        elif shared and shared[0] == name:
            while take() != name:
                pass
            shared.popleft()
    while coming:
        take()
    return result


def without(value: object, gone: Fields, schema: Schema) -> object:
    """The value without the fields."""
    return _pruned(value, written(gone), schema)


def _pruned(value: object, gone: object, schema: Schema) -> object:
    """Take out what is in the tree of fields, which is written as in FieldsV1."""
    kind = shape(schema, value)
    if not isinstance(gone, dict) or not gone or kind is Shape.LEAF:
        return value
    if isinstance(value, dict):
        return {
            name: _pruned(inner, gone.get(field(name)), below(schema, name) or ANYTHING)
            for name, inner in value.items()
            if not _is_member(gone.get(field(name)))
        }
    if isinstance(value, list):
        return [
            _pruned(item, gone.get(name), schema.items or ANYTHING)
            for name, item in zip(elements(schema, value) or [], value, strict=True)
            if not _is_member(gone.get(name))
        ]
    return value


def _is_member(node: object) -> bool:
    return isinstance(node, dict) and (not node or SELF in node)


def pruned(value: object, last: Fields, owned: Fields, schema: Schema) -> object:
    """The value without what was applied last time and has no owner now."""
    if not last:
        return value
    there, before = with_parents(fields_of(value, schema), schema), with_parents(last, schema)
    left = with_parents(fields_of(without(value, before, schema), schema), schema)
    kept = without(value, there - left - with_parents(owned, schema), schema)
    gone = there - with_parents(fields_of(kept, schema), schema)
    return without(value, gone & before, schema)  # and not what was there without an owner


def with_parents(fields: Fields, schema: Schema) -> Fields:
    """The fields and the declared fields that contain them, which have the same owners."""
    found = set(fields)
    for path in fields:
        at = schema
        for depth, element in enumerate(path[:-1], start=1):
            kind, _, name = element.partition(":")
            if kind == "f" and name in at.properties:
                found.add(path[:depth])
            at = (below(at, name) if kind == "f" else at.items if kind == "k" else None) or ANYTHING
    return frozenset(found)
