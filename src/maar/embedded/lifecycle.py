"""The metadata that an API server sets: names, versions, generations, and the marks of a deletion."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, cast

from maar.embedded.calls import Deletion, metadata, text
from maar.embedded.failures import Json, bad_request, conflict, too_large
from maar.embedded.resources import Resource

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_LARGEST_OBJECT: Final = 3 << 19  # bytes; etcd takes no larger request

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: no words
_LONGEST_PREFIX: Final = 58
_DECIDED_HERE: Final = (
    "uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds",
)  # fmt: skip


@lru_cache(maxsize=8)
def time_text(seconds: float) -> str:
    """A time as objects write it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def stamp_new(meta: Json, plural: str, now: str) -> str:
    """Give a new object what the server decides, and a name where it asks for one."""
    if not (name := text(meta, "name")):
        if not (prefix := text(meta, "generateName")):
            raise bad_request(f"{plural}: name or generateName is required")
        name = meta["name"] = prefix[:_LONGEST_PREFIX] + _suffix()
    for field in ("resourceVersion", *_DECIDED_HERE, "selfLink"):
        meta.pop(field, None)
    meta["uid"] = str(uuid.uuid4())
    meta["creationTimestamp"] = now
    meta["generation"] = 1
    return name


def carried_over(resource: Resource, old: Json, new: Json, subresource: str) -> Json:
    """A changed object with what this request may not change as it was."""
    name = text(metadata(old), "name")
    if text(metadata(new), "resourceVersion") not in ("", text(metadata(old), "resourceVersion")):
        raise conflict(
            resource.qualified,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    if (uid := text(metadata(new), "uid")) not in ("", text(metadata(old), "uid")):
        raise conflict(
            resource.qualified,
            name,
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {metadata(old)['uid']}",
        )
    if subresource == "status":
        value = {**old, "metadata": _status_metadata(old, new)}
        value.pop("status", None)
        if "status" in new:
            value["status"] = new["status"]
        return value
    value = dict(new)
    meta = value["metadata"] = dict(metadata(new))
    before = metadata(old)
    for field in (*_DECIDED_HERE, "resourceVersion", "name", "namespace"):
        meta.pop(field, None)
        if field in before:
            meta[field] = before[field]
    if "managedFields" not in meta and "managedFields" in before:
        meta["managedFields"] = before["managedFields"]
    if "status" in resource.subresources:
        value.pop("status", None)
        if "status" in old:
            value["status"] = old["status"]
    return value


def count_generation(old: Json, value: Json) -> None:
    """Count a generation where what is wanted of the object has changed."""
    fields = {*old, *value} - {"metadata", "status"}
    if any(old.get(field) != value.get(field) for field in fields):
        meta = metadata(value)
        generation = meta.get("generation")
        meta["generation"] = (generation if isinstance(generation, int) else 0) + 1


def deletion_of(options: Json) -> Deletion:
    """Read DeleteOptions."""
    grace, propagation = options.get("gracePeriodSeconds"), options.get("propagationPolicy")
    if propagation is None and options.get("orphanDependents") is True:
        propagation = "Orphan"
    if propagation not in (None, "Background", "Foreground", "Orphan"):
        raise bad_request(
            f'invalid propagationPolicy "{propagation}": must be Background, Foreground or Orphan'
        )
    if grace is not None and (type(grace) is not int or grace < 0):
        raise bad_request(
            f"invalid gracePeriodSeconds {grace!r}: must be a whole number of seconds, 0 or more"
        )
    wanted = options.get("preconditions")
    only = cast(Json, wanted) if isinstance(wanted, dict) else {}
    return Deletion(grace, propagation, text(only, "uid"), text(only, "resourceVersion"))


def check_preconditions(plural: str, name: str, meta: Json, how: Deletion) -> None:
    """Refuse to delete an object that is not the one meant."""
    for word, wanted, found in (
        ("UID", how.uid, text(meta, "uid")),
        ("ResourceVersion", how.resource_version, text(meta, "resourceVersion")),
    ):
        if wanted and wanted != found:
            raise conflict(
                plural,
                name,
                f"Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {found}",
            )


def begin_deletion(meta: Json, how: Deletion, grace: int, now: float) -> None:
    """Mark an object as being deleted; a second request can only shorten its grace."""
    finalizers = [
        one for one in cast(Sequence[str], meta.get("finalizers") or ()) if one not in (FOREGROUND, ORPHAN)
    ]
    if how.propagation == "Foreground":
        finalizers.append(FOREGROUND)
    elif how.propagation == "Orphan":
        finalizers.append(ORPHAN)
    elif how.propagation is None:
        finalizers = list(cast(Sequence[str], meta.get("finalizers") or ()))
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    remaining = meta.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" not in meta or (isinstance(remaining, int) and grace < remaining):
        meta["deletionTimestamp"] = time_text(int(now + grace))
        meta["deletionGracePeriodSeconds"] = grace


def _status_metadata(old: Json, new: Json) -> Json:
    """A write of the status leaves the metadata alone, but for who manages which field."""
    meta = dict(metadata(old))
    if "managedFields" in metadata(new):
        meta["managedFields"] = metadata(new)["managedFields"]
    return meta


def _suffix() -> str:
    number, letters = uuid.uuid4().int, ""
    for _ in range(5):
        number, letter = divmod(number, len(_LETTERS))
        letters += _LETTERS[letter]
    return letters


def bounded(body: bytes) -> bytes:
    """Refuse an object that etcd would not take from a real API server."""
    if len(body) > _LARGEST_OBJECT:
        raise too_large(f"the object has {len(body)} bytes, the limit is {_LARGEST_OBJECT}")
    return body
