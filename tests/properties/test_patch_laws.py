"""The laws of patches, and of server-side apply."""

from copy import deepcopy
from typing import Final

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from maar.embedded.failures import ApiError
from maar.embedded.patch.apply import applied, combined, tracked
from maar.embedded.patch.comparison import compared, fields_of, same
from maar.embedded.patch.fields import read, written
from maar.embedded.patch.json_patch import json_patch, merge_patch
from maar.embedded.patch.owners import UNOWNED, applier, owners_of, updater
from maar.embedded.patch.strategic import strategic_patch
from maar.embedded.schema.types import Schema
from properties.how_many import cases
from properties.patch_objects import JSON, OBJECTS, THING, THINGS, WILD_SPECS, WILD_THINGS, Json

VERSION: Final = "example.io/v1"
MANAGERS: Final = st.sampled_from(["ann", "bob", "cy"])
WRITES: Final = st.lists(st.tuples(st.booleans(), MANAGERS, THINGS), min_size=1, max_size=5)
OPERATIONS: Final = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]) | JSON,
            "path": st.sampled_from(["", "/spec", "/spec/tags/0", "/spec/parts/1/name", "/metadata/-"])
            | JSON,
            "from": st.sampled_from(["/spec", "/spec/tags", "/spec/parts/0"]) | JSON,
            "value": JSON,
        },
    )
    | JSON,
    max_size=5,
)


def clock(now: int) -> str:
    return f"2026-01-01T00:00:{now:02}Z"


def apply(live: Json | None, wanted: Json, manager: str, now: int, *, force: bool = True) -> Json:
    return applied(live, wanted, THING, manager=manager, force=force, now=clock(now), api_version=VERSION)


def track(old: Json | None, new: Json, manager: str, now: int) -> Json:
    return tracked(old, new, THING, manager=manager, now=clock(now), api_version=VERSION)


def history(writes: list[tuple[bool, str, Json]]) -> Json:
    """An object that was applied and updated, by force."""
    live: Json | None = None
    for now, (by_apply, manager, thing) in enumerate(writes):
        live = apply(live, thing, manager, now) if by_apply else track(live, thing, manager, now)
    assert live is not None
    return live


def bare(thing: Json) -> Json:
    """The object without its owners."""
    metadata = {name: value for name, value in thing["metadata"].items() if name != "managedFields"}
    return {**thing, "metadata": metadata}


def without_empty_lists(value: object) -> object:
    """The value without what nobody can own: a list of elements is owned by its elements."""
    if isinstance(value, dict):
        return {name: without_empty_lists(below) for name, below in value.items() if below != []}
    return [without_empty_lists(item) for item in value] if isinstance(value, list) else value


def merge_difference(old: Json, new: Json) -> Json:
    """The merge patch from one object to another; neither has nulls."""
    patch: Json = dict.fromkeys(old.keys() - new.keys())
    for name, value in new.items():
        there = old.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            patch[name] = merge_difference(there, value)
        elif name not in old or not same(there, value):
            patch[name] = value
    return patch


def json_difference(old: Json, new: Json, path: str = "") -> list[Json]:
    """The JSON patch from one object to another."""
    operations: list[Json] = []
    for name in old.keys() | new.keys():
        at = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        there, value = old.get(name), new.get(name)
        if name not in new:
            operations.append({"op": "remove", "path": at})
        elif isinstance(there, dict) and isinstance(value, dict):
            operations += json_difference(there, value, at)
        else:
            operations.append({"op": "replace" if name in old else "add", "path": at, "value": value})
    return operations


def strategic_difference(old: Json, new: Json, schema: Schema) -> Json:
    """The strategic patch from one object to another, with its directives, as kubectl makes it."""
    patch: Json = dict.fromkeys(old.keys() - new.keys())
    for name, value in new.items():
        below, there = schema.properties.get(name) or schema.values or Schema(), old.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            patch[name] = strategic_difference(there, value, below)
        elif isinstance(there, list) and isinstance(value, list) and below.patch_key == "*":
            patch[f"$deleteFromPrimitiveList/{name}"] = [item for item in there if item not in value]
            patch[f"$setElementOrder/{name}"] = value
            patch[name] = [item for item in value if item not in there]
        elif isinstance(there, list) and isinstance(value, list) and below.patch_key:
            patch[f"$setElementOrder/{name}"] = [{"name": item["name"]} for item in value]
            patch[name] = keyed_difference(there, value, below.items or Schema())
        elif name not in old or not same(there, value):
            patch[name] = value
    return patch


def keyed_difference(old: list[Json], new: list[Json], items: Schema) -> list[Json]:
    before, after = ({item["name"]: item for item in some} for some in (old, new))
    changed = [
        strategic_difference(before[name], item, items) | {"name": name} if name in before else item
        for name, item in after.items()
    ]
    return changed + [{"$patch": "delete", "name": name} for name in before if name not in after]


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_twice_is_a_merge_patch_once(document: Json, patch: Json) -> None:
    once = merge_patch(document, patch)
    assert same(merge_patch(once, patch), once)


