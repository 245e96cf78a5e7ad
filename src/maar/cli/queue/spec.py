"""The spec of a queue as a document, and what has to change for it."""

from typing import Literal, cast

from maar.core.model.queue import Queue

Json = dict[str, object]
State = Literal["Open", "Closed"]


def document_of(name: str, spec: Json) -> Json:
    """A new queue."""
    return {
        "apiVersion": Queue.api_version,
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": difference({}, spec),
    }


def difference(there: Json, wanted: Json) -> Json:
    """The merge patch that brings what is wanted about; empty where all of it is there."""
    patch: Json = {}
    for name, value in wanted.items():
        before = there.get(name)
        if isinstance(value, dict):
            inside = difference(cast(Json, before) if isinstance(before, dict) else {}, value)
            if inside:
                patch[name] = inside
        elif value != before:
            patch[name] = value
    return patch
