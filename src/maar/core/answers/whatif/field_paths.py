"""Fields of objects as people name them, such as `guarantee.resource.cpu`: where they are, and their types.

A name of a resource, a label or an annotation may have dots itself; so below a map all the rest is
one key.
"""

from difflib import get_close_matches
from types import UnionType
from typing import Final, NamedTuple, TypeGuard, get_args, get_origin

import msgspec

from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.resources import Percentages, Resources

_METADATA: Final = ("labels", "annotations")
_AMOUNTS: Final = (Resources, Percentages)

Json = dict[str, object]


class BadFieldError(ValueError):
    """A field that an object of this kind does not have, or a value that cannot be read."""


class Field(NamedTuple):
    """Where a field is in a document, and what it holds."""

    keys: tuple[str, ...]
    type: object

    @property
    def path(self) -> str:
        """The field as messages name it."""
        return ".".join(self.keys)


def find_field(kind: type[Object], path: str) -> Field:
    """Find a field by its name below the spec, or `labels`, `annotations` and `allocatable` of nodes."""
    first, _, rest = path.partition(".")
    top = _fields(kind)
    spec = _fields(top["spec"])
    if first == "spec" and rest:
        return find_field(kind, rest)
    if first in spec:
        return _descend(("spec",), spec, path)
    if first in _METADATA:
        return _descend(("metadata",), _fields(top["metadata"]), path)
    if kind is Node and first == "allocatable":
        return _descend(("status",), _fields(top["status"]), path)
    others = [*_METADATA, *(["allocatable"] if kind is Node else [])]
    raise BadFieldError(_unknown(kind.kind_name(), first, [*spec, *others]))


def _descend(above: tuple[str, ...], fields: Json, path: str) -> Field:
    name, _, rest = path.partition(".")
    if name not in fields:
        amounts = next((one for one, kind in fields.items() if _without_none(kind) is Resources), "")
        if amounts and not get_close_matches(name, fields, 1):
            meant = ".".join((*above[1:], amounts, path))
            raise BadFieldError(f"{'.'.join(above)} has no field {name!r}; did you mean {meant}?")
        raise BadFieldError(_unknown(".".join(above), name, list(fields)))
    here, found = (*above, name), _without_none(fields[name])
    if not rest:
        if _is_record(found):
            inside = ", ".join(f"{name}.{one}" for one in _fields(found))
            raise BadFieldError(f"{'.'.join(here)} has fields of its own; name one of {inside}")
        return Field(here, found)
    if _is_record(found):
        return _descend(here, _fields(found), rest)
    if found in _AMOUNTS:
        return Field((*here, rest), object)
    if get_origin(found) is dict:
        return Field((*here, rest), get_args(found)[1])
    raise BadFieldError(f"{'.'.join(here)} is one value and has no {rest}; write {'.'.join(here[1:])}=...")


def read_value(field: Field, value: object) -> object:
    """A value as documents have it: a text is read as JSON, unless the field is a text itself."""
    if not isinstance(value, str) or field.type is str or _is_choice(field.type):
        return value
    try:
        return msgspec.json.decode(value.encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return value


def with_field(document: Json, keys: tuple[str, ...], value: object) -> Json:
    """A copy of a document with a field changed; None takes it out."""
    first, *rest = keys
    if rest:
        below = document.get(first)
        return {**document, first: with_field(below if isinstance(below, dict) else {}, tuple(rest), value)}
    kept = {name: one for name, one in document.items() if name != first}
    return kept if value is None else {**kept, first: value}


def nearest(name: str, known: list[str]) -> str:
    """What may have been meant, or some of what there is."""
    if close := get_close_matches(name, known, 1):
        return f"did you mean {close[0]}?"
    some = sorted(known)[:_SOME]
    more = f" and {len(known) - len(some)} more" if len(known) > len(some) else ""
    return f"there are {', '.join(some)}{more}" if some else "there is none at all"


_SOME: Final = 12  # names in one sentence


def _unknown(where: str, name: str, known: list[str]) -> str:
    return f"{where} has no field {name!r} that can be set; {nearest(name, known)}"


def _fields(kind: object) -> Json:
    return {one.encode_name: one.type for one in msgspec.structs.fields(kind)} if _is_record(kind) else {}


def _is_record(kind: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _is_choice(kind: object) -> bool:
    """Whether a type is one of some texts."""
    return bool(get_args(kind)) and all(isinstance(one, str) for one in get_args(kind))


def _without_none(kind: object) -> object:
    if get_origin(kind) is UnionType or str(get_origin(kind)) == "typing.Union":
        left = [one for one in get_args(kind) if one is not type(None)]
        return left[0] if len(left) == 1 else kind
    return kind
