"""A change as people make it: commands of kubectl, and objects in a file."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Final, cast

import msgspec

from maar.core.admission.plain import at, text_at
from maar.core.answers.whatif.change_writes import (
    ChangeWrite,
    CordonNode,
    CreateObject,
    NoWrite,
    PatchObject,
    RemoveObject,
    merged,
)
from maar.core.model.metadata import Object
from maar.core.model.workload import Workload

Json = dict[str, object]

FILE: Final = "change.yaml"  # the name that commands give to the change as objects
_OF_SERVER: Final = (
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
    "resourceVersion", "selfLink", "uid",
)  # fmt: skip
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def kind_word(kind: type[Object]) -> str:
    """The name of a kind, as people read it."""
    return kind.kind if issubclass(kind, Workload) else kind.kind_name()


def commands(writes: Sequence[ChangeWrite]) -> list[str]:
    """The commands that make a change; objects to create are those of the file of the change."""
    found = list[str]()
    if any(isinstance(one, CreateObject) for one in writes):
        found.append(f"kubectl apply -f {FILE}")
        if any(isinstance(one, CreateObject) and _is_generated(one.document) for one in writes):
            found[0] = f"kubectl create -f {FILE}"
    for one in writes:
        match one:
            case PatchObject(kind=kind, key=key, patch=patch):
                text = shlex.quote(msgspec.json.encode(patch).decode())
                found.append(f"kubectl patch {_named(kind, key)} --type merge -p {text}")
            case CordonNode(name=name):
                found.append(f"kubectl drain {shlex.quote(name)} --ignore-daemonsets")
            case RemoveObject(kind=kind, key=key):
                found.append(f"kubectl delete {_named(kind, key)}")
            case CreateObject() | NoWrite():
                pass
    return found


def manifest(document: Mapping[str, object], patch: Json | None = None) -> Json:
    """An object as a file would have it: with a patch, and without what the server and controllers write."""
    one = merged(cast(Json, document), patch or {})
    metadata = dict(cast(Json, one.get("metadata", {})))
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict):
        metadata["annotations"] = {
            name: value for name, value in annotations.items() if name != _LAST_APPLIED
        }
    for name in (*_OF_SERVER, *(() if metadata.get("annotations") else ("annotations",))):
        metadata.pop(name, None)
    kept = {name: value for name, value in one.items() if name not in ("status", "metadata")}
    first: Json = {name: kept.pop(name) for name in ("apiVersion", "kind") if name in kept}
    return {**first, "metadata": metadata, **kept}


def _named(kind: type[Object], key: str) -> str:
    namespace, _, name = key.rpartition("/")
    group = kind.api_version.rpartition("/")[0]
    resource = f"{kind.plural}.{group}" if group else kind.plural
    where = f" -n {shlex.quote(namespace)}" if kind.namespaced else ""
    return f"{resource} {shlex.quote(name)}{where}"


def _is_generated(document: Json) -> bool:
    return not text_at(at(document, "metadata"), "name")
