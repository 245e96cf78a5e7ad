"""Whatever JSON comes, it is read or refused; the fast looks at it agree with the slow ones."""

from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maar.embedded.resources import BUILT_IN, Resource
from maar.embedded.schema import defaults, semantics
from maar.embedded.schema.builtin import builtin
from maar.embedded.schema.check import refusals, wrong
from maar.embedded.schema.custom import packaged
from maar.embedded.schema.decode import fits, read
from maar.embedded.schema.defaults import defaulted
from maar.embedded.schema.go_types import problems
from maar.embedded.schema.types import Schema

Json = dict[str, Any]

KINDS: Final[list[tuple[Resource, Schema]]] = [
    *((one, builtin(one.api_version, one.kind)) for one in BUILT_IN),
    *((one.resource, one.schema) for one in packaged()),
]
TEXTS: Final = (
    "", "a", "A_", "a b", "a.b/c", "/", "-", "1", "500m", "4Gi", "-2", "1e3", "25%", "None", "Always",
    "Never", "Exists", "In", "2026-01-02T03:04:05Z", "2026-02-30T03:04:05.000001Z", "eA==", "10.0.0.1", "\n",
    "root", "é" * 70,
)  # fmt: skip
NUMBERS: Final = (0, 1, -1, 80, 70_000, 2**31, 2**63, -(2**63) - 1)
LIKELY: Final = ("metadata", "spec", "containers", "name", "tasks")
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=12,
)


def some(schema: Schema, rng: Random, depth: int = 0) -> object:
    """A value of the right types, or nearly so: what it says is arbitrary, and now and then it is a null."""
    if rng.random() < 0.02:
        return None
    if schema.type == "object":
        return some_fields(schema, rng, depth + 1)
    if schema.type == "array":
        return [some(schema.items or Schema(), rng, depth + 1) for _ in range(rng.randrange(3))]
    choices: dict[str, Sequence[object]] = {
        "integer": NUMBERS[:-2],
        "number": (0.5, 1, -3.0),
        "boolean": (True, False),
    }
    if schema.int_or_string:
        return rng.choice((*TEXTS, *NUMBERS))
    return rng.choice((*schema.enum, *choices.get(schema.type, TEXTS)))


def some_fields(schema: Schema, rng: Random, depth: int) -> Json:
    if not schema.properties:
        below = schema.values or Schema("string")
        return {rng.choice(TEXTS): some(below, rng, depth) for _ in range(rng.randrange(3))}
    names = list(schema.properties)
    chosen = {*LIKELY, *rng.sample(names, min(len(names), rng.randrange(4)))} if depth < 10 else set()
    return {name: some(schema.properties[name], rng, depth) for name in names if name in chosen}


def some_object(schema: Schema, rng: Random) -> Json:
    return some_fields(schema, rng, 0)


def spoilt(value: Json, rng: Random, by: object) -> None:
    """Put something else into an arbitrary place."""
    at: Any = value
    while at:
        place = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
        if rng.random() < 0.3 or not isinstance(at[place], dict | list):
            at[place] = by
            return
        at = at[place]


def taken(resource: Resource, schema: Schema, value: Json) -> Json | None:
    """Do with an object all that the server does until it is stored or refused."""
    reading = read(schema, value)
    if reading.problem is not None:
        return None
    if resource.custom:
        defaulted(schema, reading.value)
        refusals(schema, reading.value)
    else:
        defaults.default(resource, reading.value)
    semantics.created(resource, reading.value)
    return reading.value


@pytest.mark.parametrize(("resource", "schema"), KINDS, ids=lambda one: getattr(one, "qualified", ""))
@settings(max_examples=20, deadline=None)
@given(value=st.dictionaries(st.sampled_from(["metadata", "spec", "status", "data", "x"]), JSON))
def test_any_json_is_read_or_refused(resource: Resource, schema: Schema, value: Json) -> None:
    wrong(schema, value)
    taken(resource, schema, value)


@pytest.mark.parametrize(("resource", "schema"), KINDS, ids=lambda one: getattr(one, "qualified", ""))
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), by=JSON)
def test_objects_that_are_nearly_right_are_read_or_refused(
    resource: Resource, schema: Schema, seed: int, by: object
) -> None:
    rng = Random(seed)
    old = taken(resource, schema, some_object(schema, rng))
    value = some_object(schema, rng)
    spoilt(value, rng, by)
    new = taken(resource, schema, deepcopy(value))
    if old is not None and new is not None:
        semantics.updated(resource, old, new)
        if resource.custom:
            refusals(schema, new, old)


@pytest.mark.parametrize(("resource", "schema"), KINDS, ids=lambda one: getattr(one, "qualified", ""))
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), by=JSON)
def test_the_fast_looks_see_nothing_that_the_slow_ones_deny(
    resource: Resource, schema: Schema, seed: int, by: object
) -> None:
    del resource
    rng = Random(seed)
    value = some_object(schema, rng)
    if seed % 2:
        spoilt(value, rng, by)
    if fits(schema, value):
        assert not list(problems(schema, value))
        assert not strange(schema, value)


def strange(schema: Schema, value: object) -> bool:
    """Whether there is an unknown field, from the definition."""
    if isinstance(value, list):
        return any(strange(schema.items, below) for below in value if schema.items)
    if not isinstance(value, dict) or schema.type != "object":
        return False
    known = {**dict.fromkeys(value, schema.values), **schema.properties}
    return any(
        strange(field, below) if (field := known[name]) else not schema.open for name, below in value.items()
    )


@pytest.mark.parametrize(("resource", "schema"), KINDS, ids=lambda one: getattr(one, "qualified", ""))
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_has_been_read_and_filled_in_stays_as_it_is(
    resource: Resource, schema: Schema, seed: int
) -> None:
    value = some_object(schema, Random(seed))
    value["colour"] = "nobody knows"
    reading = read(schema, value)
    if reading.problem is not None:
        return
    assert "colour" in reading.unknown
    again = read(schema, reading.value)
    assert (again.unknown, again.problem) == ((), None)
    once = taken(resource, schema, deepcopy(reading.value))
    assert once is not None
    assert taken(resource, schema, deepcopy(once)) == once
