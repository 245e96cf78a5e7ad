"""Which fields a value has, and which of them differ in another value."""

from collections import Counter
from dataclasses import dataclass, field

from maar.embedded.patch.fields import Fields, Path
from maar.embedded.patch.fields import field as named
from maar.embedded.patch.shapes import ABSENT, ANYTHING, Shape, below, elements, shape
from maar.embedded.schema.types import Schema


def same(left: object, right: object) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1, as it is in Python."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def without_nulls(value: object) -> object:
    """The value without the fields that are null, which mean the same as fields that are not there."""
    if isinstance(value, dict):
        return {key: without_nulls(below) for key, below in value.items() if below is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def fields_of(value: object, schema: Schema) -> Fields:
    """All fields of a value: a manager that applies it owns them."""
    paths: set[Path] = set()
    _collect(value, schema, (), paths)
    return frozenset(paths - {()})


def _collect(value: object, schema: Schema, path: Path, paths: set[Path]) -> None:
    divided = shape(schema, value)
    if divided is Shape.LEAF:
        paths.add(path)
    elif divided is Shape.MAP and isinstance(value, dict):
        for name, inner in value.items():
            deeper = (*path, named(name))
            _collect(inner, below(schema, name) or ANYTHING, deeper, paths)
            if inner is None or inner == {} or name not in schema.properties:
                paths.add(deeper)
    elif isinstance(value, list):
        names = elements(schema, value) or []
        times = Counter(names)
        for name, item in zip(names, value, strict=True):
            if times[name] == 1:  # items with the same key are owned together
                _collect(item, schema.items or ANYTHING, (*path, name), paths)
            paths.add((*path, name))


@dataclass(frozen=True)
class Comparison:
    """What is different in a new value."""

    added: set[Path] = field(default_factory=set)
    modified: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)

    @property
    def given(self) -> Fields:
        """The fields that have a new value."""
        return frozenset(self.added | self.modified)


def compared(old: object, new: object, schema: Schema) -> Comparison:
    """What is different in the new value."""
    result = Comparison()
    _compare(old, new, schema, (), result)
    result.modified.discard(())  # an object as a whole has no owner
    return result


def _compare(old: object, new: object, schema: Schema, path: Path, result: Comparison) -> None:
    for divided in {shape(schema, value) for value in (old, new) if value is not ABSENT}:
        if divided is Shape.MAP and (_object(old) or _object(new)):
            _compare_objects(_object(old), _object(new), schema, path, result)
        elif divided is Shape.LIST and (_list(old) or _list(new)):
            _compare_lists(_list(old), _list(new), schema, path, result)
        elif old is not ABSENT and new is not ABSENT and not same(old, new):
            result.modified.add(path)
    if old is ABSENT and new is not ABSENT:
        result.added.add(path)
    elif new is ABSENT and old is not ABSENT:
        result.removed.add(path)


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _compare_objects(
    old: dict[str, object], new: dict[str, object], schema: Schema, path: Path, result: Comparison
) -> None:
    for name in old.keys() | new.keys():
        inner = below(schema, name) or ANYTHING
        _compare(old.get(name, ABSENT), new.get(name, ABSENT), inner, (*path, named(name)), result)


def _compare_lists(
    old: list[object], new: list[object], schema: Schema, path: Path, result: Comparison
) -> None:
    before, after = _by_element(old, schema), _by_element(new, schema)
    for name in before.keys() | after.keys():
        was, will = before.get(name, [ABSENT]), after.get(name, [ABSENT])
        deeper, inner = (*path, name), schema.items or ANYTHING
        if len(was) == len(will) == 1:
            _compare(was[0], will[0], inner, deeper, result)
        elif len(was) > 1 and len(will) > 1:
            if not same(was, will):
                result.modified.add(deeper)
        elif len(was) > 1:  # items with the same key were owned together
            _compare(ABSENT, will[0], inner, deeper, result)
            result.removed.add(deeper)
        else:
            _compare(was[0], ABSENT, inner, deeper, result)
            result.added.add(deeper)


def _by_element(items: list[object], schema: Schema) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for name, item in zip(elements(schema, items) or [], items, strict=False):
        found.setdefault(name, []).append(item)
    return found
