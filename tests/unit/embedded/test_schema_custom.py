"""Custom kinds: what their definitions say of resources, defaults, nulls and rules is what is done."""

from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from maar.embedded.schema.cel import broken
from maar.embedded.schema.check import refusals, wrong
from maar.embedded.schema.custom import CustomKind, custom, packaged
from maar.embedded.schema.decode import read
from maar.embedded.schema.defaults import defaulted
from maar.embedded.schema.types import Merge, Schema

Json = dict[str, Any]

CASES: Final = yaml.safe_load((Path(__file__).parents[1] / "crd_cases.yaml").read_text(encoding="utf-8"))
KINDS: Final = {(one.resource.api_version, one.resource.kind): one for one in packaged()}
THING: Final = """
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, categories: [all]}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            metadata: {type: object}
            spec:
              type: object
              properties:
                letters: {type: array, minItems: 2, items: {type: string}}
                set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
                map:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [a, b]
                  items:
                    type: object
                    required: [a]
                    properties: {a: {type: string}, b: {type: integer, default: 0}, c: {type: string}}
                    x-kubernetes-validations:
                      - {rule: "!has(oldSelf.c) || self.c == oldSelf.c", message: c is for ever}
                some: {type: object, minProperties: 1, additionalProperties: {type: string}}
                long: {type: integer, format: int64}
                whole: {type: integer}
                part: {type: number, maximum: 2.5}
                none: {type: string, nullable: true}
                perhaps: {type: string, nullable: true, default: d}
                said: {type: string, default: d}
                full: {type: object, default: {}, properties: {y: {type: integer, default: 5}}}
                empty: {type: object, properties: {y: {type: integer, default: 5}}}
                each:
                  type: object
                  additionalProperties: {type: object, properties: {y: {type: integer, default: 5}}}
                maybe: {type: object, additionalProperties: {type: string, nullable: true}}
                number: {type: integer, enum: [1, 2]}
                fixed:
                  type: string
                  x-kubernetes-validations: [{rule: self == oldSelf, message: is for ever}]
                odd:
                  type: object
                  x-kubernetes-validations: [{rule: self.q > 3}, {rule: "self.l[3] == 1", message: m}]
                  properties: {q: {type: integer}, l: {type: array, maxItems: 3, items: {type: integer}}}
                reason:
                  type: string
                  x-kubernetes-validations:
                    - {rule: self == 'a', message: must be a, reason: FieldValueForbidden}
                    - {rule: self != 'b', message: not b, reason: FieldValueDuplicate}
                    - {rule: self != 'c', message: not c, reason: FieldValueRequired}
                share: {type: number, x-kubernetes-validations: [{rule: self > 1.0, message: too small}]}
                open: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
NOT_CHECKED: Final = "<nil>: Invalid value: null: some validation rules were not checked"


@pytest.fixture(scope="module")
def thing() -> CustomKind:
    return custom(yaml.safe_load(THING))


def answers(schema: Schema, value: Json, old: Json | None = None) -> list[str]:
    return [f"{cause.field}: {cause.message}" for cause in refusals(schema, value, old)]


def spec(**fields: object) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": fields}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["title"])
def test_the_definitions_of_maar_hold_without_a_real_server(case: Json) -> None:
    kind = KINDS[case["object"]["apiVersion"], case["object"]["kind"]]
    reading = read(kind.schema, deepcopy(case["object"]))
    assert (reading.problem, reading.unknown) == (None, ())
    value = reading.value
    defaulted(kind.schema, value)
    if "status" in kind.resource.subresources:
        value.pop("status", None)
    messages = answers(kind.schema, value)
    if case["refused"] is None:
        assert messages == []
    else:
        assert [one for one in messages if case["refused"] in one]


def test_a_definition_says_what_is_served_and_shown() -> None:
    queue = KINDS["scheduling.volcano.sh/v1beta1", "Queue"].resource
    assert (queue.qualified, queue.namespaced, queue.custom) == ("queues.scheduling.volcano.sh", False, True)
    assert queue.short_names == ("q", "queue-v1beta1")
    assert queue.subresources == ("status",)
    assert [column.name for column in queue.columns if not column.priority][:3] == [
        "Parent",
        "Weight",
        "State",
    ]
    group = KINDS["scheduling.volcano.sh/v1beta1", "PodGroup"].resource
    assert (group.namespaced, group.subresources) == (True, ())


def test_a_definition_says_how_lists_and_maps_merge(thing: CustomKind) -> None:
    fields = thing.schema.properties["spec"].properties
    assert (fields["map"].merge, fields["map"].keys) == (Merge.MAP, ("a", "b"))
    assert fields["set"].merge is Merge.SET
    assert fields["letters"].merge is Merge.ATOMIC
    selector = KINDS["scheduling.volcano.sh/v1beta1", "Queue"].schema.properties["spec"]
    assert selector.properties["namespaceSelector"].atomic


@pytest.mark.parametrize(
    ("fields", "messages"),
    [
        ({"letters": ["a"]}, ["spec.letters: Invalid value: 1: spec.letters in body should have at least 2"]),
        ({"set": ["a", "b", "a"]}, ['spec.set[2]: Duplicate value: "a"']),
        (
            {"map": [{"a": "x", "b": 1}, {"a": "x", "b": 1}]},
            ['spec.map[1]: Duplicate value: {"a":"x","b":1}'],
        ),
        ({"map": [{"a": "x", "b": 1}, {"a": "x", "b": 0}]}, []),
        ({"some": {}}, ["spec.some: Invalid value: 0: spec.some in body should have at least 1 properties"]),
        ({"part": 3}, ["spec.part: Invalid value: 3: spec.part in body should be less than or equal to 2.5"]),
        (
            {"part": True},
            ['spec.part: Invalid value: "boolean": spec.part in body must be of type number', NOT_CHECKED],
        ),
        (
            {"long": [], "whole": []},
            [
                'spec.long: Invalid value: "array": spec.long in body must be of type integer: "array"',
                'spec.whole: Invalid value: "array": spec.whole in body must be of type integer: "array"',
                NOT_CHECKED,
            ],
        ),
        (
            {"long": True},
            ['spec.long: Invalid value: "": spec.long in body must be of type int64: ""', NOT_CHECKED],
        ),
        (
            {"long": 2**63},
            [
                'spec.long: Invalid value: "float64": spec.long in body must be of type int64: "float64"',
                '<nil>: Invalid value: "": Checked value must be of type integer with format int64 in',
                NOT_CHECKED,
            ],
        ),
        ({"long": 2**63 - 1, "whole": 3.0}, []),
        ({"number": 3}, ['spec.number: Unsupported value: 3: supported values: "1", "2"', NOT_CHECKED]),
        ({"open": {"anything": [None, {"at": "all"}]}}, []),
    ],
)
def test_what_breaks_a_schema_is_told_in_the_words_of_a_real_server(
    thing: CustomKind, fields: Json, messages: list[str]
) -> None:
    found = answers(thing.schema, spec(**fields))
    assert [one[: len(expected)] for one, expected in zip(found, messages, strict=True)] == messages


@pytest.mark.parametrize(
    ("fields", "filled"),
    [
        ({}, {}),
        ({"none": None}, {"none": None}),
        ({"perhaps": None}, {"perhaps": None}),
        ({"said": None}, {"said": "d"}),
        ({"full": None}, {"full": {"y": 5}}),
        ({"empty": {}}, {"empty": {"y": 5}}),
        ({"empty": None}, {}),
        ({"each": {"a": {}, "b": None}}, {"each": {"a": {"y": 5}}}),
        ({"maybe": {"a": None}}, {"maybe": {"a": None}}),
        ({"map": [{"a": "x"}]}, {"map": [{"a": "x", "b": 0}]}),
    ],
)
def test_defaults_and_nulls_are_those_of_a_real_server(thing: CustomKind, fields: Json, filled: Json) -> None:
    expected = {"said": "d", "perhaps": "d", "full": {"y": 5}, **filled}
    value = spec(**fields)
    assert defaulted(thing.schema, value) is value
    assert value["spec"] == expected


def test_a_null_in_a_list_is_no_value(thing: CustomKind) -> None:
    value = spec(letters=["a", None])
    defaulted(thing.schema, value)
    assert answers(thing.schema, value)[0] == (
        'spec.letters[1]: Invalid value: "null": spec.letters[1] in body must be of type string: "null"'
    )


def test_a_default_is_nobody_elses(thing: CustomKind) -> None:
    first, second = spec(), spec()
    defaulted(thing.schema, first)
    first["spec"]["full"]["y"] = 6
    defaulted(thing.schema, second)
    assert second["spec"]["full"] == {"y": 5}


@pytest.mark.parametrize(
    ("fields", "messages"),
    [
        ({"reason": "b"}, ["spec.reason: Forbidden: must be a", 'spec.reason: Duplicate value: "b"']),
        ({"reason": "c"}, ["spec.reason: Forbidden: must be a", "spec.reason: Required value: not c"]),
        ({"share": 1}, ["spec.share: Invalid value: 1: too small"]),
        ({"share": 2}, []),
        ({"odd": {"q": 1, "l": [1, 2, 3]}}, ["spec.odd: Invalid value: failed rule: self.q > 3"]),
    ],
)
def test_a_broken_rule_is_told_with_its_reason(thing: CustomKind, fields: Json, messages: list[str]) -> None:
    found = [f"{one.field}: {one.message}" for one in broken(thing.schema, spec(**fields))]
    assert [one for one in found if "evaluating" not in one] == messages


def test_a_rule_that_cannot_be_tried_counts_as_broken(thing: CustomKind) -> None:
    messages = [one.message for one in broken(thing.schema, spec(odd={}))]
    assert [one.startswith('Invalid value: "object": ') for one in messages] == [True, True]
    assert [one.rpartition(" evaluating rule: ")[2] for one in messages] == ["self.q > 3", "m"]


def test_rules_about_a_change_wait_for_one(thing: CustomKind) -> None:
    old, new = spec(fixed="x"), spec(fixed="y")
    assert answers(thing.schema, new) == []
    assert answers(thing.schema, new, old) == ['spec.fixed: Invalid value: "y": is for ever']
    assert answers(thing.schema, old, old) == []


def test_entries_of_a_list_are_compared_with_those_of_the_same_keys(thing: CustomKind) -> None:
    old = spec(map=[{"a": "x", "b": 0, "c": "1"}, {"a": "y", "b": 0, "c": "2"}])
    moved = spec(map=[{"a": "y", "b": 0, "c": "2"}, {"a": "x", "b": 0, "c": "3"}])
    assert answers(thing.schema, moved, old) == ["spec.map[1]: Invalid value: c is for ever"]


def test_what_was_accepted_once_and_has_not_changed_is_not_tried_again(thing: CustomKind) -> None:
    old, new = spec(reason="b"), spec(reason="b", whole=1)
    assert answers(thing.schema, new, old) == []


def test_metadata_is_read_as_kubernetes_reads_it(thing: CustomKind) -> None:
    value = spec()
    value["metadata"] = {"name": "t", "labels": {"a": 1}}
    assert read(thing.schema, value).problem == (
        'Thing in version "v1" cannot be handled as a Thing: json: cannot unmarshal number into Go struct'
        " field ObjectMeta.labels of type string"
    )
    value["metadata"] = {"name": "t", "labels": None, "annotations": {"a": None}, "colour": "red"}
    reading = read(thing.schema, value)
    assert reading.unknown == ("metadata.colour",)
    kept: Any = reading.value
    assert kept["metadata"] == {"name": "t", "annotations": {"a": ""}}


def test_unknown_fields_are_found_at_every_depth_and_left_out(thing: CustomKind) -> None:
    value = spec(map=[{"a": "x", "z": 1}], full={"q": {}}, open={"kept": 1}, wait=3)
    reading = read(thing.schema, value)
    assert reading.unknown == ("spec.full.q", "spec.map[0].z", "spec.wait")
    kept: Any = reading.value
    assert kept["spec"] == {"map": [{"a": "x"}], "full": {}, "open": {"kept": 1}}


def test_a_pattern_does_not_overlook_a_last_line_break() -> None:
    queue = KINDS["scheduling.volcano.sh/v1beta1", "Queue"].schema
    value: Json = {"metadata": {"name": "q"}, "spec": {"parent": "a\n"}}
    assert [cause.field for cause in wrong(queue, value)] == ["spec.parent"]
