"""Custom kinds: a CustomResourceDefinition as a resource and the schema of its objects."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final, cast

from maar.embedded.failures import Json
from maar.embedded.resources import Column, Resource
from maar.embedded.schema.builtin import Node, object_meta, schema_of
from maar.embedded.schema.types import Schema
from maar.parsing.yaml_documents import document

_TEXT: Final = Schema("string")


@dataclass(frozen=True)
class CustomKind:
    """A kind that a CustomResourceDefinition describes."""

    resource: Resource
    schema: Schema
    definition: Json


def definitions() -> Iterator[Json]:
    """The definitions that come with Maar."""
    folder = files("maar") / "deploy" / "crds"
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".yaml"):
            yield cast(Json, document(file.read_bytes()))


@cache
def packaged() -> tuple[CustomKind, ...]:
    """The kinds that come with Maar."""
    return tuple(map(custom, definitions()))


def custom(definition: Json) -> CustomKind:
    """Read a definition, which the definition of definitions has checked."""
    resource, found = resource_of(definition), schema_of(schema_node(definition))
    properties = {"apiVersion": _TEXT, "kind": _TEXT, **found.properties, "metadata": object_meta()}
    schema = replace(found, properties=properties, name=type_name(resource))
    return CustomKind(resource, schema, definition)


def resource_of(definition: Json) -> Resource:
    """The resource that a definition describes."""
    spec, version = cast(Node, definition["spec"]), _stored(definition)
    names = spec["names"]
    return Resource(
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


def schema_node(definition: Json) -> Node:
    """What a definition says about its objects."""
    return cast(Node, _stored(definition)["schema"]["openAPIV3Schema"])


def type_name(resource: Resource) -> str:
    """What OpenAPI calls the type of a custom kind."""
    return ".".join((*reversed(resource.group.split(".")), resource.version, resource.kind))


def _stored(definition: Json) -> Node:
    """Of the versions of a definition the stored one counts."""
    return next(one for one in cast(Node, definition["spec"])["versions"] if one.get("storage"))


def _column(column: Node) -> Column:
    return Column(
        column["name"],
        column["jsonPath"],
        column["type"],
        column.get("description", ""),
        column.get("priority", 0),
        column.get("format", ""),
    )
