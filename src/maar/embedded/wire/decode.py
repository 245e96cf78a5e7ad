"""From Kubernetes' binary form to plain values: protocol buffers, with the numbers of fields in a table."""

import base64
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from importlib.resources import files
from typing import Final, NamedTuple, cast

import msgspec

from maar.embedded.failures import Json, bad_request

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"

_MAGIC: Final = b"k8s\x00"
_META: Final = "k8s.io.apimachinery.pkg.apis.meta.v1."
_QUANTITY: Final = "k8s.io.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING: Final = "k8s.io.apimachinery.pkg.util.intstr.IntOrString"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DEEPEST: Final = 64
_LONGEST_NUMBER: Final = 63  # bits before the last byte of a varint
_NEGATIVE: Final = 1 << 63


class _Field(NamedTuple):
    """What a field number means; an empty name means that its fields are its parent's in JSON."""

    number: int
    name: str
    type: str
    shape: str  # list, map, or neither
    may_be_missing: bool  # where not, a zero means that the field is not set


class _Wire(NamedTuple):
    """One field as it came: a number or bytes."""

    number: int
    value: int | bytes


def decode(data: bytes) -> Json:
    """Read an object, with its apiVersion and kind."""
    if not data.startswith(_MAGIC):
        raise bad_request("the body is not in Kubernetes' binary form: it does not begin with k8s and a zero")
    try:
        envelope = {one.number: one.value for one in _fields(data[len(_MAGIC) :])}
        about = {one.number: one.value for one in _fields(_bytes(envelope.get(1, b"")))}
        api_version, kind = _bytes(about.get(1, b"")).decode(), _bytes(about.get(2, b"")).decode()
        message = _message_of(api_version, kind)
        value = _message(message, _bytes(envelope.get(2, b"")), 0)
    except (ValueError, IndexError, OverflowError, OSError) as error:
        raise bad_request(f"the body cannot be read as Kubernetes' binary form: {error}") from None
    return {"apiVersion": api_version, "kind": kind, **value}


def _message_of(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    package = f"k8s.io.api.{group.partition('.')[0] or 'core'}.{version}."
    for name in (f"{package}{kind}", f"{_META}{kind}"):
        if name in _numbers():
            return name
    raise bad_request(f"{kind} of {api_version} is not known in binary form: send it as JSON")


def _message(name: str, data: bytes, depth: int) -> Json:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    known, value = _numbers()[name], cast(Json, {})
    for wire in _fields(data):
        field = known.get(wire.number)
        if field is None:
            continue  # of a newer Kubernetes
        if field.shape == "map":
            entry = {one.number: one.value for one in _fields(_bytes(wire.value))}
            of = cast(Json, value.setdefault(field.name, {}))
            of[_bytes(entry.get(1, b"")).decode()] = _single(field.type, entry.get(2, b""), depth)
            continue
        found = _single(field.type, wire.value, depth)
        if field.shape == "list":
            cast(list[object], value.setdefault(field.name, [])).append(found)
        elif not field.name:
            value.update(cast(Json, found))
        elif field.may_be_missing or found not in ("", 0, {}, None):
            value[field.name] = found
    return value


def _single(kind: str, value: int | bytes, depth: int) -> object:
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return scalar(value)
    found = _message(kind, _bytes(value), depth + 1)
    written_otherwise = _IN_JSON.get(kind)
    return found if written_otherwise is None else written_otherwise(found)


def _whole_number(value: int | bytes) -> int:
    number = value if isinstance(value, int) else 0
    return number - 2 * _NEGATIVE if number >= _NEGATIVE else number


def _int_or_string(found: Json) -> object:
    return found.get("strVal", "") if found.get("type") else found.get("intVal", 0)


def _managed_fields(found: Json) -> object:
    return msgspec.json.decode(base64.b64decode(cast(str, next(iter(found.values()), "e30="))))


def _time(found: Json, *, precise: bool = False) -> str | None:
    if not found:
        return None
    moment = datetime.fromtimestamp(cast(int, found.get("seconds", 0)), UTC)
    fraction = f".{cast(int, found.get('nanos', 0)) // 1000:06}" if precise else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def _fields(data: bytes) -> Iterator[_Wire]:
    """The fields of a message in the order they came."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield _Wire(number, value)
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"field {number} is of the unknown form {kind}")
        if at + size > len(data):
            raise ValueError(f"field {number} is cut off")
        yield _Wire(number, data[at : at + size])
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004  the bit that says that more follow
            return value, at
        shift += 7
        if shift > _LONGEST_NUMBER:
            raise ValueError("a number is too long")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where text or a message was expected")  # noqa: TRY004  bad input, no bug
    return value


_SCALARS: Final[Mapping[str, Callable[[int | bytes], object]]] = {
    "string": lambda value: _bytes(value).decode(),
    "bytes": lambda value: base64.b64encode(_bytes(value)).decode(),
    "bool": bool,
    "int32": _whole_number,
    "int64": _whole_number,
}
_IN_JSON: Final[Mapping[str, Callable[[Json], object]]] = {
    _QUANTITY: lambda found: found.get("string", "0"),
    _INT_OR_STRING: _int_or_string,
    f"{_META}Time": _time,
    f"{_META}MicroTime": partial(_time, precise=True),
    f"{_META}FieldsV1": _managed_fields,
}


@cache
def _numbers() -> dict[str, dict[int, _Field]]:
    table = (files("maar.embedded.wire") / "numbers.json").read_bytes()
    rows = msgspec.json.decode(table, type=dict[str, list[_Field]])
    return {name: {field.number: field for field in fields} for name, fields in rows.items()}
