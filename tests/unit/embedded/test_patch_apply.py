"""Server-side apply: the branches that the recorded cases do not reach."""

from typing import Any

import pytest

from maar.embedded.failures import ApiError
from maar.embedded.patch.apply import applied, tracked
from maar.embedded.patch.comparison import fields_of
from maar.embedded.patch.owners import ANNOTATION
from maar.embedded.schema.types import Merge, Schema

Json = dict[str, Any]
TEXT, NUMBER = Schema("string"), Schema("integer")
LABELS = Schema("object", values=TEXT)
SCHEMA = Schema(
    "object",
    properties={
        "apiVersion": TEXT,
        "kind": TEXT,
        "metadata": Schema("object", properties={"labels": LABELS, "annotations": LABELS}, open=True),
        "count": NUMBER,
        "tags": Schema("array", items=TEXT, merge=Merge.SET),
        "parts": Schema(
            "array",
            items=Schema("object", properties={"name": TEXT, "count": NUMBER}),
            merge=Merge.MAP,
            keys=("name",),
        ),
        "group": Schema("object", properties={"x": NUMBER, "y": NUMBER, "z": NUMBER}),
        "status": Schema("object", open=True),
        "when": Schema("string", format="date-time"),
    },
)


def thing(**fields: Any) -> Json:  # noqa: ANN401 - whatever JSON has
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}, **fields}


def apply(
    live: Json | None, wanted: Json, manager: str = "ann", now: str = "1", *, force: bool = False
) -> Json:
    return applied(live, wanted, SCHEMA, manager=manager, force=force, now=now, api_version="v1")


def track(old: Json | None, new: Json, manager: str = "bob", now: str = "2", subresource: str = "") -> Json:
    return tracked(old, new, SCHEMA, manager=manager, now=now, api_version="v1", subresource=subresource)


def owned(live: Json) -> dict[str, Json]:
    return {entry["manager"]: entry["fieldsV1"] for entry in live["metadata"].get("managedFields", [])}


