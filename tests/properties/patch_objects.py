"""Random objects of a kind that has every sort of list and object, and random JSON."""

from typing import Any, Final

from hypothesis import strategies as st

from maar.embedded.schema.types import Merge, Schema

Json = dict[str, Any]

TEXT: Final = Schema("string")
NUMBER: Final = Schema("integer")
TAGS: Final = Schema("array", items=TEXT, merge=Merge.SET, patch_key="*")
PART: Final = Schema(
    "object",
    properties={
        "name": TEXT,
        "count": NUMBER,
        "tags": TAGS,
        "args": Schema("array", items=TEXT),
        "notes": Schema("object", values=TEXT),
    },
)
SPEC: Final = Schema(
    "object",
    properties={
        "count": NUMBER,
        "tags": TAGS,
        "parts": Schema("array", items=PART, merge=Merge.MAP, keys=("name",), patch_key="name"),
        "groups": Schema("object", values=Schema("object", properties={"x": NUMBER, "y": NUMBER})),
        "pair": Schema("object", values=NUMBER, atomic=True),
        "free": Schema("object", open=True),
    },
)
THING: Final = Schema(
    "object",
    properties={
        "apiVersion": TEXT,
        "kind": TEXT,
        "metadata": Schema(
            "object", properties={"name": TEXT, "labels": Schema("object", values=TEXT)}, open=True
        ),
        "spec": SPEC,
    },
)

NAMES: Final = st.sampled_from("abcd")
NUMBERS: Final = st.integers(0, 3)
FREE: Final = st.recursive(
    NUMBERS | st.booleans() | NAMES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)
SOME_TAGS: Final = st.lists(NAMES, unique=True, max_size=3)
PARTS: Final = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "count": NUMBERS,
        "tags": SOME_TAGS,
        "args": st.lists(NAMES, max_size=2),
        "notes": st.dictionaries(NAMES, NAMES, max_size=2),
    },
)
SPECS: Final = st.fixed_dictionaries(
    {},
    optional={
        "count": NUMBERS,
        "tags": SOME_TAGS,
        "parts": st.lists(PARTS, unique_by=lambda part: part["name"], max_size=4),
        "groups": st.dictionaries(
            NAMES, st.fixed_dictionaries({}, optional={"x": NUMBERS, "y": NUMBERS}), max_size=2
        ),
        "pair": st.dictionaries(NAMES, NUMBERS, max_size=2),
        "free": st.dictionaries(NAMES, FREE, max_size=2),
    },
)
LABELS: Final = st.dictionaries(NAMES, NAMES, max_size=2)
THINGS: Final = st.builds(
    lambda spec, labels: {
        "apiVersion": "example.io/v1",
        "kind": "Thing",
        "metadata": {"name": "x"} | ({"labels": labels} if labels else {}),
        "spec": spec,
    },
    SPECS,
    LABELS,
)
FIELDS: Final = st.sampled_from([*THING.properties, *SPEC.properties, *PART.properties, "managedFields"])
DIRECTIVES: Final = st.sampled_from(
    [
        "$patch",
        "$retainKeys",
        "$setElementOrder/parts",
        "$setElementOrder/tags",
        "$deleteFromPrimitiveList/tags",
    ]
)
ELEMENTS: Final = st.sampled_from([".", "f:spec", "k:{}", 'k:{"name":"a"}', "v:1", "i:x"])
KEYS: Final = st.text(max_size=3) | FIELDS | DIRECTIVES | ELEMENTS
WORDS: Final = st.sampled_from(["delete", "replace", "merge", "name", "x"])
JSON: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=15,
)
OBJECTS: Final = st.dictionaries(KEYS, JSON, max_size=4)
WILD_SPECS: Final = st.dictionaries(KEYS, st.lists(OBJECTS | JSON, max_size=3) | JSON, max_size=4)
WILD_THINGS: Final = st.builds(
    lambda spec, owners: {
        "apiVersion": "example.io/v1",
        "kind": "Thing",
        "metadata": {
            "name": "x",
            "managedFields": [
                {
                    "manager": "ann",
                    "operation": "Apply",
                    "apiVersion": "example.io/v1",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": owners},
                }
            ],
        },
        "spec": spec,
    },
    WILD_SPECS,
    OBJECTS,
)
