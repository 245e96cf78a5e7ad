"""Garbage collection: deletes objects without owners, by the propagation policy of the owner's deletion."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from maar.embedded.calls import Deletion, Propagation, metadata
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.controller import Meta, Observed, Owner, WorkItem, meta_of
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import parts, words
from maar.embedded.lifecycle import FOREGROUND, ORPHAN
from maar.embedded.store import Key

_AT_ONCE: Final = 100  # dependents that are written before other work has its turn
_NONE: Final = frozenset[Key]()


class GarbageCollector:
    """Knows from the changes which owner each object has; whether that exists is always looked up."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._owners: dict[Key, tuple[Owner, ...]] = {}
        self._dependents: dict[str, set[Key]] = {}  # by the uid of the owner
        self._blocking: dict[str, set[Key]] = {}  # those that an owner deleted in the foreground waits for
        self._in_foreground: set[Key] = set()
        self._plurals = {
            (one.resource.group, one.resource.kind): plural for plural, one in cluster.served.items()
        }

    def observe(self, observed: Observed) -> Iterable[WorkItem]:
        """Learn which owners the object has."""
        key, meta = observed.key, observed.meta
        before, owners = self._owners.get(key, ()), () if observed.is_gone else meta.owners
        if before != owners:
            self._relate(key, before, owners)
            for owner in before:  # it may have been the last that the owner waits for
                place = self._place(owner, key.namespace)
                if place in self._in_foreground and not self._blocking.get(owner.uid):
                    yield WorkItem(place)
        if observed.is_gone:
            self._in_foreground.discard(key)
            yield from map(WorkItem, self._dependents.get(meta.uid, _NONE))
            return
        if _waits(meta):
            self._in_foreground.add(key)
        if before != owners or (meta.is_terminating and meta.finalizers):
            yield WorkItem(key)

    def reconcile(self, key: Key) -> Iterator[WorkItem | None]:
        """Delete an object whose owners are gone, and an owner whose dependents are."""
        body = self._cluster.store.get(key)
        if body is None:
            return
        meta = meta_of(body)
        if not meta.is_terminating:
            self._check_owners(key, meta)
        elif ORPHAN in (meta.finalizers or ()):
            yield from self._orphan(key, meta)
        elif FOREGROUND in (meta.finalizers or ()):
            if blocking := self._blocking.get(meta.uid):
                yield from map(WorkItem, blocking - self._in_foreground)
            else:
                self._finish(key, FOREGROUND)

    def _check_owners(self, key: Key, meta: Meta) -> None:
        """Delete what has no owner left; one that waits for its dependents does not count."""
        found = [(owner, self._find(owner, key)) for owner in meta.owners]
        lost = {owner.uid for owner, there in found if there is None or _waits(there)}
        if not lost:
            return
        if any(owner.uid not in lost for owner in meta.owners):
            self._disown(key, lost)
            return
        how: Propagation = "Background"
        dependents = self._dependents.get(meta.uid)
        if dependents and any(there is not None for _, there in found):
            if not dependents.isdisjoint(self._in_foreground):
                self._unblock(key)  # a circle would wait for itself
            how = "Foreground"
        elif ORPHAN in (meta.finalizers or ()):
            how = "Orphan"
        elif FOREGROUND in (meta.finalizers or ()):
            how = "Foreground"
        self._cluster.delete(*key, Deletion(propagation=how, uid=meta.uid))

    def _orphan(self, key: Key, meta: Meta) -> Iterator[WorkItem | None]:
        dependents = self._dependents.get(meta.uid)
        if not dependents:
            self._finish(key, ORPHAN)
            return
        for dependent in tuple(islice(dependents, _AT_ONCE)):
            if self._cluster.store.get(dependent) is not None:
                self._disown(dependent, {meta.uid})
            yield None
        yield WorkItem(key)

    def _find(self, owner: Owner, dependent: Key) -> Meta | None:
        """The owner, None where it is absent; one of a kind that is not served here counts as there."""
        place = self._place(owner, dependent.namespace)
        if place is None:
            return Meta(uid=owner.uid)
        body = self._cluster.store.get(place)
        meta = None if body is None else meta_of(body)
        return meta if meta is not None and meta.uid == owner.uid else None

    def _place(self, owner: Owner, namespace: str) -> Key | None:
        group = owner.api_version.rpartition("/")[0]
        plural = self._plurals.get((group, owner.kind))
        if plural is None or (self._cluster.served[plural].resource.namespaced and not namespace):
            return None
        return self._cluster.key(plural, namespace, owner.name)

    def _relate(self, key: Key, before: tuple[Owner, ...], owners: tuple[Owner, ...]) -> None:
        for owner in before:
            _leave(self._dependents, owner.uid, key)
            _leave(self._blocking, owner.uid, key)
        for owner in owners:
            self._dependents.setdefault(owner.uid, set()).add(key)
            if owner.block_owner_deletion:
                self._blocking.setdefault(owner.uid, set()).add(key)
        if owners:
            self._owners[key] = owners
        else:
            self._owners.pop(key, None)

    def _disown(self, key: Key, uids: set[str]) -> None:
        def disowned(value: Json) -> Json:
            meta = dict(metadata(value))
            kept = [one for one in parts(meta, "ownerReferences") if one.get("uid") not in uids]
            meta["ownerReferences"] = kept
            if not kept:
                del meta["ownerReferences"]
            return {**value, "metadata": meta}

        self._cluster.rewrite(*key, disowned)

    def _unblock(self, key: Key) -> None:
        def unblocked(value: Json) -> Json:
            owners = parts(metadata(value), "ownerReferences")
            free = [{**owner, "blockOwnerDeletion": False} for owner in owners]
            return {**value, "metadata": {**metadata(value), "ownerReferences": free}}

        self._cluster.rewrite(*key, unblocked)

    def _finish(self, key: Key, finalizer: str) -> None:
        def finished(value: Json) -> Json:
            meta = metadata(value)
            meta["finalizers"] = [one for one in words(meta, "finalizers") if one != finalizer]
            return value

        self._cluster.change(*key, finished)


def _waits(meta: Meta) -> bool:
    return meta.is_terminating and FOREGROUND in (meta.finalizers or ())


def _leave(index: dict[str, set[Key]], uid: str, key: Key) -> None:
    if found := index.get(uid):
        found.discard(key)
        if not found:
            del index[uid]
