"""OpenAPI documents, from which kubectl explains kinds and learns what it may ask of the server."""

from collections.abc import Mapping
from typing import Any, Final

from api_schemas.descriptions import FIELDS
from api_schemas.models import REFERENCE, Node, Types
from api_schemas.operations import QUERIES, Operation, operations
from maar.embedded.failures import Json
from maar.embedded.resources import Resource

_PATCHES: Final = ("json-patch+json", "merge-patch+json", "apply-patch+yaml")
_OF_BUILT_IN: Final = ("strategic-merge-patch+json",)  # of kinds whose lists have merge keys
_BODIES: Final = {
    "Binding": ("v1", "Binding"),
    "DeleteOptions": ("v1", "DeleteOptions"),
    "Eviction": ("policy/v1", "Eviction"),
}
_JSON: Final = "application/json"


def write_kind(types: Types, resource: Resource, name: str) -> None:
    """Mark the type of a kind, and write the list of its objects."""
    types.written[name]["x-kubernetes-group-version-kind"] = [_mark(resource, resource.kind)]
    types.written[f"{name}List"] = {
        "description": f"A list of objects of the kind {resource.kind}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": f"{REFERENCE}{types.model('V1ListMeta')}"},
            "items": {"type": "array", "items": {"$ref": f"{REFERENCE}{name}"}},
        },
        "x-kubernetes-group-version-kind": [_mark(resource, f"{resource.kind}List")],
    }


def write_custom(types: Types, resource: Resource, name: str, schema: Mapping[str, Any]) -> None:
    """Write a custom kind: what its definition says, and what all objects have."""
    text: Node = {"type": "string"}
    metadata = {
        "description": FIELDS["metadata"],
        "allOf": [{"$ref": f"{REFERENCE}{types.model('V1ObjectMeta')}"}],
    }
    properties = {"apiVersion": text, "kind": text, **schema["properties"], "metadata": metadata}
    types.written[name] = {**schema, "properties": properties}
    write_kind(types, resource, name)


def paths(types: Types, resource: Resource, name: str) -> dict[str, Json]:
    """What can be done with a resource, by path and method."""
    written: dict[str, Json] = {}
    for one in operations(resource):
        written.setdefault(one.path, {})[one.method] = _operation(one, resource, name, types)
    return written


def _operation(operation: Operation, resource: Resource, name: str, types: Types) -> Json:
    answer = {"$ref": f"{REFERENCE}{name}List" if operation.listed else f"{REFERENCE}{name}"}
    parameters: list[Json] = [
        {"name": place, "in": "path", "required": True, "schema": {"type": "string"}}
        for place in operation.places
    ]
    parameters += [
        {"name": query, "in": "query", "schema": {"type": QUERIES[query]}} for query in operation.queries
    ]
    mark = _mark(resource, resource.kind)
    if operation.body in ("Binding", "Eviction"):
        version, kind = _BODIES[operation.body]
        mark = {"group": version.rpartition("/")[0], "version": resource.version, "kind": kind}
    written: Json = {
        "parameters": parameters,
        "responses": {"200": {"description": "OK", "content": {_JSON: {"schema": answer}}}},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": mark,
    }
    if operation.method == "patch":
        kinds = _PATCHES if resource.custom else (*_PATCHES, *_OF_BUILT_IN)
        body = {f"application/{kind}": {"schema": {"type": "object"}} for kind in kinds}
        written["requestBody"] = {"content": body, "required": True}
    elif operation.body:
        sent = _BODIES.get(operation.body) if operation.body != resource.kind else None
        asked = types.builtin(*sent) if sent else name
        content = {_JSON: {"schema": {"$ref": f"{REFERENCE}{asked}"}}}
        written["requestBody"] = {"content": content, "required": not sent}
    return written


def _mark(resource: Resource, kind: str) -> Json:
    """Which kind a type or an operation belongs to; kubectl finds both by it."""
    return {"group": resource.group, "version": resource.version, "kind": kind}
