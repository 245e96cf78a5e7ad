"""JSON patches: the branches that the recorded cases do not reach."""

from typing import Any

import pytest

from maar.embedded.failures import ApiError
from maar.embedded.patch.json_patch import MAX_COPIED_BYTES, MAX_OPERATIONS, json_patch, merge_patch

Json = dict[str, Any]
DOCUMENT: Json = {"a": {"b": [1, {"c": 2}]}, "m~n": {"x/y": True}, "": 0}


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        ({"op": "add", "path": "/a/b/1/d", "value": 3}, {**DOCUMENT, "a": {"b": [1, {"c": 2, "d": 3}]}}),
        ({"op": "replace", "path": "/m~0n/x~1y", "value": 1}, {**DOCUMENT, "m~n": {"x/y": 1}}),
        ({"op": "replace", "path": "/a/b/0", "value": 5}, {**DOCUMENT, "a": {"b": [5, {"c": 2}]}}),
        ({"op": "replace", "path": "/", "value": 1}, {**DOCUMENT, "": 1}),
        ({"op": "replace", "path": "", "value": {"z": 1}}, {"z": 1}),
        ({"op": "add", "path": "", "value": {"z": 1}}, {"z": 1}),
        ({"op": "test", "path": "", "value": DOCUMENT}, DOCUMENT),
        ({"op": "test", "path": "/a/b/0", "value": 1.0}, DOCUMENT),
        ({"op": "move", "from": "/a/b/0", "path": "/a/b/1"}, {**DOCUMENT, "a": {"b": [{"c": 2}, 1]}}),
        ({"op": "copy", "from": "/a/b/0", "path": "/a/b/-"}, {**DOCUMENT, "a": {"b": [1, {"c": 2}, 1]}}),
        ({"op": "replace", "path": "/a/b/1/c", "value": None}, {**DOCUMENT, "a": {"b": [1, {"c": None}]}}),
    ],
)
def test_an_operation_changes_its_place_and_no_other(operation: Json, after: Json) -> None:
    assert json_patch(DOCUMENT, [operation]) == after


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "test", "path": "/a/b/0", "value": True}, "the value is another one"),
        ({"op": "test", "path": "/zz/y", "value": None}, "there is no 'zz'"),
        ({"op": "replace", "path": "/a/b/2", "value": 1}, "no position"),
        ({"op": "replace", "path": "/a/b/-", "value": 1}, "no position"),
        ({"op": "replace", "path": "/a/b/-1", "value": 1}, "no position"),
        ({"op": "remove", "path": "/a/b/" + "9" * 5000}, "no position"),
        ({"op": "remove", "path": "/a/b/²"}, "no position"),
        ({"op": "remove", "path": ""}, "the whole object cannot be removed"),
        ({"op": "move", "from": "/a", "path": "/a/b"}, "there is no 'a'"),
        ({"op": "add", "path": "/a/b/0/z", "value": 1}, "nothing that could have a 'z'"),
        ({"op": "add", "path": "a", "value": 1}, "'path' is no JSON pointer"),
        ({"op": "add", "path": 7, "value": 1}, "'path' is no JSON pointer"),
        ({"op": "move", "path": "/a"}, "'from' is no JSON pointer"),
        ({"op": ["add"], "path": "/a"}, "there is no such operation"),
        ({"op": "replace", "path": "", "value": [1]}, "keep it an object"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused_in_kubernetes_words_and_the_cause_says_why(
    operation: Json, why: str
) -> None:
    with pytest.raises(ApiError) as refused:
        json_patch(DOCUMENT, [operation])
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert refused.value.message == "the server rejected our request due to an error in our request"
    assert why in str(refused.value.details["causes"])


def test_all_or_nothing() -> None:
    with pytest.raises(ApiError):
        json_patch(DOCUMENT, [{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/a"}])
    assert DOCUMENT["a"] == {"b": [1, {"c": 2}]}


def test_as_many_operations_as_in_kubernetes_and_not_one_more() -> None:
    one = {"op": "test", "path": "/a/b/0", "value": 1}
    assert json_patch(DOCUMENT, [one] * MAX_OPERATIONS) == DOCUMENT
    with pytest.raises(ApiError, match="maximum operations in a JSON patch is 10000, got 10001") as refused:
        json_patch(DOCUMENT, [one] * (MAX_OPERATIONS + 1))
    assert (refused.value.code, refused.value.reason) == (413, "RequestEntityTooLarge")


def test_copies_of_copies_are_bounded() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/{number}"} for number in range(64)]
    with pytest.raises(ApiError) as refused:
        json_patch({"a": {"text": "x" * 100}}, doubling)
    assert str(MAX_COPIED_BYTES) in str(refused.value.details)


@pytest.mark.parametrize("patch", [{"op": "add"}, "text", None, 1, ["text"], [[]]])
def test_what_is_no_json_patch_is_refused(patch: object) -> None:
    with pytest.raises(ApiError, match="error decoding patch") as refused:
        json_patch(DOCUMENT, patch)
    assert refused.value.code == 400


@pytest.mark.parametrize("patch", [[1], "text", None, 1])
def test_what_is_no_merge_patch_is_refused(patch: object) -> None:
    with pytest.raises(ApiError, match="error decoding patch") as refused:
        merge_patch(DOCUMENT, patch)
    assert refused.value.code == 400


def test_what_nobody_can_follow_is_refused() -> None:
    deep: Json = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(ApiError, match="nested too deeply"):
        merge_patch({}, deep)
