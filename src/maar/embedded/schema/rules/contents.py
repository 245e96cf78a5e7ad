"""Rules for config maps and secrets; their keys become names of files on the local node."""

from collections.abc import Iterator
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import forbidden, invalid, too_long, violations
from maar.embedded.schema.rules.fields import Fields

_LARGEST: Final = 1 << 20


def config_map(found: Fields) -> Iterator[Cause]:
    """A config map, new or changed."""
    data, binary = found.get("data") or {}, found.get("binaryData") or {}
    yield from _keys(data, "data")
    for key in data:
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    yield from _keys(binary, "binaryData")
    if sum(map(len, data.values())) + sum(len(text) * 3 // 4 for text in binary.values()) > _LARGEST:
        yield too_long("[]", _LARGEST)


def secret(found: Fields) -> Iterator[Cause]:
    """A secret, new or changed."""
    data = found.get("data") or {}
    yield from _keys(data, "data")
    if sum(len(text) * 3 // 4 for text in data.values()) > _LARGEST:
        yield too_long("data", _LARGEST)


def secret_updated(old: Fields, found: Fields) -> Iterator[Cause]:
    """A secret that was there before keeps its type."""
    if old.get("type") != found.get("type"):
        yield invalid("type", found.get("type"), "field is immutable")
    yield from updated(old, found)


def updated(old: Fields, found: Fields) -> Iterator[Cause]:
    """What is immutable stays as it is, and stays immutable."""
    if old.get("immutable"):
        why = "field is immutable when `immutable` is set"
        if not found.get("immutable"):
            yield forbidden("immutable", why)
        for field in ("data", "binaryData"):
            if (old.get(field) or {}) != (found.get(field) or {}):
                yield forbidden(field, why)


def _keys(data: Fields, field: str) -> Iterator[Cause]:
    for key in data:
        yield from violations(f"{field}[{key}]", key, names.config_key(key))
