"""Changes of a what-if as what one would send to a cluster to make them: patches, creations, deletions.

A patch has the fields that are changed and no others, so that it does not undo what somebody else
has changed meanwhile. Admission of the cluster itself judges it then; `changes.py` has judged it
before.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, cast

from maar.core.admission.plain import at, text_at
from maar.core.admission.request import Options
from maar.core.answers.whatif.changes import (
    AddNodes,
    Change,
    DeleteObject,
    DrainNode,
    SetField,
    SubmitDocument,
)
from maar.core.answers.whatif.field_paths import BadFieldError, find_field, read_value
from maar.core.answers.whatif.known_objects import BadChangeError, KnownObjects
from maar.core.model.job import Job
from maar.core.model.kinds import kind_of
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.workload import BatchJob

Json = dict[str, object]

_JOB_WORDS: Final = ("job", "jobs", "vcjob", "vj")
_FIRST: Final = (Queue, PodGroup, Job, Pod)  # what is submitted goes in this order, after all else


class PatchObject(NamedTuple):
    """Change fields of an object by a merge patch."""

    kind: type[Object]
    key: str
    patch: Json


class CreateObject(NamedTuple):
    """Make an object, as it was submitted."""

    kind: type[Object]
    key: str
    document: Json


class CordonNode(NamedTuple):
    """Mark a node unschedulable; evicting its pods is left to `kubectl drain`."""

    name: str


class RemoveObject(NamedTuple):
    """Delete an object, and what it owns with it."""

    kind: type[Object]
    key: str


class NoWrite(NamedTuple):
    """A change that nobody can make through the API, and why."""

    sentence: str


ChangeWrite = PatchObject | CreateObject | CordonNode | RemoveObject | NoWrite


def writes_of(objects: Iterable[Object], changes: Sequence[Change]) -> list[ChangeWrite]:
    """What makes changes, in the order in which they are made; they have been judged before."""
    known = KnownObjects(objects, Options())
    stored = set(known.of_kind(Queue))
    found = list[ChangeWrite]()
    for one in changes:
        match one:
            case SetField():
                patch = _patch(known, one)
                if "status" in patch.patch:  # the server leaves it out of a patch, without a word
                    found.append(NoWrite(f"{one.target} is not set: the kubelet of the node writes it"))
                else:
                    _add_patch(found, patch, stored)
            case AddNodes(nodes=nodes):
                count = "1 node is" if len(nodes) == 1 else f"{len(nodes)} nodes are"
                found.append(
                    NoWrite(f"{count} not added: nodes come from your provider, not through the API")
                )
            case DrainNode(name=name):
                found.append(CordonNode(known.find(f"node/{name}")[1]))
            case DeleteObject(target=target):
                found += _removals(known, target)
            case SubmitDocument():
                pass
    submitted = [one.document for one in changes if isinstance(one, SubmitDocument)]
    placed = sorted(map(_submission, submitted), key=lambda one: _order(one.kind))
    found += (
        PatchObject(one.kind, one.key, _as_patch(one.document)) if known.get(one.kind, one.key) else one
        for one in placed
    )
    return found


def _patch(known: KnownObjects, change: SetField) -> PatchObject:
    kind, key, path = known.find_field(change.target)
    try:
        field = find_field(kind, path)
    except BadFieldError as error:
        raise BadChangeError(f"{change.target}: {error}") from None
    value = None if change.value in ("", None) else read_value(field, change.value)
    patch: object = value
    for name in reversed(field.keys):
        patch = {name: patch}
    return PatchObject(kind, key, cast(Json, patch))


def _add_patch(found: list[ChangeWrite], one: PatchObject, stored: set[str]) -> None:
    """Join it to the last where that is of the same object; a queue that is only implied is made."""
    last = found[-1] if found else None
    if isinstance(last, PatchObject | CreateObject) and (last.kind, last.key) == (one.kind, one.key):
        if isinstance(last, PatchObject):
            found[-1] = last._replace(patch=merged(last.patch, one.patch, keeps_nulls=True))
        else:
            found[-1] = last._replace(document=merged(last.document, one.patch))
    elif one.kind is Queue and one.key not in stored:
        stored.add(one.key)
        document: Json = {"apiVersion": Queue.api_version, "kind": "Queue", "metadata": {"name": one.key}}
        found.append(CreateObject(Queue, one.key, merged(document, one.patch)))
    else:
        found.append(one)


def _removals(known: KnownObjects, target: str) -> list[ChangeWrite]:
    word, _, name = target.partition("/")
    if word.lower() not in _JOB_WORDS:
        kind, key = known.find(target)
        removals: list[ChangeWrite] = [RemoveObject(kind, key)]
        if kind is PodGroup:  # nothing deletes the pods with it
            removals += [RemoveObject(Pod, one.key) for one in known.pods_of(key)]
        return removals
    key = name if "/" in name else Job.key_of("", name)
    return [RemoveObject(Job if known.get(Job, key) is not None else BatchJob, key)]


def _submission(document: object) -> CreateObject:
    one = cast(Json, document)
    version, name = str(one.get("apiVersion", "")), str(one.get("kind", ""))
    is_batch = (version, name) == (BatchJob.api_version, BatchJob.kind)
    kind = BatchJob if is_batch else kind_of(version, name)
    if kind is None:
        raise BadChangeError(f"{name} of {version} cannot be submitted")
    metadata = at(one, "metadata")
    given = text_at(metadata, "name") or f"{text_at(metadata, 'generateName')}new"
    return CreateObject(kind, kind.key_of(text_at(metadata, "namespace"), given), one)


def _order(kind: type[Object]) -> int:
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST) if kind is BatchJob else -1


def _as_patch(document: Json) -> Json:
    """What a submitted object changes of the one that is there."""
    metadata = cast(Json, at(document, "metadata"))
    kept: Json = {name: metadata[name] for name in ("labels", "annotations") if name in metadata}
    rest = {
        name: value
        for name, value in document.items()
        if name not in ("apiVersion", "kind", "metadata", "status")
    }
    return {**({"metadata": kept} if kept else {}), **rest}


def cordon(node: str) -> PatchObject:
    """The patch that cordons a node."""
    return PatchObject(Node, node, {"spec": {"unschedulable": True}})


def merged(document: Json, patch: Json, *, keeps_nulls: bool = False) -> Json:
    """A document after a merge patch, in which null takes a field out; patches keep it for later."""
    found = dict(document)
    for name, value in patch.items():
        below = found.get(name)
        if isinstance(value, dict):
            inside = below if isinstance(below, dict) else {}
            found[name] = merged(inside, value, keeps_nulls=keeps_nulls)
        elif value is None and not keeps_nulls:
            found.pop(name, None)
        else:
            found[name] = value
    return found
