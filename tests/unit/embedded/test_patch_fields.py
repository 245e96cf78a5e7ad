"""Sets of fields as managedFields writes them, and what is made of what nobody can read."""

from typing import Any

import pytest

from maar.embedded.patch.fields import IllegibleError, in_reading_order, keyed, read, shown, valued, written
from maar.embedded.patch.owners import ANCIENT, MAX_UPDATERS, Claim, Owner, capped, owners_of, updater

ENTRY = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}


def test_what_contains_is_marked_with_a_point_if_it_is_in_the_set_itself() -> None:
    fields = frozenset({("f:a",), ("f:a", "f:b"), ("f:c", "f:d")})
    assert written(fields) == {"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {}}}


def test_spellings_of_the_same_element_are_one() -> None:
    assert read({'k:{"b":1.0, "a":"x"}': {}, "v:2.0": {}}) == {(keyed({"a": "x", "b": 1}),), (valued(2),)}


def test_elements_that_nobody_knows_yet_are_passed_over() -> None:
    assert read({"f:a": {"z:later": {}}}) == {("f:a",)}


@pytest.mark.parametrize(
    "tree", [[], {"f:a": 1}, {"spec": {}}, {"k:[]": {}}, {"k:{": {}}, {"v:x": {}}, {"i:x": {}}]
)
def test_what_is_no_set_is_refused(tree: object) -> None:
    with pytest.raises(IllegibleError):
        read(tree)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:spec", 'k:{"name":"a","port":1}', "f:x"), '.spec[name="a",port=1].x'),
        (("f:tags", 'v:"t"'), '.tags[="t"]'),
        (("f:list", "i:3"), ".list[3]"),
    ],
)
def test_paths_read_as_in_kubernetes(path: tuple[str, ...], text: str) -> None:
    assert shown(path) == text


def test_fields_come_before_what_is_in_others_and_numbers_in_their_order() -> None:
    paths = [("f:a", "f:x"), ("f:b",), ("f:l", "v:10"), ("f:l", "v:9"), ("f:l", 'v:"9"'), ("f:l", "v:true")]
    order = [("f:b",), ("f:a", "f:x"), ("f:l", "v:9"), ("f:l", "v:10"), ("f:l", 'v:"9"'), ("f:l", "v:true")]
    assert in_reading_order(reversed(paths)) == order


@pytest.mark.parametrize(
    "entries",
    [
        "text",
        ["text"],
        [ENTRY | {"operation": "Guess"}],
        [ENTRY | {"apiVersion": ""}],
        [ENTRY | {"fieldsType": "FieldsV2"}],
        [ENTRY | {"time": 7}],
        [ENTRY | {"fieldsV1": {"x": {}}}],
    ],
)
def test_owners_that_nobody_can_read_are_refused(entries: Any) -> None:  # noqa: ANN401 - whatever JSON has
    with pytest.raises(IllegibleError):
        owners_of({"metadata": {"managedFields": entries}})


def test_the_oldest_updaters_are_put_together_and_lose_nothing() -> None:
    owners = {
        updater(f"u{number:02}", "v1", ""): Claim(frozenset({(f"f:{number}",)}), "v1", f"{number:02}")
        for number in range(MAX_UPDATERS + 3)
    }
    once = capped(owners)
    assert len(once) == MAX_UPDATERS
    assert once[Owner(ANCIENT, "Update", "v1")] == Claim(
        frozenset({(f"f:{n}",) for n in range(4)}), "v1", "03"
    )
    more = once | {updater("late", "v1", ""): Claim(frozenset({("f:late",)}), "v1", "99")}
    assert len(capped(more)) == MAX_UPDATERS
    assert frozenset().union(*(claim.fields for claim in capped(more).values())) == {
        path for claim in more.values() for path in claim.fields
    }