@given(THINGS, THINGS)
def test_the_difference_as_a_merge_patch_leads_to_the_target(old: Json, new: Json) -> None:
    assert same(merge_patch(old, merge_difference(old, new)), new)


@given(OBJECTS, OBJECTS)
def test_the_difference_as_a_json_patch_leads_to_the_target(old: Json, new: Json) -> None:
    assert same(json_patch(old, json_difference(old, new)), new)


@given(THINGS, THINGS)
def test_the_difference_as_a_strategic_patch_leads_to_the_target(old: Json, new: Json) -> None:
    assert same(strategic_patch(old, strategic_difference(old, new, THING), THING), new)


@given(THINGS, THINGS)
def test_a_strategic_patch_without_directives_twice_is_the_same_as_once(document: Json, patch: Json) -> None:
    once = strategic_patch(document, patch, THING)
    assert same(strategic_patch(once, patch, THING), once)


@given(WRITES, MANAGERS, THINGS)
def test_applying_the_same_again_changes_nothing_not_even_a_time(
    writes: list[tuple[bool, str, Json]], manager: str, wanted: Json
) -> None:
    once = apply(history(writes), wanted, manager, 50)
    assume(owners_of(once))  # an object that nobody owns is, as in Kubernetes, before its first apply again
    assert apply(once, wanted, manager, 51) == once
    assert apply(once, wanted, manager, 52, force=False) == once


@given(WRITES, MANAGERS, THINGS)
def test_what_is_applied_is_there(writes: list[tuple[bool, str, Json]], manager: str, wanted: Json) -> None:
    live = bare(apply(history(writes), wanted, manager, 50))
    assert not compared(live, combined(live, wanted, THING), THING).given


@given(st.lists(THINGS, min_size=1, max_size=4))
def test_what_only_one_applies_is_what_it_applied_last(wanted: list[Json]) -> None:
    live = without_empty_lists(bare(history([(True, "ann", thing) for thing in wanted])))
    assert fields_of(live, THING) - UNOWNED == fields_of(without_empty_lists(wanted[-1]), THING) - UNOWNED


@given(WRITES)
def test_nobody_owns_what_is_not_there(writes: list[tuple[bool, str, Json]]) -> None:
    live = history(writes)
    there = compared({}, bare(live), THING).added
    for owner, claim in owners_of(live).items():
        assert claim.fields <= there, owner


@given(WRITES, MANAGERS, THINGS)
def test_apply_without_force_changes_nothing_that_others_own(
    writes: list[tuple[bool, str, Json]], manager: str, wanted: Json
) -> None:
    before = history(writes)
    try:
        after = apply(before, wanted, manager, 50, force=False)
    except ApiError as error:
        assert error.reason == "Conflict"  # noqa: PT017 - either way is right
        return
    change = compared(bare(before), bare(after), THING)
    for owner, claim in owners_of(before).items():
        if owner != applier(manager, ""):
            assert not claim.fields & change.given, owner


@given(WRITES, MANAGERS, THINGS)
def test_who_updates_a_field_owns_it_alone(
    writes: list[tuple[bool, str, Json]], manager: str, new: Json
) -> None:
    before = history(writes)
    after = track(before, new, manager, 50)
    changed = compared(bare(before), bare(after), THING).given - UNOWNED if owners_of(before) else frozenset()
    for owner, claim in owners_of(after).items():
        assert (claim.fields & changed) == (
            changed if owner == updater(manager, VERSION, "") else frozenset()
        )


@given(THINGS)
def test_a_set_of_fields_is_read_as_it_is_written(thing: Json) -> None:
    fields = fields_of(thing, THING)
    assert read(written(fields)) == fields


@settings(max_examples=cases(200))
@given(OBJECTS | THINGS | WILD_THINGS, JSON | OBJECTS | THINGS | WILD_SPECS, OPERATIONS | JSON)
def test_whatever_comes_is_carried_out_or_refused(live: Json, patch: object, operations: object) -> None:
    given_before = deepcopy((live, patch, operations))
    configuration = {"spec": patch}
    for attempt in (
        lambda: merge_patch(live, patch),
        lambda: json_patch(live, operations),
        lambda: strategic_patch(live, patch, THING),
        lambda: strategic_patch(live, {"spec": patch}, THING),
        lambda: apply(live, configuration, "ann", 1, force=False),
        lambda: apply(live, live, "bob", 1),
        lambda: track(live, configuration, "ann", 1),
        lambda: track(configuration, live, "ann", 1),
    ):
        try:
            assert isinstance(attempt(), dict)
        except ApiError as refusal:
            assert refusal.message  # noqa: PT017 - either way is right
    assert (live, patch, operations) == given_before
