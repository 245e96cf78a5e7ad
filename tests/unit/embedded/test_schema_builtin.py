"""Schemas of built-in kinds: the models of the client and our table of facts still belong together."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pytest

from api_schemas import descriptions, facts
from api_schemas.generation import OUTPUT, generated
from maar.embedded.resources import BUILT_IN
from maar.embedded.schema.builtin import builtin
from maar.embedded.schema.decode import read
from maar.embedded.schema.types import MICRO_TIME, QUANTITY, Merge, Schema

Json = dict[str, object]

MORE: Final = (("policy/v1", "Eviction"), ("v1", "DeleteOptions"), ("v1", "Status"))
POD: Final = builtin("v1", "Pod")
FIELDS: Final = {
    name: fields
    for name, fields in vars(facts).items()
    if name in ("SETS", "PATCH_KEYS", "RETAIN_KEYS", "REPLACED", "ATOMIC_FIELDS", "GRANULAR_FIELDS")
    or name in ("INT_OR_STRING", "QUANTITIES", "QUANTITY_MAPS", "MICRO_TIMES", "BYTES", "LONG_INTEGER_FIELDS")
} | {f"keys {' '.join(keys)}": fields for keys, fields in facts.LIST_KEYS.items()}


def types() -> dict[str, Schema]:
    """All types that the served kinds are made of, by their short names."""
    found: dict[str, Schema] = {}
    waiting = [builtin(one.api_version, one.kind) for one in BUILT_IN] + [builtin(*one) for one in MORE]
    while waiting:
        schema = waiting.pop()
        if schema.properties and schema.name:
            short = schema.name.rpartition(".")[2]
            if short in found:
                assert found[short].properties is schema.properties, f"two types are called {short}"
                continue
            found[short] = schema
        waiting += [one for one in (*schema.properties.values(), schema.items, schema.values) if one]
    return found


def at(schema: Schema, path: str) -> Schema:
    for step in path.split("."):
        below = schema.items if step == "[]" else schema.properties[step]
        assert below is not None
        schema = below
    return schema


@pytest.mark.parametrize("resource", BUILT_IN, ids=lambda one: one.qualified)
def test_every_kind_that_is_served_has_a_schema_and_is_explained(resource: Any) -> None:  # noqa: ANN401 - a row of a table
    schema = builtin(resource.api_version, resource.kind)
    assert {"apiVersion", "kind", "metadata"} <= schema.properties.keys()
    assert schema.name.endswith(f".{resource.version}.{resource.kind}")
    assert schema.description == descriptions.KINDS[resource.kind]
    assert schema is builtin(resource.api_version, resource.kind)


@pytest.mark.parametrize("table", FIELDS)
def test_every_fact_is_about_a_field_that_is_there(table: str) -> None:
    known = types()
    fields: Iterable[str] = FIELDS[table]
    assert fields
    for field in fields:
        name, _, key = field.partition(".")
        assert key in known[name].properties, f"{table}: there is no field {field}"


def test_every_fact_about_a_type_is_about_one_that_is_there() -> None:
    known = types()
    assert known.keys() >= facts.ATOMIC_TYPES
    assert all(known[name].atomic for name in facts.ATOMIC_TYPES - {"ObjectReference"})
    integers = {
        name
        for schema in known.values()
        for name, below in schema.properties.items()
        if "integer" in (below.type, below.items.type if below.items else "")
    }
    assert integers >= facts.LONG_INTEGERS
    beginnings = [one for some in facts.PACKAGES.values() for one in some.split()]
    assert [one for one in beginnings if not any(name.startswith(one) for name in known)] == []


def test_the_committed_file_is_what_the_tool_writes() -> None:
    written = generated() == OUTPUT.read_text(encoding="utf-8")
    assert written, (
        "deploy/crds or the client package have changed: run PYTHONPATH=tools python -m api_schemas"
    )


def test_lists_merge_as_kubernetes_merges_them() -> None:
    containers = at(POD, "spec.containers")
    assert (containers.merge, containers.keys, containers.patch_key) == (Merge.MAP, ("name",), "name")
    ports = at(containers, "[].ports")
    assert (ports.keys, ports.patch_key) == (("containerPort", "protocol"), "containerPort")
    assert at(POD, "spec.volumes.[]").retain_keys
    assert at(POD, "spec.tolerations").merge is Merge.ATOMIC
    finalizers = at(POD, "metadata.finalizers")
    assert (finalizers.merge, finalizers.patch_key) == (Merge.SET, "*")
    assert at(POD, "spec.nodeSelector").atomic
    selector = at(builtin("policy/v1", "PodDisruptionBudget"), "spec.selector")
    assert (selector.replace, selector.atomic) == (True, True)
    claim = at(builtin("v1", "PersistentVolume"), "spec.claimRef")
    assert not claim.atomic


def test_fields_have_the_formats_that_the_models_do_not_tell() -> None:
    assert at(POD, "spec.activeDeadlineSeconds").format == "int64"
    assert at(POD, "spec.priority").format == "int32"
    limits = at(POD, "spec.containers.[].resources.limits").values
    assert limits is not None
    assert limits.name == QUANTITY
    assert at(POD, "spec.containers.[].livenessProbe.httpGet.port").int_or_string
    assert at(builtin("coordination.k8s.io/v1", "Lease"), "spec.renewTime").name == MICRO_TIME
    assert at(POD, "spec").required == ("containers",)
    assert at(POD, "spec.hostNetwork").description.startswith("Host networking")


def test_a_type_that_contains_itself_is_one_type() -> None:
    schema = at(builtin("apiextensions.k8s.io/v1", "CustomResourceDefinition"), "spec.versions.[].schema")
    outer = at(schema, "openAPIV3Schema")
    assert at(outer, "not.not").properties is outer.properties


def nulls() -> Iterator[tuple[object, object]]:
    yield {"containers": None}, {}
    yield {"containers": [None]}, {"containers": [{}]}
    yield {"nodeSelector": {"a": None}}, {"nodeSelector": {"a": ""}}
    yield {"overhead": {"cpu": None}}, {"overhead": {"cpu": "0"}}
    yield {"tolerations": [{"tolerationSeconds": None, "key": "a"}]}, {"tolerations": [{"key": "a"}]}


@pytest.mark.parametrize(("sent", "kept"), list(nulls()))
def test_a_null_is_nothing_or_the_zero_of_its_type(sent: object, kept: object) -> None:
    reading = read(POD, {"metadata": {"name": "p"}, "spec": sent})
    assert (reading.problem, reading.unknown) == (None, ())
    assert reading.value == {"metadata": {"name": "p"}, "spec": kept}


def test_unknown_fields_are_named_and_left_out() -> None:
    sent: Json = {"spec": {"containers": [{"name": "a", "imag": "b"}], "Hostname": "x"}, "colour": "red"}
    reading = read(POD, sent)
    assert reading.unknown == ("spec.containers[0].imag", "spec.Hostname", "colour")
    assert reading.value == {"spec": {"containers": [{"name": "a"}]}}
    assert "colour" in sent
