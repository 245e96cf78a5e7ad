"""The built-in types as OpenAPI writes them, from the generated models of the Kubernetes client.

The models know every field, its type, its description and whether it is required; `facts` knows the
rest.
"""

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

from kubernetes_asyncio.client import models

from api_schemas import descriptions, facts
from maar.embedded.schema.types import INT_OR_STRING, MICRO_TIME, QUANTITY, TIME

Node = dict[str, Any]

REFERENCE: Final = "#/components/schemas/"
SCALARS: Final[dict[str, Node]] = {  # types that are neither objects nor lists, yet have names
    QUANTITY: {
        "description": "An amount such as 500m, 2 or 4Gi.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    INT_OR_STRING: {
        "description": "A number or a text.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
    TIME: {"description": "A time in seconds.", "type": "string", "format": "date-time"},
    MICRO_TIME: {"description": "A time in microseconds.", "type": "string", "format": "date-time"},
}

_MODEL: Final = re.compile(r"(?:[A-Z][a-z]+)?V1(.+)")
_LIST: Final = re.compile(r"list\[(.+)\]")
_MAP: Final = re.compile(r"dict\(str, (.+)\)")
_DESCRIPTION: Final = re.compile(r"\n\n\s*(\S.*?)\s*# noqa: E501\n\n\s*:return:", re.DOTALL)
_TYPES: Final = {"str": "string", "bool": "boolean", "float": "number"}
_KEYS: Final = {field: keys for keys, fields in facts.LIST_KEYS.items() for field in fields}
_HOMES: Final = sorted(
    ((beginning, home) for home, beginnings in facts.PACKAGES.items() for beginning in beginnings.split()),
    key=lambda pair: -len(pair[0]),
)


class Types:
    """The types that documents refer to, collected while they are written."""

    def __init__(self) -> None:
        self.written: dict[str, Node] = {}

    def builtin(self, api_version: str, kind: str) -> str:
        """Write a built-in kind; gives the name of its type."""
        return self.model("CoreV1Event" if (api_version, kind) == ("v1", "Event") else f"V1{kind}")

    def model(self, model: str) -> str:
        """Write a type of the models; it has a name before its fields are written: one may be of the type."""
        found = getattr(models, model)
        matched = _MODEL.fullmatch(model)
        short = matched[1] if matched else model
        name = f"{_home(short)}.{short}"
        if name in self.written:
            return name
        node = self.written[name] = {"type": "object"}
        if short in descriptions.KINDS:
            node["description"] = descriptions.KINDS[short]
        if required := list(_required(found)):
            node["required"] = required
        node["properties"] = {
            key: _described(
                self._field(found.openapi_types[attribute], f"{short}.{key}"), _description(found, attribute)
            )
            for attribute, key in found.attribute_map.items()
        }
        if short in facts.ATOMIC_TYPES:
            node["x-kubernetes-map-type"] = "atomic"
        return name

    def scalar(self, name: str) -> Node:
        """A reference to a type that is neither an object nor a list."""
        self.written[name] = SCALARS[name]
        return {"$ref": f"{REFERENCE}{name}"}

    def _field(self, kind: str, field: str) -> Node:
        """A field by the type that the model gives it, such as list[V1Container]."""
        if listed := _LIST.fullmatch(kind):
            return {"type": "array", "items": self._field(listed[1], field), **_list_marks(field)}
        if mapped := _MAP.fullmatch(kind):
            atomic = {"x-kubernetes-map-type": "atomic"} if field in facts.ATOMIC_FIELDS else {}
            return {"type": "object", "additionalProperties": self._field(mapped[1], field), **atomic}
        if kind in (*_TYPES, "int", "datetime", "object"):
            return self._plain(kind, field)
        node: Node = {"$ref": f"{REFERENCE}{self.model(kind)}"}
        if field in facts.GRANULAR_FIELDS:
            node["x-kubernetes-map-type"] = "granular"
        if field in facts.REPLACED:
            node["x-kubernetes-patch-strategy"] = "replace"
        return node

    def _plain(self, kind: str, field: str) -> Node:
        if kind == "int":
            long = field in facts.LONG_INTEGER_FIELDS or field.partition(".")[2] in facts.LONG_INTEGERS
            return {"type": "integer", "format": "int64" if long else "int32"}
        if kind == "datetime":
            return self.scalar(MICRO_TIME if field in facts.MICRO_TIMES else TIME)
        if field in facts.INT_OR_STRING:
            return self.scalar(INT_OR_STRING)
        if field in facts.QUANTITIES or field in facts.QUANTITY_MAPS:
            return self.scalar(QUANTITY)
        if kind == "object":
            return {"x-kubernetes-preserve-unknown-fields": True}
        form = "byte" if field in facts.BYTES else "double" if kind == "float" else ""
        default = facts.KEY_DEFAULTS.get(field)
        return {
            "type": _TYPES[kind],
            **({"format": form} if form else {}),
            **({"default": default} if default else {}),
        }


def _list_marks(field: str) -> Node:
    """How patches and server-side apply combine lists."""
    keys, marks = _KEYS.get(field, ()), Node()
    if keys or field in facts.SETS:
        marks["x-kubernetes-list-type"] = "map" if keys else "set"
    if keys:
        marks["x-kubernetes-list-map-keys"] = list(keys)
    if patch_key := facts.PATCH_KEYS.get(field, keys[0] if keys else ""):
        marks["x-kubernetes-patch-strategy"] = "merge,retainKeys" if field in facts.RETAIN_KEYS else "merge"
        if patch_key != "*":
            marks["x-kubernetes-patch-merge-key"] = patch_key
    return marks


def _described(node: Node, description: str) -> Node:
    """A property; a reference with anything beside it stands in an allOf, as OpenAPI wants it."""
    found = {"description": description, **node} if description else dict(node)
    if "$ref" in found and len(found) > 1:
        found["allOf"] = [{"$ref": found.pop("$ref")}]
    return found


def _home(name: str) -> str:
    return next((home for beginning, home in _HOMES if name.startswith(beginning)), facts.CORE)


def _required(found: Any) -> Iterator[str]:  # noqa: ANN401 - the generated classes are not typed
    """The fields that the model refuses to be without."""
    probe = found.__new__(found)
    probe.local_vars_configuration = SimpleNamespace(client_side_validation=True)
    for attribute, key in found.attribute_map.items():
        try:
            setattr(probe, attribute, None)
        except ValueError:
            yield key


def _description(found: Any, attribute: str) -> str:  # noqa: ANN401 - see _required
    described = _DESCRIPTION.search(getattr(found, attribute).__doc__ or "")
    return described[1] if described else descriptions.FIELDS.get(found.attribute_map[attribute], "")
