"""What `tools/api_schemas` has generated: the types of the built-in kinds, and what clients read.

`api.json` has every type once, as OpenAPI writes it, and the documents of discovery and of OpenAPI.
Types are made into schemas when they are first used.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from maar.embedded.schema.types import INT_OR_STRING, QUANTITY, Merge, Rule, Schema

Node = Mapping[str, Any]  # a part of a schema as OpenAPI writes it

_PLAIN: Final = {
    "minimum": "minimum",
    "maximum": "maximum",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    "uniqueItems": "unique",
    "pattern": "pattern",
    "format": "format",
    "description": "description",
    "type": "type",
    "nullable": "nullable",
    "default": "default",
    "x-kubernetes-int-or-string": "int_or_string",
    "x-kubernetes-preserve-unknown-fields": "open",
}
_STRATEGY: Final = "x-kubernetes-patch-strategy"
_known: Final = {  # types by name; these two OpenAPI describes as one of two
    QUANTITY: Schema("string", format="quantity", name=QUANTITY),
    INT_OR_STRING: Schema(format="int-or-string", int_or_string=True, name=INT_OR_STRING),
}


class OpenApi(msgspec.Struct, frozen=True):
    """The document of one group and version."""

    paths: msgspec.Raw
    types: tuple[str, ...]


class Generated(msgspec.Struct, frozen=True):
    """The whole file."""

    kinds: dict[str, str]  # the name of the type of v1/Pod
    types: dict[str, msgspec.Raw]
    openapi: dict[str, OpenApi]  # by api/v1, apis/apps/v1
    discovery: dict[str, msgspec.Raw]  # by path
    aggregated: dict[str, msgspec.Raw]


@cache
def generated() -> Generated:
    """The file, read once."""
    data = (files("maar.embedded.schema") / "api.json").read_bytes()
    return msgspec.json.decode(data, type=Generated)


def builtin(api_version: str, kind: str) -> Schema:
    """The schema of a built-in kind, for example of StatefulSet in apps/v1."""
    return _type(generated().kinds[f"{api_version}/{kind}"])


def object_meta() -> Schema:
    """The schema of the metadata that every object has."""
    return _type("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")


def schema_of(node: Node) -> Schema:
    """The schema that a part of an OpenAPI document, or of a CustomResourceDefinition, describes."""
    if "$ref" in node:
        return _type(node["$ref"].rpartition("/")[2])
    if "allOf" in node:
        return _with_marks(schema_of(node["allOf"][0]), node)
    values, items = node.get("additionalProperties"), node.get("items")
    strategy = node.get(_STRATEGY, "")
    below = schema_of(items) if items else None
    return Schema(
        **{field: node[key] for key, field in _PLAIN.items() if key in node},
        properties={name: schema_of(one) for name, one in node.get("properties", {}).items()},
        required=tuple(node.get("required", ())),
        values=schema_of(values) if isinstance(values, dict) else None,
        items=replace(below, retain_keys=True) if below and "retainKeys" in strategy else below,
        merge=Merge(node.get("x-kubernetes-list-type", Merge.ATOMIC)),
        keys=tuple(node.get("x-kubernetes-list-map-keys", ())),
        patch_key=node.get("x-kubernetes-patch-merge-key", "*" if strategy else ""),
        atomic=node.get("x-kubernetes-map-type") == "atomic",
        enum=tuple(node.get("enum", ())),
        rules=tuple(_rule(rule) for rule in node.get("x-kubernetes-validations", ())),
    )


def _type(name: str) -> Schema:
    """A type with a name. It is known before its fields are, as one of them may be of the same type."""
    if name not in _known:
        node: Node = msgspec.json.decode(generated().types[name])
        fields: dict[str, Schema] = {}
        _known[name] = replace(schema_of({**node, "properties": {}}), properties=fields, name=name)
        fields.update((field, schema_of(one)) for field, one in node.get("properties", {}).items())
    return _known[name]


def _with_marks(schema: Schema, node: Node) -> Schema:
    """A schema where a field is of its type, and the field says more."""
    return replace(
        schema,
        description=node.get("description", ""),
        replace=node.get(_STRATEGY) == "replace",
        atomic=schema.atomic and node.get("x-kubernetes-map-type") != "granular",
    )


def _rule(rule: Node) -> Rule:
    expression = rule["rule"]
    return Rule(
        expression,
        rule.get("message") or f"failed rule: {expression}",
        rule.get("fieldPath", ""),
        rule.get("reason", "FieldValueInvalid"),
        rule.get("messageExpression", ""),
    )
