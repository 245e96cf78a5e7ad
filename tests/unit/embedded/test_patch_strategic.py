"""Strategic merge patches: the branches that the recorded cases do not reach."""

from typing import Any

import pytest

from maar.embedded.failures import ApiError
from maar.embedded.patch.strategic import strategic_patch
from maar.embedded.schema.types import Schema

Json = dict[str, Any]
ITEM = Schema("object", properties={"name": Schema("string")})
SCHEMA = Schema(
    "object",
    properties={
        "keyed": Schema("array", items=ITEM, patch_key="name"),
        "plain": Schema("array", items=Schema("string"), patch_key="*"),
        "whole": Schema("object", values=Schema("string"), replace=True),
    },
)


@pytest.mark.parametrize(
    ("live", "patch", "after"),
    [
        # what there is nothing to merge with is taken without its directives and nulls
        (
            {},
            {"keyed": [{"name": "a", "x": None, "$retainKeys": ["name"]}, {"$patch": "delete", "name": "b"}]},
            {"keyed": [{"name": "a"}]},
        ),
        ({}, {"a": {"b": {"$patch": "replace", "c": 1}, "d": 2}}, {"a": {"d": 2}}),
        ({"a": 1}, {"a": {"b": None, "c": 2}}, {"a": {"c": 2}}),
        ({"a": {"x": 1}}, {"a": {"$patch": "replace", "b": {"c": None, "d": 2}}}, {"a": {"b": {"d": 2}}}),
        # true is not 1, 1 is 1.0
        ({"plain": [1]}, {"plain": [True]}, {"plain": [True, 1]}),
        ({"plain": [1, "a"]}, {"$deleteFromPrimitiveList/plain": [True, 1.0]}, {"plain": ["a"]}),
        ({"plain": ["a", "b", "a"]}, {"plain": ["c"]}, {"plain": ["c", "a", "b"]}),
        # elements with the same key: the first is meant, all are deleted, none gets lost
        (
            {"keyed": [{"name": "a", "x": 1}, {"name": "a", "x": 2}]},
            {"keyed": [{"name": "a", "y": 3}]},
            {"keyed": [{"name": "a", "x": 1, "y": 3}, {"name": "a", "x": 2}]},
        ),
        (
            {"keyed": [{"name": "a"}, {"name": "a"}]},
            {"keyed": [{"$patch": "delete", "name": "a"}]},
            {"keyed": []},
        ),
        (
            {"keyed": []},
            {"keyed": [{"name": "a"}, {"name": "a", "y": 1}]},
            {"keyed": [{"name": "a", "y": 1}]},
        ),
        # directives about what is not there
        ({}, {"$deleteFromPrimitiveList/plain": ["a"], "$setElementOrder/plain": ["a"]}, {}),
        ({"keyed": 7}, {"$setElementOrder/keyed": [{"name": "a"}]}, {"keyed": 7}),
        ({"other": [3, 1]}, {"$setElementOrder/other": [1, 3]}, {"other": [3, 1]}),
        ({"whole": {"a": "1"}}, {"whole": {"b": "2"}}, {"whole": {"b": "2"}}),
    ],
)
def test_a_patch_gives(live: Json, patch: Json, after: Json) -> None:
    assert repr(strategic_patch(live, patch, SCHEMA)) == repr(after)  # repr, because 1 == True


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ([1], 400, "a strategic merge patch is an object, not array"),
        ({"keyed": ["a"]}, 500, "an element of a list merged by 'name' is an object, not string"),
        ({"keyed": [{"name": ["a"]}]}, 422, "error in our request"),
        ({"keyed": [{"name": {"a": 1}}]}, 500, "list element types are not identical"),
        (
            {"keyed": [{"$patch": "delete"}]},
            500,
            "map[$patch:delete] does not contain declared merge key: name",
        ),
        ({"keyed": [{"$patch": None, "name": "a"}]}, 500, "unknown patch type: <nil> in map"),
        ({"plain": [["a"]]}, 422, "error in our request"),
        ({"plain": [{"a": [True, None]}]}, 500, "list element types are not identical"),
        ({"$deleteFromPrimitiveList/plain": None}, 500, "expected a list in $deleteFromPrimitiveList/plain"),
        ({"$setElementOrder/keyed": ["a"]}, 500, "is an object, not string"),
        ({"$retainKeys": ["b"], "a": 1}, 400, "invalid patch format of retainKeys"),
    ],
)
def test_a_patch_is_refused(patch: Any, code: int, message: str) -> None:  # noqa: ANN401 - whatever JSON has
    live = {"keyed": [{"name": "a"}], "plain": ["a"]}
    with pytest.raises(ApiError) as refused:
        strategic_patch(live, patch, SCHEMA)
    assert refused.value.code == code
    assert message in refused.value.message
