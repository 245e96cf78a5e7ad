"""Rules for the metadata of every object: names, labels, annotations, owners and finalizers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.resources import Resource
from maar.embedded.schema.messages import forbidden, invalid, required, too_long, violations
from maar.embedded.schema.rules.fields import Fields

_LARGEST_ANNOTATIONS: Final = 256 << 10
_NAMELESS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})


def created(resource: Resource, meta: Fields) -> Iterator[Cause]:
    """The metadata of a new object."""
    if prefix := meta.get("generateName"):
        yield from violations("metadata.generateName", prefix, names.of_prefix(resource.kind, prefix))
    if name := meta.get("name"):
        yield from violations("metadata.name", name, names.of_object(resource.kind, name))
    elif resource.group not in _NAMELESS:
        yield required("metadata.name", "name or generateName is required")
    yield from _described(meta)


def updated(old: Fields, meta: Fields) -> Iterator[Cause]:
    """The metadata of an object that was there before."""
    if old == meta:
        return
    for field in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"):
        if old.get(field) != meta.get(field):
            yield invalid(f"metadata.{field}", meta.get(field), "field is immutable")
    new = [one for one in meta.get("finalizers") or () if one not in (old.get("finalizers") or ())]
    if new and "deletionTimestamp" in old:
        shown = ", ".join(f'"{one}"' for one in new)
        why = "no new finalizers can be added if the object is being deleted, found new finalizers"
        yield forbidden("metadata.finalizers", f"{why} []string{{{shown}}}")
    yield from _described(meta)


def labels(found: Mapping[str, str] | None, field: str) -> Iterator[Cause]:
    """Labels, wherever there are some."""
    if found:
        for key, text in found.items():
            if problems := names.qualified(key):
                yield from violations(field, key, problems)
            if problems := names.value(text):
                yield from violations(field, text, problems)


def annotations(found: Mapping[str, str] | None, field: str) -> Iterator[Cause]:
    """Annotations, wherever there are some."""
    if not found:
        return
    size = 0
    for key, text in found.items():
        size += len(key) + len(text)
        if problems := names.qualified(key.lower()):
            yield from violations(field, key, problems)
    if size > _LARGEST_ANNOTATIONS:
        yield too_long(field, _LARGEST_ANNOTATIONS)


def _described(meta: Fields) -> Iterator[Cause]:
    yield from labels(meta.get("labels"), "metadata.labels")
    yield from annotations(meta.get("annotations"), "metadata.annotations")
    if owners := meta.get("ownerReferences"):
        yield from _owners(owners)
    if finalizers := meta.get("finalizers"):
        for finalizer in finalizers:
            yield from violations("metadata.finalizers", finalizer, names.qualified(finalizer))
        if {"orphan", "foregroundDeletion"} <= set(finalizers):
            why = "finalizer orphan and foregroundDeletion cannot be both set"
            yield invalid("metadata.finalizers", finalizers, why)


def _owners(owners: Sequence[Fields]) -> Iterator[Cause]:
    field = "metadata.ownerReferences"
    for owner in owners:
        version = owner.get("apiVersion", "")
        if not version or version.count("/") > 1 or version.endswith("/"):
            yield invalid(f"{field}.apiVersion", version, "version must not be empty")
        for part in ("kind", "name", "uid"):
            if not owner.get(part):
                yield invalid(f"{field}.{part}", "", "must not be empty")
        if (version, owner.get("kind")) == ("v1", "Event"):
            yield invalid(field, owner, "/v1, Kind=Event is disallowed from being an owner")
    managing = [owner for owner in owners if owner.get("controller")]
    if len(managing) > 1:
        first, second = (f"{owner.get('kind')}/{owner.get('name')}" for owner in managing[:2])
        why = 'Only one reference can have Controller set to true. Found "true" in references for'
        yield invalid(field, owners, f"{why} {first} and {second}")
