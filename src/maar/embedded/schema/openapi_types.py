"""Schemas as OpenAPI documents write them, in version 2 and version 3."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from maar.embedded.failures import Json
from maar.embedded.resources import Resource
from maar.embedded.schema import facts
from maar.embedded.schema.builtin import list_meta
from maar.embedded.schema.descriptions import KINDS
from maar.embedded.schema.go_types import is_go
from maar.embedded.schema.types import Merge, Schema

_LIMITS: Final = {
    "pattern": "pattern",
    "minimum": "minimum",
    "maximum": "maximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "default": "default",
}
_SCALARS: Final[Mapping[str, Json]] = {  # types that are neither objects nor lists, yet have names
    facts.QUANTITY: {
        "description": "An amount such as 500m, 2 or 4Gi.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    facts.INT_OR_STRING_TYPE: {
        "description": "A number or a text.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
    facts.TIME: {"description": "A time in seconds.", "type": "string", "format": "date-time"},
    facts.MICRO_TIME: {"description": "A time in microseconds.", "type": "string", "format": "date-time"},
}


@dataclass
class Types:
    """The types that a document speaks of, collected while it is written."""

    prefix: str  # of a reference
    version: int
    written: dict[str, Json] = field(default_factory=dict)

    def kind(self, resource: Resource, schema: Schema) -> None:
        """Write a kind and the list of its objects."""
        self.refer(schema)
        written = self.written[schema.name]
        written["description"] = schema.description
        written["x-kubernetes-group-version-kind"] = [group_version_kind(resource, resource.kind)]
        self.written[f"{schema.name}List"] = {
            "description": f"A list of objects of the kind {resource.kind}.",
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": self.inline(list_meta()),
                "items": {"type": "array", "items": self.refer(schema)},
            },
            "x-kubernetes-group-version-kind": [group_version_kind(resource, f"{resource.kind}List")],
        }

    def refer(self, schema: Schema) -> Json:
        """A reference to a type that has a name; what it refers to is written too."""
        if schema.name not in self.written:
            self.written[schema.name] = {}  # so that a type in itself ends here
            self.written[schema.name] = self._named(schema)
        return {"$ref": f"{self.prefix}{schema.name}"}

    def inline(self, schema: Schema) -> Json:
        """A schema where it is used."""
        if not schema.name:
            return self._nameless(schema)
        reference = self.refer(schema)
        said: Json = {"description": schema.description} if schema.description else {}
        said |= dict(_merging(schema))
        if self.version == 2:  # noqa: PLR2004 - versions of OpenAPI are numbers
            return said | reference
        return {**said, "allOf": [reference]} if said else reference

    def _named(self, schema: Schema) -> Json:
        short = schema.name.rpartition(".")[2]
        if schema.name in _SCALARS:
            written = dict(_SCALARS[schema.name])
            if self.version == 2 and written.pop("oneOf", None):  # noqa: PLR2004 - see inline
                written["type"] = "string"
            return written
        written = self._nameless(schema)
        written.pop("description", None)
        if short in KINDS and is_go(schema):
            written["description"] = KINDS[short]
        if is_go(schema) and short in facts.ATOMIC_TYPES:
            written["x-kubernetes-map-type"] = "atomic"
        return written

    def _nameless(self, schema: Schema) -> Json:
        written: Json = {
            key: value
            for key, value in (
                ("description", schema.description),
                ("type", schema.type),
                ("format", schema.format),
                ("required", list(schema.required)),
                ("enum", list(schema.enum)),
                ("nullable", schema.nullable),
                ("x-kubernetes-int-or-string", schema.int_or_string),
                ("x-kubernetes-preserve-unknown-fields", schema.open and not schema.name),
            )
            if value
        }
        written |= {
            key: value for name, key in _LIMITS.items() if (value := getattr(schema, name)) not in (None, "")
        }
        if schema.properties:
            written["properties"] = {name: self.inline(below) for name, below in schema.properties.items()}
        if schema.values:
            written["additionalProperties"] = self.inline(schema.values)
        if schema.items:
            written["items"] = self.inline(schema.items)
        if schema.rules:
            written["x-kubernetes-validations"] = [
                {"rule": rule.expression, "message": rule.message} for rule in schema.rules
            ]
        return written | dict(_merging(schema))


def group_version_kind(resource: Resource, kind: str) -> Json:
    """Who a type or an operation belongs to; kubectl finds both by it."""
    return {"group": resource.group, "version": resource.version, "kind": kind}


def _merging(schema: Schema) -> Iterator[tuple[str, object]]:
    """How patches and server-side apply combine values of a schema."""
    if schema.type == "array" and schema.merge is not Merge.ATOMIC:
        yield "x-kubernetes-list-type", schema.merge.value
    if schema.keys:
        yield "x-kubernetes-list-map-keys", list(schema.keys)
    if schema.patch_key:
        retains = schema.items is not None and schema.items.retain_keys
        yield "x-kubernetes-patch-strategy", "merge,retainKeys" if retains else "merge"
        if schema.patch_key != "*":
            yield "x-kubernetes-patch-merge-key", schema.patch_key
    if schema.replace:
        yield "x-kubernetes-patch-strategy", "replace"
    if schema.type == "object" and schema.atomic and not schema.name:
        yield "x-kubernetes-map-type", "atomic"
