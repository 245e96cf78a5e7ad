"""JSON patches, RFC 6902, with two deviations that Kubernetes has, and JSON merge patches, RFC 7386."""

from collections.abc import Callable
from typing import Final

import msgspec

from maar.embedded.failures import Json, bad_request, too_large
from maar.embedded.patch.comparison import same
from maar.embedded.patch.refusals import bounded_in_depth, named_type, unprocessable
from maar.parsing.limits import OBJECT
from maar.parsing.plain_values import excess

MAX_OPERATIONS: Final = 10_000
MAX_COPIED_BYTES: Final = 3 * 1024 * 1024  # in all: copies of copies would grow without bound

Edit = Callable[[object, str], object]  # the parent and the last step of a path -> the new parent


class _MisfitError(Exception):
    """An operation does not fit the document."""


@bounded_in_depth
def json_patch(document: Json, operations: object) -> Json:
    """The document after the operations, in their order; the document itself stays as it was."""
    result: object = document
    copied = 0
    for number, operation in enumerate(_checked(operations)):
        try:
            result, size = _after(result, operation)
        except _MisfitError as why:
            message = f"operation {number}, {operation.get('op')} {operation.get('path')!r}: {why}"
            raise unprocessable(message) from None
        copied += size
        if copied > MAX_COPIED_BYTES:
            message = (
                f"the copies of the patch take {copied} bytes, the limit is {MAX_COPIED_BYTES}; copy less"
            )
            raise unprocessable(message)
    if problem := excess(result, OBJECT):
        raise unprocessable(f"the patch makes the object too large: {problem}")
    if not isinstance(result, dict):
        raise unprocessable(f"the patch turns the object into {named_type(result)}; keep it an object")
    return result


def _checked(operations: object) -> list[Json]:
    if not isinstance(operations, list):
        message = f"a JSON patch is an array of operations, not {named_type(operations)}"
        raise bad_request(f"error decoding patch: {message}")
    if len(operations) > MAX_OPERATIONS:
        limit = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise too_large(limit)
    for operation in operations:
        if not isinstance(operation, dict):
            message = f"an operation of a JSON patch is an object, not {named_type(operation)}"
            raise bad_request(f"error decoding patch: {message}")
    return operations


def _after(document: object, operation: Json) -> tuple[object, int]:
    """The document after one operation, and how many bytes it copied."""
    path, value = _steps(operation, "path"), operation.get("value")
    match operation.get("op"):
        case "add":
            return _added(document, path, value), 0
        case "remove":
            return _edited(document, path, _without), 0
        case "replace":
            return (_edited(document, path, _putting(value)) if path else value), 0
        case "move":
            source = _steps(operation, "from")
            found = _found(document, source)
            return _added(_edited(document, source, _without), path, found), 0
        case "copy":
            found = _found(document, _steps(operation, "from"))
            return _added(document, path, found), len(msgspec.json.encode(found))
        case "test":
            _test(document, path, value)
            return document, 0
    raise _MisfitError("there is no such operation; use add, remove, replace, move, copy or test")


def _steps(operation: Json, name: str) -> list[str]:
    """The steps of a JSON pointer, RFC 6901."""
    pointer = operation.get(name)
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise _MisfitError(f"'{name}' is no JSON pointer; write one like /metadata/labels/app")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _position(step: str, end: int) -> int:
    """A position below the end."""
    if step.isascii() and step.isdigit() and len(step) <= len(str(end)) and int(step) < end:
        return int(step)
    raise _MisfitError(f"{step!r} is no position in the list; it has those below {end}")


def _found(document: object, path: list[str]) -> object:
    for step in path:
        if isinstance(document, dict) and step in document:
            document = document[step]
        elif isinstance(document, list):
            document = document[_position(step, len(document))]
        else:
            raise _MisfitError(f"there is no {step!r}")
    return document


def _test(document: object, path: list[str], value: object) -> None:
    if path and value is None:
        parent = _found(document, path[:-1])
        if isinstance(parent, dict) and path[-1] not in parent:
            return  # a deviation of Kubernetes: what is not there is null
    if not same(_found(document, path), value):
        raise _MisfitError("the value is another one")


def _edited(node: object, path: list[str], edit: Edit, depth: int = 0) -> object:
    """The document with the end of the path edited; what is not on the path is shared, not copied."""
    if not path:
        raise _MisfitError("the whole object cannot be removed or moved")
    step = path[depth]
    if depth == len(path) - 1:
        return edit(node, step)
    if isinstance(node, dict) and step in node:
        return {**node, step: _edited(node[step], path, edit, depth + 1)}
    if isinstance(node, list):
        at = _position(step, len(node))
        return [*node[:at], _edited(node[at], path, edit, depth + 1), *node[at + 1 :]]
    raise _MisfitError(f"there is no {step!r}")


def _added(document: object, path: list[str], value: object) -> object:
    def edit(parent: object, step: str) -> object:
        if isinstance(parent, list):
            at = len(parent) if step == "-" else _position(step, len(parent) + 1)
            return [*parent[:at], value, *parent[at:]]
        return _putting(value)(parent, step)

    return _edited(document, path, edit) if path else value


def _putting(value: object) -> Edit:
    def edit(parent: object, step: str) -> object:
        if isinstance(parent, dict):
            return {**parent, step: value}  # a deviation of Kubernetes: also where nothing is to be replaced
        if isinstance(parent, list):
            at = _position(step, len(parent))
            return [*parent[:at], value, *parent[at + 1 :]]
        raise _MisfitError(f"there is nothing that could have a {step!r}")

    return edit


def _without(parent: object, step: str) -> object:
    if isinstance(parent, dict) and step in parent:
        return {key: value for key, value in parent.items() if key != step}
    if isinstance(parent, list):
        at = _position(step, len(parent))
        return [*parent[:at], *parent[at + 1 :]]
    raise _MisfitError(f"there is no {step!r}")


@bounded_in_depth
def merge_patch(document: Json, patch: object) -> Json:
    """The document with the patch merged into it: null removes, objects merge, all else replaces."""
    if not isinstance(patch, dict):
        raise bad_request(f"error decoding patch: a merge patch is an object, not {named_type(patch)}")
    return _merged(document, patch)


def _merged(target: object, patch: Json) -> Json:
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value) if isinstance(value, dict) else value
    return result
