"""Garbage collection: deletes objects without owners, by the propagation policy of the owner's deletion."""

from collections.abc import Collection, Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Final

from maar.core.model.kinds import metadata_of
from maar.core.model.metadata import Metadata, OwnerReference
from maar.embedded.calls import Deletion, Propagation, metadata
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.view import (
    EmbeddedController,
    ObjectChanged,
    Reconciled,
    View,
    Write,
    waits_for_dependents,
)
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import parts, words
from maar.embedded.lifecycle import FOREGROUND, ORPHAN
from maar.embedded.store import Key

_AT_ONCE: Final = 100  # dependents that are written before other keys have their turn
_NONE: Final = frozenset[Key]()


class GarbageCollector(EmbeddedController):
    """Keys are those of objects with owners or dependents."""

    def keys(self, change: ObjectChanged, cluster: View) -> Iterator[Key]:
        """An object whose owners have changed, and owners or dependents that may have to go."""
        key, related = change.key, cluster.dependents
        before = change.before.owner_references if change.before is not None else ()
        owners = change.after.owner_references if change.after is not None else ()
        if before != owners:
            for owner in before:  # it may have been the last that the owner waits for
                owner_key = related.owner_key(owner, key.namespace)
                if owner_key in related.in_foreground and not related.blocking.get(owner.uid):
                    yield owner_key
        if change.after is None:
            yield from related.by_owner.get(change.before.uid, _NONE) if change.before is not None else ()
        elif before != owners or (change.after.deletion_timestamp is not None and change.after.finalizers):
            yield key

    def reconcile(self, cluster: View, keys: Collection[Key], now: datetime) -> Reconciled:
        """Delete an object whose owners are gone, and an owner whose dependents are."""
        for key in keys:
            body = cluster.cluster.store.get(key)
            meta = None if body is None else metadata_of(body)
            if meta is None:
                continue
            if meta.deletion_timestamp is None:
                yield from ((key, write) for write in _after_owners(cluster, key, meta))
            elif ORPHAN in meta.finalizers:
                dependents = tuple(islice(cluster.dependents.by_owner.get(meta.uid, _NONE), _AT_ONCE))
                for dependent in dependents:
                    yield key, partial(_disown, cluster.cluster, dependent, {meta.uid})
                yield key, now if dependents else partial(_finish, cluster.cluster, key, ORPHAN)
            elif FOREGROUND in meta.finalizers:
                blocking = cluster.dependents.blocking.get(meta.uid, _NONE)
                for dependent in blocking - cluster.dependents.in_foreground:
                    yield dependent, now
                if not blocking:
                    yield key, partial(_finish, cluster.cluster, key, FOREGROUND)


def _after_owners(view: View, key: Key, meta: Metadata) -> Iterator[Write]:
    """Delete what has no owner left; one that waits for its dependents does not count."""
    there = {owner.uid: _find(view, owner, key) for owner in meta.owner_references}
    lost = {uid for uid, owner in there.items() if owner is None or waits_for_dependents(owner)}
    if not lost:
        return
    if len(lost) < len(there):
        yield partial(_disown, view.cluster, key, lost)
        return
    how: Propagation = "Background"
    dependents = view.dependents.by_owner.get(meta.uid)
    if dependents and any(owner is not None for owner in there.values()):
        if not dependents.isdisjoint(view.dependents.in_foreground):
            yield partial(_unblock, view.cluster, key)  # a circle would wait for itself
        how = "Foreground"
    elif ORPHAN in meta.finalizers:
        how = "Orphan"
    elif FOREGROUND in meta.finalizers:
        how = "Foreground"
    yield partial(view.cluster.delete, *key, Deletion(propagation=how, uid=meta.uid))


def _find(view: View, owner: OwnerReference, dependent: Key) -> Metadata | None:
    """The owner, None where it is absent; one of a kind that is not served here counts as there."""
    key = view.dependents.owner_key(owner, dependent.namespace)
    if key is None:
        return Metadata(uid=owner.uid)
    body = view.cluster.store.get(key)
    meta = None if body is None else metadata_of(body)
    return meta if meta is not None and meta.uid == owner.uid else None


def _disown(cluster: Cluster, key: Key, uids: set[str]) -> None:
    def disowned(value: Json) -> Json:
        meta = dict(metadata(value))
        kept = [owner for owner in parts(meta, "ownerReferences") if owner.get("uid") not in uids]
        meta["ownerReferences"] = kept
        if not kept:
            del meta["ownerReferences"]
        return {**value, "metadata": meta}

    if cluster.store.get(key) is not None:
        cluster.rewrite(*key, disowned)


def _unblock(cluster: Cluster, key: Key) -> None:
    def unblocked(value: Json) -> Json:
        owners = parts(metadata(value), "ownerReferences")
        free = [{**owner, "blockOwnerDeletion": False} for owner in owners]
        return {**value, "metadata": {**metadata(value), "ownerReferences": free}}

    cluster.rewrite(*key, unblocked)


def _finish(cluster: Cluster, key: Key, finalizer: str) -> None:
    def finished(value: Json) -> Json:
        meta = metadata(value)
        meta["finalizers"] = [name for name in words(meta, "finalizers") if name != finalizer]
        return value

    cluster.change(*key, finished)
