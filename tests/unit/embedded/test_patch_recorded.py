"""Patches and server-side apply give what a real API server gave."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml

from maar.embedded.failures import ApiError
from maar.embedded.patch.apply import applied, tracked
from maar.embedded.patch.json_patch import json_patch, merge_patch
from maar.embedded.patch.strategic import strategic_patch
from maar.embedded.schema.builtin import builtin
from maar.embedded.schema.custom import custom, packaged
from maar.embedded.schema.types import Schema

Json = dict[str, Any]
Outcome = dict[str, Any]  # what a step gives, or how it is refused

CASES: Final = yaml.safe_load(Path(__file__).with_name("patch_cases.yaml").read_text(encoding="utf-8"))
FILLED_IN: Final = (("protocol", "TCP"), ("side", "left"))
REWORDED: Final = {  # where Kubernetes speaks of types and addresses of its programming language
    "expected a []interface {}, but": "expected a list in $setElementOrder/finalizers, but",
    "got &{[]}": "got []",
    "got &{map[]}": "got {}",
    "got &{yes}": 'got "yes"',
}
# A port's protocol is one of its keys, and TCP if it is not given; the schema has to say so.


@cache
def schema_of(api_version: str, kind: str) -> Schema:
    for one in (*packaged(), custom(CASES["definition"])):
        if (one.resource.api_version, one.resource.kind) == (api_version, kind):
            return one.schema
    if kind == "PodTemplate":  # which the embedded server does not serve
        spec = builtin("apps/v1", "ReplicaSet").properties["spec"]
        pod = builtin("v1", "Pod").properties
        properties = {name: pod[name] for name in ("apiVersion", "kind", "metadata")}
        properties["template"] = spec.properties["template"]
        return Schema("object", properties=properties, name="io.k8s.api.core.v1.PodTemplate")
    return builtin(api_version, kind)


def patched(live: Json, question: Json) -> Json:
    if "strategic" in question:
        schema = schema_of(live["apiVersion"], live["kind"])
        return strategic_patch(live, question["strategic"], schema)
    return json_patch(live, question["json"]) if "json" in question else merge_patch(live, question["merge"])


def outcome(answer: Callable[[], Json]) -> Outcome:
    try:
        return {"gives": comparable(answer())}
    except ApiError as error:
        return refusal({"code": error.code, "message": error.message} | error.details)


def recorded(before: Json, answer: Json) -> Outcome:
    if "gives" in answer:
        return {"gives": comparable(timed(changed(before, answer["gives"])))}
    message = answer["refused"]["message"]
    for theirs, ours in REWORDED.items():
        message = message.replace(theirs, ours)
    return refusal(answer["refused"] | {"message": message})


def refusal(status: Json) -> Outcome:
    """What is told, with the causes of a conflict; Kubernetes has them in no order."""
    kept = {"code": status["code"], "message": status["message"]}
    if status["code"] == HTTPStatus.CONFLICT:
        kept["causes"] = sorted(status["causes"], key=lambda cause: (cause["message"], cause["field"]))
    return {"refused": kept}


def changed(before: Json, difference: Json) -> Json:
    """What the recorder's difference leads to."""
    after = dict(before)
    for name, value in difference.items():
        if value is None:
            after.pop(name, None)
        elif isinstance(value, dict) and isinstance(after.get(name), dict):
            after[name] = changed(after[name], value)
        else:
            after[name] = value
    return after


def timed(thing: Json) -> Json:
    """The object with times in place of the numbers of steps."""
    thing = deepcopy(thing)
    for entry in thing["metadata"].get("managedFields", []):
        if isinstance(entry.get("time"), int):
            entry["time"] = at(entry["time"])
    return thing


def at(step: int) -> str:
    return f"2026-01-01T00:00:{step:02}Z"


def comparable(thing: Json) -> Json:
    """The object without what a server fills in, and what one with types drops: empty fields."""
    owners = thing["metadata"].get("managedFields")
    bare = _comparable(
        {**thing, "metadata": {**thing["metadata"], "managedFields": None}}, thing["apiVersion"]
    )
    assert isinstance(bare, dict)
    return {**bare, "owners": owners}


def _comparable(value: object, api_version: str) -> object:
    if isinstance(value, list):
        return [_comparable(item, api_version) for item in value]
    if not isinstance(value, dict):
        return value
    unwanted: tuple[object, ...] = (None,) if "." in api_version else (None, {}, [])
    bare = {name: _comparable(below, api_version) for name, below in value.items()}
    return {
        name: below
        for name, below in bare.items()
        if below not in unwanted and (name, below) not in FILLED_IN
    }


@pytest.mark.parametrize("case", CASES["patches"], ids=lambda case: case["title"])
def test_a_patch_gives_what_kubernetes_gave(case: Json) -> None:
    live = CASES["objects"][case["live"]]
    untouched = deepcopy((live, case))
    assert outcome(lambda: patched(live, case)) == recorded(live, case)
    assert (live, case) == untouched


def steps(*, of_nulls: bool = False) -> Iterator[Any]:
    """All steps; or those at which Kubernetes trips over a null that it has made itself."""
    for case in CASES["histories"]:
        before: Json = {}
        for number, step in enumerate(case["steps"], start=1):
            trips = 'Invalid value: "null"' in step.get("refused", {}).get("message", "")
            if trips == of_nulls:
                name = f"{case['title']}, step {number}"
                yield pytest.param(number, before, step, id=name)
            before = changed(before, step.get("gives", {}))


def write(number: int, before: Json, step: Json) -> Json:
    live = timed(before) if before else None
    given = step.get("apply") or step.get("create") or step.get("update") or before
    schema = schema_of(given["apiVersion"], given["kind"])
    call = {
        "manager": step["by"],
        "now": at(number),
        "api_version": given["apiVersion"],
        "subresource": step.get("subresource", ""),
    }
    untouched = deepcopy((live, step))
    try:
        if "apply" in step:
            return applied(live, step["apply"], schema, force=step.get("force", False), **call)
        new = step.get("create") or step.get("update") or patched(live or {}, step)
        return tracked(live, new, schema, **call)
    finally:
        assert (live, step) == untouched


@pytest.mark.parametrize(("number", "before", "step"), list(steps()))
def test_a_write_gives_the_owners_that_kubernetes_gave(number: int, before: Json, step: Json) -> None:
    assert outcome(lambda: write(number, before, step)) == recorded(before, step)


@pytest.mark.parametrize(("number", "before", "step"), list(steps(of_nulls=True)))
def test_where_kubernetes_trips_over_a_null_of_its_own_there_is_none(
    number: int, before: Json, step: Json
) -> None:
    after = write(number, before, step)
    assert b"null" not in msgspec.json.encode(after)
    assert after != before
