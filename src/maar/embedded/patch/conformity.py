"""Whether a configuration can be applied: it fits its schema, and no list has two items with one key."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from maar.embedded.failures import Json
from maar.embedded.patch.fields import field, shown
from maar.embedded.patch.refusals import named_type, unexpected
from maar.embedded.patch.shapes import ANYTHING, UnkeyedError, below, element
from maar.embedded.schema.types import Merge, Schema

_NUMERIC: Final = "numeric (int or float)"


class _MisfitError(Exception):
    """Something does not fit, at a path that grows on the way up."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why, self.path = why, ""


def check(configuration: Json, schema: Schema) -> None:
    """Refuse a configuration that does not fit its schema, as Kubernetes refuses it."""
    try:
        _check(configuration, schema)
    except _MisfitError as misfit:
        metadata = configuration.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        group, _, version = str(configuration.get("apiVersion", "")).rpartition("/")
        about = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        kind = f"{group}/{version}, Kind={configuration.get('kind', '')}"
        where = f"{misfit.path}: " if misfit.path else ""
        message = f"failed to create typed patch object ({about}; {kind}): {where}{misfit.why}"
        raise unexpected(message) from None


def _check(value: object, schema: Schema) -> None:
    if value is None or schema.int_or_string:
        return
    if schema.type == "object" or (not schema.type and isinstance(value, dict)):
        _check_object(value, schema)
    elif schema.type == "array" or (not schema.type and isinstance(value, list)):
        _check_list(value, schema)
    else:
        _check_plain(value, schema)


def _check_object(value: object, schema: Schema) -> None:
    if not isinstance(value, dict):
        raise _MisfitError(f"expected map, got {_text(value)}")
    for name, inner in value.items():
        deeper = below(schema, name)
        with _at(field(name)):
            if deeper is None:
                raise _MisfitError("field not declared in schema")
            _check(inner, deeper)


def _check_list(value: object, schema: Schema) -> None:
    if not isinstance(value, list):
        raise _MisfitError(f"expected list, got {_text(value)}")
    seen = set[str]()
    for position, item in enumerate(value):
        name = f"i:{position}"
        if schema.merge is not Merge.ATOMIC:
            try:
                name = element(schema, item)
            except UnkeyedError as why:
                raise _MisfitError(f"element {position}: {why}") from None
            if name in seen:
                raise _MisfitError(f"duplicate entries for key {shown((name,))}")
            seen.add(name)
        with _at(name):
            _check(item, schema.items or ANYTHING)


def _check_plain(value: object, schema: Schema) -> None:
    wanted, types = _plain(schema)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        got = named_type(value) if wanted == _NUMERIC else _text(value)
        raise _MisfitError(f"expected {wanted}, got {got}")


def _plain(schema: Schema) -> tuple[str, tuple[type, ...]]:
    """What a plain value has to be; what the text of a time or of a quantity means is checked elsewhere."""
    if schema.type in ("integer", "number"):
        return _NUMERIC, (int, float)
    if schema.type == "boolean":
        return "boolean", (bool,)
    if schema.type == "string" and schema.format in ("", "byte"):
        return "string", (str,)
    return "any scalar", (str, int, float, bool)


@contextmanager
def _at(name: str) -> Iterator[None]:
    """Add a step to the path of what does not fit."""
    try:
        yield
    except _MisfitError as misfit:
        misfit.path = shown((name,)) + misfit.path
        raise


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
