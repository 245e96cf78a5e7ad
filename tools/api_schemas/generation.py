"""The file that the embedded server reads: all types once, and per group what refers to them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from api_schemas import discovery
from api_schemas.documents import paths, write_custom, write_kind
from api_schemas.models import REFERENCE, Node, Types
from maar.embedded.resources import BUILT_IN, Resource
from maar.embedded.schema.custom import definitions, resource_of, schema_node, type_name

MORE: Final = (
    ("policy/v1", "Eviction"),
    ("v1", "DeleteOptions"),
    ("v1", "Status"),
)  # in requests and answers
OUTPUT: Final = Path(__file__).parents[2] / "src/maar/embedded/schema/api.json"


def generated() -> str:
    """The whole file, with a line for each type and each document, so that a change is seen where it is."""
    types = Types()
    served = [*_built_in(types), *_custom(types)]
    kinds = {f"{resource.api_version}/{resource.kind}": name for resource, name in served}
    kinds |= {f"{version}/{kind}": types.builtin(version, kind) for version, kind in MORE}
    openapi, resources = _openapi(types, served), [resource for resource, _ in served]
    parts: dict[str, dict[str, Any]] = {
        "kinds": kinds,
        "types": types.written,
        "openapi": openapi,
        "discovery": discovery.documents(resources),
        "aggregated": {
            place: discovery.aggregated(resources, legacy=place == "/api") for place in ("/api", "/apis")
        },
    }
    written = (f"{json.dumps(name)}:{{\n{_lines(part)}\n}}" for name, part in parts.items())
    return "{" + ",\n".join(written) + "}\n"


def _built_in(types: Types) -> Iterator[tuple[Resource, str]]:
    for resource in BUILT_IN:
        name = types.builtin(resource.api_version, resource.kind)
        write_kind(types, resource, name)
        yield resource, name


def _custom(types: Types) -> Iterator[tuple[Resource, str]]:
    for definition in definitions():
        resource = resource_of(definition)
        write_custom(types, resource, type_name(resource), schema_node(definition))
        yield resource, type_name(resource)


def _openapi(types: Types, served: list[tuple[Resource, str]]) -> dict[str, Any]:
    """For each group and version its paths, and the names of all types that they lead to."""
    groups: dict[str, dict[str, Any]] = {}
    for resource, name in served:
        place = f"apis/{resource.api_version}" if resource.group else f"api/{resource.api_version}"
        group = groups.setdefault(place, {"paths": {}, "types": set()})
        group["types"].add(f"{name}List")
        group["paths"] |= paths(types, resource, name)
    for group in groups.values():
        group["types"] = sorted(_reached(types, {*group["types"], *_references(group["paths"])}))
    return groups


def _lines(part: dict[str, Any]) -> str:
    return ",\n".join(
        f"{json.dumps(name)}:{json.dumps(part[name], separators=(',', ':'), ensure_ascii=False)}"
        for name in sorted(part)
    )


def _reached(types: Types, names: set[str]) -> set[str]:
    """The types that documents need which refer to some of them."""
    found, waiting = set[str](), list(names)
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += _references(types.written[name])
    return found


def _references(node: Node | list[Any]) -> Iterator[str]:
    for key, below in node.items() if isinstance(node, dict) else enumerate(node):
        if key == "$ref" and isinstance(below, str):
            yield below.removeprefix(REFERENCE)
        elif isinstance(below, dict | list):
            yield from _references(below)
