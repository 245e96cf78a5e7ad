"""The spec of a queue from the flags of a command, and what has to change for it."""

from typing import Literal, TypedDict, Unpack, cast

from maar.cli.queue.amounts import Amounts, guarantee
from maar.core.model.queue import Queue

Json = dict[str, object]
State = Literal["Open", "Closed"]


class Flags(TypedDict, total=False):
    """What a command was given of a queue's spec; None where a flag was not given."""

    weight: int | None
    state: State | None
    parent: str | None
    capability: Amounts | None
    guarantee: Amounts | None
    reclaimable: Literal["true", "false"] | None
    priority: int | None
    request: Amounts | None


def spec_of(**flags: Unpack[Flags]) -> Json:
    """The fields of a spec that were given; None inside stands for what is to be taken away."""
    spec: Json = {name: value for name, value in flags.items() if value is not None}
    if reserved := flags.get("guarantee"):
        spec["guarantee"] = guarantee(reserved)
    if "reclaimable" in spec:
        spec["reclaimable"] = spec["reclaimable"] == "true"
    return spec


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
