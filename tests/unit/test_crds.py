"""The custom resource definitions: structural, complete, and in step with what Maar reads."""

from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec
import pytest
import yaml

from maar.core.model.cron_job import CronJob
from maar.core.model.job import Command, Job
from maar.core.model.job_flow import JobFlow, JobTemplate
from maar.core.model.metadata import Metadata, Object
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.unread import UNREAD

FOLDER = Path(__file__).parents[2] / "deploy/crds"
CRDS = {
    crd["spec"]["names"]["kind"]: crd
    for crd in map(yaml.safe_load, map(Path.read_text, FOLDER.glob("*.yaml")))
}
KINDS: dict[str, type[Object]] = {
    kind.__name__: kind for kind in (Queue, PodGroup, Job, Command, CronJob, JobFlow, JobTemplate)
}
FREE_FORM = "x-kubernetes-preserve-unknown-fields"


def schema(kind: str) -> dict[str, Any]:
    (version,) = CRDS[kind]["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return found


def every(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Walk a schema: every field with its path."""
    yield path, node
    for name, below in node.get("properties", {}).items():
        yield from every(below, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if isinstance(node.get(name), dict):
            yield from every(node[name], f"{path}[]")


def fields(kind: object, path: str = "") -> Iterator[tuple[str, bool]]:
    """Walk a type of the model: the path of every field that Maar knows of, and whether it reads it."""
    if get_origin(kind) is UnionType:
        for choice in get_args(kind):
            yield from fields(choice, path)
    elif get_origin(kind) in (tuple, dict):
        yield from fields(get_args(kind)[0 if get_origin(kind) is tuple else 1], f"{path}[]")
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct) and not issubclass(kind, Metadata):
        for field in msgspec.structs.fields(kind):
            yield f"{path}.{field.encode_name}", True
            if field.type is object:  # what is below it is not read as a type of the model
                yield f"{path}.{field.encode_name}.", False
            yield from fields(field.type, f"{path}.{field.encode_name}")
        for name in UNREAD.get(kind, "").split():
            yield f"{path}.{name}", False


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_definition_is_of_the_group_version_and_scope_that_the_model_reads(kind: str) -> None:
    spec, model = CRDS[kind]["spec"], KINDS[kind]
    (version,) = spec["versions"]
    assert f"{spec['group']}/{version['name']}" == model.api_version
    assert (spec["scope"] == "Namespaced") == model.namespaced
    assert CRDS[kind]["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}"
    assert version["served"]
    assert version["storage"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_field_is_typed_and_explained(kind: str) -> None:
    for path, node in every(schema(kind)):
        assert "type" in node or node.get("x-kubernetes-int-or-string"), f"{kind}{path} has no type"
        assert path.endswith(("[]", "metadata")) or node.get("description", "").endswith("."), (
            f"{kind}{path} is not explained"
        )


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_rule_says_which_it_is_and_what_is_wrong(kind: str) -> None:
    for path, node in every(schema(kind)):
        for rule in node.get("x-kubernetes-validations", []):
            reported = rule.get("message") or rule.get("messageExpression", "")
            assert reported.lstrip("'\"").startswith("["), f"{kind}{path}: {reported} begins with no rule id"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_model_reads_only_fields_that_are_defined_and_knows_all_that_are(kind: str) -> None:
    free = tuple(path for path, node in every(schema(kind)) if node.get(FREE_FORM))
    defined = {path for path, _ in every(schema(kind)) if not path.endswith("[]")} - {
        "",
        ".apiVersion",
        ".kind",
    }
    known = dict(fields(KINDS[kind]))
    assert {path for path, read in known.items() if read and not path.startswith(free or ("?",))} <= defined
    unread = tuple(path for path, read in known.items() if not read) or ("?",)
    assert not {path for path in defined if path not in known and not path.startswith(unread)}
