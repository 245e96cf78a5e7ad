"""Schemas of the built-in kinds, derived from the generated models of the Kubernetes client.

The models know every field, its type, its description and whether it is required; `facts` knows the rest.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

from maar.embedded.schema import descriptions, facts
from maar.embedded.schema.types import Merge, Schema

_MODEL: Final = re.compile(r"(?:[A-Z][a-z]+)?V1(.+)")
_LIST: Final = re.compile(r"list\[(.+)\]")
_MAP: Final = re.compile(r"dict\(str, (.+)\)")
_DESCRIPTION: Final = re.compile(r"\n\n\s*(\S.*?)\s*# noqa: E501\n\n\s*:return:", re.DOTALL)
_TYPES: Final = {"str": "string", "bool": "boolean", "float": "number", "object": ""}
_KEYS: Final = {field: keys for keys, fields in facts.LIST_KEYS.items() for field in fields}
_HOMES: Final = sorted(
    ((beginning, home) for home, beginnings in facts.PACKAGES.items() for beginning in beginnings.split()),
    key=lambda pair: -len(pair[0]),
)
_built: Final[dict[str, Schema]] = {}


def builtin(api_version: str, kind: str) -> Schema:
    """The schema of a built-in kind, for example of StatefulSet in apps/v1."""
    return _object("CoreV1Event" if (api_version, kind) == ("v1", "Event") else f"V1{kind}")


def object_meta() -> Schema:
    """The schema of the metadata that every object has."""
    return _object("V1ObjectMeta")


def list_meta() -> Schema:
    """The schema of the metadata of a list."""
    return _object("V1ListMeta")


def _object(model: str) -> Schema:
    """A type of the models. It is known before its fields are, as one of them may be of the same type."""
    if model in _built:
        return _built[model]
    found = _class(model)
    matched = _MODEL.fullmatch(model)
    name = matched[1] if matched else model
    properties: dict[str, Schema] = {}
    schema = _built[model] = Schema(
        "object",
        descriptions.KINDS.get(name, ""),
        properties=properties,
        required=tuple(_required(found)),
        atomic=name in facts.ATOMIC_TYPES,
        name=f"{_home(name)}.{name}",
    )
    for attribute, key in found.attribute_map.items():
        field = _field(found.openapi_types[attribute], f"{name}.{key}")
        properties[key] = replace(field, description=_description(found, attribute))
    return schema


def _field(kind: str, field: str) -> Schema:
    """A field by the type that the model gives it, such as list[V1Container]."""
    if listed := _LIST.fullmatch(kind):
        return _array(_field(listed[1], field), field)
    if mapped := _MAP.fullmatch(kind):
        return Schema("object", values=_field(mapped[1], field), atomic=field in facts.ATOMIC_FIELDS)
    if kind in _TYPES or kind in ("int", "datetime"):
        return _scalar(kind, field)
    schema = _object(kind)
    if field in facts.GRANULAR_FIELDS:
        schema = replace(schema, atomic=False)
    if field in facts.REPLACED:
        schema = replace(schema, replace=True)
    return schema


def _scalar(kind: str, field: str) -> Schema:
    if kind == "int":
        long = field in facts.LONG_INTEGER_FIELDS or field.partition(".")[2] in facts.LONG_INTEGERS
        return Schema("integer", format="int64" if long else "int32")
    if kind == "datetime":
        name = facts.MICRO_TIME if field in facts.MICRO_TIMES else facts.TIME
        return Schema("string", format="date-time", name=name)
    if field in facts.INT_OR_STRING:
        return Schema(format="int-or-string", int_or_string=True, name=facts.INT_OR_STRING_TYPE)
    if field in facts.QUANTITIES or field in facts.QUANTITY_MAPS:
        return Schema("string", format="quantity", name=facts.QUANTITY)
    form = "byte" if field in facts.BYTES else "double" if kind == "float" else ""
    return Schema(_TYPES[kind], format=form, open=kind == "object", default=facts.KEY_DEFAULTS.get(field))


def _array(items: Schema, field: str) -> Schema:
    keys = _KEYS.get(field, ())
    return Schema(
        "array",
        items=replace(items, retain_keys=True) if field in facts.RETAIN_KEYS else items,
        merge=Merge.MAP if keys else Merge.SET if field in facts.SETS else Merge.ATOMIC,
        keys=keys,
        patch_key=facts.PATCH_KEYS.get(field, keys[0] if keys else ""),
    )


def _class(model: str) -> Any:  # noqa: ANN401 - the generated classes are not typed
    # Imported late because it takes most of a second, and who needs no schema need not wait for it.
    from kubernetes_asyncio.client import models  # noqa: PLC0415

    return getattr(models, model)


def _home(name: str) -> str:
    return next((home for beginning, home in _HOMES if name.startswith(beginning)), facts.CORE)


def _required(found: Any) -> Iterator[str]:  # noqa: ANN401 - see _class
    """The fields that the model refuses to be without."""
    probe = found.__new__(found)
    probe.local_vars_configuration = SimpleNamespace(client_side_validation=True)
    for attribute, key in found.attribute_map.items():
        try:
            setattr(probe, attribute, None)
        except ValueError:
            yield key


def _description(found: Any, attribute: str) -> str:  # noqa: ANN401 - see _class
    told = _DESCRIPTION.search(getattr(found, attribute).__doc__ or "")
    return told[1] if told else descriptions.FIELDS.get(found.attribute_map[attribute], "")
