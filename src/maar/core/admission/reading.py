"""From what was sent to an object with types, or a BadObjectError that says why not."""

from typing import TypeVar

from maar.core.admission.plain import at
from maar.core.admission.request import Json
from maar.core.model.kinds import BadObjectError, from_document
from maar.core.model.metadata import Object

ObjectT = TypeVar("ObjectT", bound=Object)


def read(kind: type[ObjectT], document: object) -> ObjectT:
    """Read an object from plain values, whatever they are."""
    if not isinstance(document, dict):
        raise BadObjectError("", "it is no object")
    try:
        return from_document(kind, {**document, "kind": kind.__name__})
    except UnicodeEncodeError:  # half a surrogate pair, which only Python's own JSON and YAML let through
        raise BadObjectError("", "it has text that cannot be written as UTF-8") from None


def read_spec(kind: type[ObjectT], document: object, name: str = "") -> ObjectT:
    """Read no more than the spec: metadata and status are not what rules are about."""
    if not isinstance(document, dict):
        raise BadObjectError("", "it is no object")
    spec = at(document, "spec")
    wanted: Json = {"metadata": {"name": name}, "spec": {} if spec is None else spec}
    return read(kind, wanted)
