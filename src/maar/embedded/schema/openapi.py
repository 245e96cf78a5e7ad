"""OpenAPI documents, from which kubectl explains kinds and learns what it may ask of the server."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha512
from typing import Final

import msgspec

from maar.embedded.failures import Json
from maar.embedded.resources import Resource
from maar.embedded.schema.builtin import builtin
from maar.embedded.schema.openapi_types import Types, group_version_kind
from maar.embedded.schema.operations import QUERIES, Operation, operations
from maar.embedded.schema.types import Schema

Kinds = Sequence[tuple[Resource, Schema]]

_ABOUT: Final = {"title": "Kubernetes", "version": "v1.36"}
_PATCHES: Final = ("json-patch+json", "merge-patch+json", "apply-patch+yaml")
_OF_BUILT_IN: Final = ("strategic-merge-patch+json",)  # of kinds whose lists have merge keys
_BODIES: Final = {
    "Binding": ("v1", "Binding"),
    "DeleteOptions": ("v1", "DeleteOptions"),
    "Eviction": ("policy/v1", "Eviction"),
}
_JSON: Final = "application/json"


def index(kinds: Kinds) -> bytes:
    """Where the documents are; an address changes with what is there, so that a client may keep it."""
    paths = {}
    for version in sorted({resource.api_version for resource, _ in kinds}):
        place = f"apis/{version}" if "/" in version else f"api/{version}"
        digest = sha512(v3(version, kinds)).hexdigest().upper()
        paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash={digest}"}
    return msgspec.json.encode({"paths": paths})


def v3(group_version: str, kinds: Kinds) -> bytes:
    """The document of one group and version, such as apps/v1 or v1."""
    return _v3(tuple(kind for kind in kinds if kind[0].api_version == group_version))


def v2(kinds: Kinds) -> bytes:
    """One document for everything, in the older form."""
    types = Types("#/definitions/", 2)
    paths: dict[str, Json] = {}
    for resource, schema in kinds:
        types.kind(resource, schema)
        for operation in operations(resource):
            paths.setdefault(operation.path, {})[operation.method] = _older(operation, resource)
    written = {"swagger": "2.0", "info": _ABOUT, "paths": paths, "definitions": types.written}
    return msgspec.json.encode(written)


@lru_cache(maxsize=64)
def _v3(kinds: tuple[tuple[Resource, Schema], ...]) -> bytes:
    types = Types("#/components/schemas/", 3)
    paths: dict[str, Json] = {}
    for resource, schema in kinds:
        types.kind(resource, schema)
        for operation in operations(resource):
            paths.setdefault(operation.path, {})[operation.method] = _newer(
                operation, resource, schema, types
            )
    components = {"schemas": types.written}
    return msgspec.json.encode({"openapi": "3.0.0", "info": _ABOUT, "paths": paths, "components": components})


def _newer(operation: Operation, resource: Resource, schema: Schema, types: Types) -> Json:
    answer = types.refer(schema)
    if operation.listed:
        answer = {"$ref": f"{answer['$ref']}List"}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in operation.places
    ]
    parameters += [
        {"name": name, "in": "query", "description": told, "schema": {"type": kind}}
        for name, (kind, told) in ((name, QUERIES[name]) for name in operation.queries)
    ]
    written: Json = {
        "tags": [resource.api_version.replace("/", "_")],
        "parameters": parameters,
        "responses": {"200": {"description": "OK", "content": {_JSON: {"schema": answer}}}},
        **_marks(operation, resource),
    }
    if operation.method == "patch":
        kinds = _PATCHES if resource.custom else (*_PATCHES, *_OF_BUILT_IN)
        body = {f"application/{kind}": {"schema": {"type": "object"}} for kind in kinds}
        written["requestBody"] = {"content": body, "required": True}
    elif operation.body:
        sent = _BODIES.get(operation.body) if operation.body != resource.kind else None
        asked = types.refer(builtin(*sent) if sent else schema)
        written["requestBody"] = {"content": {_JSON: {"schema": asked}}, "required": not sent}
    return written


def _older(operation: Operation, resource: Resource) -> Json:
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "type": "string"} for name in operation.places
    ]
    parameters += [
        {"name": name, "in": "query", "description": told, "type": kind}
        for name, (kind, told) in ((name, QUERIES[name]) for name in operation.queries)
    ]
    return {
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        **_marks(operation, resource),
    }


def _marks(operation: Operation, resource: Resource) -> Json:
    mark = group_version_kind(resource, resource.kind)
    if operation.body in ("Binding", "Eviction"):
        version, kind = _BODIES[operation.body]
        mark = {"group": version.rpartition("/")[0], "version": resource.version, "kind": kind}
    return {"x-kubernetes-action": operation.action, "x-kubernetes-group-version-kind": mark}
