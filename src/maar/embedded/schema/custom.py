"""Custom kinds: a CustomResourceDefinition as a resource and the schema of its objects."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

from maar.embedded.failures import Json
from maar.embedded.resources import Column, Resource
from maar.embedded.schema.builtin import object_meta
from maar.embedded.schema.descriptions import FIELDS
from maar.embedded.schema.types import Merge, Rule, Schema
from maar.parsing.yaml_documents import document

_Node = Mapping[str, Any]  # a part of a definition, which the definition of definitions has checked

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

_TEXT: Final = Schema("string")


@dataclass(frozen=True)
class CustomKind:
    """A kind that a CustomResourceDefinition describes."""

    resource: Resource
    schema: Schema
    definition: Json


def custom(definition: Json) -> CustomKind:
    """Read a definition; of its versions the stored one counts."""
    spec = cast(_Node, definition["spec"])
    version = next(one for one in spec["versions"] if one.get("storage"))
    names = spec["names"]
    resource = Resource(
        spec["group"],
        version["name"],
        names["plural"],
        names["kind"],
        spec["scope"] == "Namespaced",
        tuple(names.get("shortNames", ())),
        tuple(names.get("categories", ())),
        tuple(version.get("subresources", ())),
        columns=tuple(_column(one) for one in version.get("additionalPrinterColumns", ())),
        custom=True,
    )
    return CustomKind(resource, _root(version["schema"]["openAPIV3Schema"], resource), definition)


@cache
def packaged() -> tuple[CustomKind, ...]:
    """The kinds that come with Maar."""
    folder = files("maar") / "deploy" / "crds"
    found = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda file: file.name
    )
    return tuple(custom(cast(Json, document(file.read_bytes()))) for file in found)


def _column(column: _Node) -> Column:
    return Column(
        column["name"],
        column["jsonPath"],
        column["type"],
        column.get("description", ""),
        column.get("priority", 0),
        column.get("format", ""),
    )


def _root(node: _Node, resource: Resource) -> Schema:
    """The schema of the objects, with the metadata that all objects have."""
    group = ".".join(reversed(resource.group.split(".")))
    found = _schema(node)
    metadata = replace(object_meta(), description=FIELDS["metadata"])
    return replace(
        found,
        properties={"apiVersion": _TEXT, "kind": _TEXT, **found.properties, "metadata": metadata},
        name=f"{group}.{resource.version}.{resource.kind}",
    )


def _schema(node: _Node) -> Schema:
    values = node.get("additionalProperties")
    items = node.get("items")
    return Schema(
        **{field: node[key] for key, field in _PLAIN.items() if key in node},
        properties={name: _schema(below) for name, below in node.get("properties", {}).items()},
        required=tuple(node.get("required", ())),
        values=_schema(values) if isinstance(values, dict) else None,
        items=_schema(items) if items else None,
        merge=Merge(node.get("x-kubernetes-list-type", Merge.ATOMIC)),
        keys=tuple(node.get("x-kubernetes-list-map-keys", ())),
        atomic=node.get("x-kubernetes-map-type") == "atomic",
        enum=tuple(node.get("enum", ())),
        rules=tuple(_rule(rule) for rule in node.get("x-kubernetes-validations", ())),
    )


def _rule(rule: _Node) -> Rule:
    expression = rule["rule"]
    return Rule(
        expression,
        rule.get("message") or f"failed rule: {expression}",
        rule.get("fieldPath", ""),
        rule.get("reason", "FieldValueInvalid"),
        rule.get("messageExpression", ""),
    )
