"""Objects are read, filled in and refused as a real API server did it."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from maar.embedded.failures import Cause
from maar.embedded.resources import BUILT_IN, Resource
from maar.embedded.schema import defaults, semantics
from maar.embedded.schema.builtin import builtin
from maar.embedded.schema.check import refusals
from maar.embedded.schema.custom import packaged
from maar.embedded.schema.decode import read
from maar.embedded.schema.defaults import defaulted
from maar.embedded.schema.types import Schema

Json = dict[str, Any]

FOLDER: Final = Path(__file__).parent
CUSTOM: Final = {(one.resource.api_version, one.resource.kind): one for one in packaged()}
RESOURCES: Final = {(one.api_version, one.kind): one for one in BUILT_IN}
LONGEST_CAUSE: Final = 100  # of what is recorded
LONGEST_MESSAGE: Final = 160


def recorded(file: str) -> list[Json]:
    found: list[Json] = yaml.safe_load((FOLDER / file).read_text(encoding="utf-8"))
    return found


def single(file: str) -> Iterator[Any]:
    for group in recorded(file):
        for case in group["cases"]:
            ((path, value),) = case["set"].items()
            name = f"{group['object']['kind']} {path}={value}"[:90]
            yield pytest.param(group["object"], path, value, case, id=name)


def resource_of(value: Json) -> tuple[Resource, Schema]:
    key = (value["apiVersion"], value["kind"])
    if key in CUSTOM:
        return CUSTOM[key].resource, CUSTOM[key].schema
    return RESOURCES[key], builtin(*key)


def put(value: Json, path: str, below: object) -> Json:
    """A copy with one value put in place."""
    changed = deepcopy(value)
    at: Any = changed
    *steps, last = path.split("/")
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
    at[int(last) if isinstance(at, list) else last] = below
    return changed


def filled(value: Json) -> tuple[Resource, Schema, Json]:
    """An object that can be read, as the server goes on with it."""
    resource, schema = resource_of(value)
    reading = read(schema, deepcopy(value))
    assert reading.problem is None
    understood: Json = reading.value
    if resource.custom:
        defaulted(schema, understood)
        if "status" in resource.subresources:
            understood.pop("status", None)
    else:
        defaults.default(resource, understood)
    meta = understood.setdefault("metadata", {})
    if resource.plural == "namespaces":  # what the server adds to each of them
        meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = meta.get("name", "")
    if "generateName" in meta:
        meta.setdefault("name", f"{meta['generateName'][:58]}12345")
    return resource, schema, understood


def beginnings(causes: list[Cause]) -> list[str]:
    return sorted({f"{one.field}: {one.message}".split("\n")[0][:LONGEST_CAUSE] for one in causes})


@pytest.mark.parametrize(("good", "path", "value", "case"), list(single("schema_cases.yaml")))
def test_a_new_object_is_answered_as_by_a_real_server(
    good: Json, path: str, value: object, case: Json
) -> None:
    sent = put(good, path, value)
    reading = read(resource_of(sent)[1], deepcopy(sent))
    if case.get("code") == 400:
        unknown = ", ".join(f'unknown field "{field}"' for field in reading.unknown)
        message = (
            reading.problem.split(": ", 1)[1] if reading.problem else f"strict decoding error: {unknown}"
        )
        assert [message[:LONGEST_MESSAGE]] == case["says"]
        return
    assert reading.unknown == ()
    resource, schema, understood = filled(sent)
    causes = semantics.created(resource, understood)
    if resource.custom:
        causes += refusals(schema, understood)
    assert beginnings(causes) == sorted(set(case.get("says", [])))


@pytest.mark.parametrize(("good", "path", "value", "case"), list(single("schema_changes.yaml")))
def test_a_change_is_answered_as_by_a_real_server(good: Json, path: str, value: object, case: Json) -> None:
    resource, schema, old = filled(good)
    *_, new = filled(put(old, path, value))
    causes = semantics.updated(resource, old, new)
    if resource.custom:
        causes += refusals(schema, new, old)
    assert beginnings(causes) == case.get("says", [])


def written(value: object) -> object:
    """A value as Go writes it, which is mostly without empty texts and lists."""
    if isinstance(value, dict):
        return {key: written(below) for key, below in value.items() if below not in ("", [])}
    return [written(below) for below in value] if isinstance(value, list) else value


@pytest.mark.parametrize("case", recorded("schema_defaults.yaml"), ids=lambda case: case["object"]["kind"])
def test_an_object_is_filled_in_as_by_a_real_server(case: Json) -> None:
    resource, _, found = filled(case["object"])
    compared = {key: below for key, below in found.items() if key not in ("metadata", "status")}
    assert written(compared) == written(case["becomes"])
    again = deepcopy(found)
    defaults.default(resource, again)
    assert again == found