def test_the_nulls_that_kubectl_prints_for_the_servers_own_fields_are_not_applied() -> None:
    live = apply(None, thing(count=1))
    live["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    wanted = thing(count=1)
    wanted["metadata"]["creationTimestamp"] = None
    assert apply(live, wanted, now="2") == live


def test_null_removes_a_plain_value_and_is_owned() -> None:
    live = apply(apply(None, thing(count=1)), thing(count=None), now="2")
    assert live["count"] is None
    assert owned(live) == {"ann": {"f:count": {}}}


def test_null_for_what_others_have_elements_in_leaves_them() -> None:
    live = apply(apply(None, thing(tags=["t"])), thing(tags=None), "bob")
    assert live["tags"] == ["t"]


def test_what_the_server_filled_in_is_owned_by_nobody_and_stays_while_somebody_owns_its_object() -> None:
    live = apply(apply(None, thing(group={"x": 1})), thing(group={"z": 3}), "bob")
    live["group"]["y"] = 2
    assert apply(live, thing())["group"] == {"y": 2, "z": 3}
    assert "group" not in apply(apply(live, thing(), "bob"), thing(), now="2")


def test_elements_that_say_they_are_the_same_are_left_alone_or_replaced_together() -> None:
    parts = [{"name": "p", "count": 1}, {"name": "p", "count": 2}]
    live = track(None, thing(parts=parts))
    assert owned(live) == {"bob": {"f:parts": {".": {}, 'k:{"name":"p"}': {}}}}
    assert fields_of(parts, SCHEMA.properties["parts"]) == {('k:{"name":"p"}',)}
    assert apply(live, thing(count=1))["parts"] == parts
    assert apply(live, thing(parts=[{"name": "p", "count": 3}]), force=True)["parts"] == [
        {"name": "p", "count": 3}
    ]
    with pytest.raises(ApiError, match=r'conflict with "bob" using v1: .parts\[name="p"\]'):
        apply(live, thing(parts=[{"name": "p", "count": 3}]))


@pytest.mark.parametrize(
    ("before", "after"), [([1, 1], [1]), ([1], [1, 1]), ([1, 1], [1, 1, 1]), ([1, 1], [1, 1]), ([1, 1], [])]
)
def test_an_update_of_such_elements_is_the_updaters(before: list[int], after: list[int]) -> None:
    old = apply(track(None, thing(parts=[{"name": "p", "count": c} for c in before])), thing(count=1))
    new = {**old, "parts": [{"name": "p", "count": c} for c in after]}
    owners = owned(track(old, new, "cy"))
    changed = before != after
    assert ("cy" in owners) == (changed and bool(after))
    assert ('k:{"name":"p"}' in owners["bob"].get("f:parts", {})) == (not changed)


def test_a_list_whose_elements_nothing_tells_apart_is_one_value() -> None:
    live = track(None, thing(parts=[{"count": 1}], tags=[{"a": 1}]))
    assert owned(live) == {"bob": {"f:parts": {}, "f:tags": {}}}
    assert apply(live, thing(parts=[{"name": "p"}]), force=True)["parts"] == [{"name": "p"}]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"tags": [["a"]]}, ".tags: element 0: associative list without keys has an element that's a list"),
        (
            {"tags": [None]},
            ".tags: element 0: associative list without keys has an element that's an explicit null",
        ),
        ({"tags": [1]}, ".tags[=1]: expected string, got 1"),
        ({"count": True}, ".count: expected numeric (int or float), got bool"),
        (
            {"parts": [{"name": "p", "count": "x"}]},
            '.parts[name="p"].count: expected numeric (int or float), got',
        ),
        ({"when": {}}, ".when: expected any scalar, got {}"),
        ({"metadata": []}, ".metadata: expected map, got []"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(fields: Json, why: str) -> None:
    with pytest.raises(ApiError) as refused:
        apply(None, thing(**fields))
    assert refused.value.code == 500
    assert why in refused.value.message


def test_owners_that_nobody_can_read_count_as_none() -> None:
    live = thing(count=1)
    live["metadata"]["managedFields"] = [{"manager": "?"}]
    assert owned(apply(live, thing(tags=["t"]))) == {
        "ann": {"f:tags": {'v:"t"': {}}},
        "before-first-apply": {"f:count": {}},
    }
    assert owned(track(live, live)) == {}


@pytest.mark.parametrize("reset", [[], [{}]])
def test_a_client_may_have_the_owners_forgotten_but_not_through_a_subresource(reset: list[Json]) -> None:
    live = apply(None, thing(count=1))
    new = {**live, "metadata": {**live["metadata"], "managedFields": reset}}
    assert "managedFields" not in track(live, new)["metadata"]
    assert track(live, new, subresource="status") == live


def test_a_client_that_leaves_the_owners_out_does_not_remove_them() -> None:
    live = apply(None, thing(count=1))
    assert track(live, thing(count=1)) == live


def test_who_has_no_name_is_unknown() -> None:
    assert owned(track(apply(None, thing(count=1)), thing(count=2), "")) == {"unknown": {"f:count": {}}}


def test_what_client_side_apply_has_set_is_its_own_before_the_first_apply() -> None:
    last = '{"apiVersion":"v1","kind":"Thing","metadata":{"name":"x"},"count":1,"group":{"x":1,"y":1}}'
    live = thing(count=2, group={"x": 1, "y": 1, "z": 1}, status={"seen": 1})
    live["metadata"] |= {"labels": {"keep": "me"}, "annotations": {ANNOTATION: last}}
    after = apply(live, thing(tags=["t"]), "kubectl")
    assert owned(after) == {
        "kubectl": {"f:tags": {'v:"t"': {}}},
        "kubectl-client-side-apply": {
            "f:group": {".": {}, "f:x": {}, "f:y": {}},
            "f:metadata": {"f:annotations": {f"f:{ANNOTATION}": {}}},
        },
        "before-first-apply": {
            "f:count": {},  # changed since
            "f:group": {"f:z": {}},
            "f:metadata": {"f:annotations": {}, "f:labels": {".": {}, "f:keep": {}}},
        },
    }


def test_the_status_is_owned_through_its_subresource_only() -> None:
    live = thing(count=1, status={"seen": 1})
    wanted = thing(status={"ready": True})
    after = applied(
        live, wanted, SCHEMA, manager="ann", force=False, now="1", api_version="v1", subresource="status"
    )
    assert owned(after) == {
        "ann": {"f:status": {"f:ready": {}}},
        "before-first-apply": {"f:status": {".": {}, "f:seen": {}}},
    }


@pytest.mark.parametrize("annotation", ["{", "[]", '{"apiVersion":"v2","count":1}', '{"apiVersion":"v1"}'])
def test_an_annotation_that_does_not_speak_for_the_field_allows_no_conflict(annotation: str) -> None:
    live = track(None, thing(count=1) | {"metadata": {"name": "x", "annotations": {ANNOTATION: annotation}}})
    with pytest.raises(ApiError, match="conflict with"):
        apply(live, thing(count=2), "kubectl")


def test_the_annotation_is_kept_up_to_date_without_itself_in_it() -> None:
    live = track(None, thing() | {"metadata": {"name": "x", "annotations": {ANNOTATION: "{}", "a": "1"}}})
    wanted = thing() | {"metadata": {"name": "x", "annotations": {ANNOTATION: "{}", "b": "2"}}}
    annotations = apply(live, wanted, "kubectl")["metadata"]["annotations"]
    assert annotations == {
        "a": "1",
        "b": "2",
        ANNOTATION: '{"apiVersion":"v1","kind":"Thing","metadata":{"annotations":{"b":"2"},"name":"x"}}\n',
    }
