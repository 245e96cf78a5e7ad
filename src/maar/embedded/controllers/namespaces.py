"""A new namespace gets its default objects, and one that is deleted is emptied first."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final

from maar.core.model.kinds import metadata_of
from maar.core.model.metadata import Metadata
from maar.embedded.calls import Deletion, section
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.view import PODS, EmbeddedController, ObjectChanged, View, Wanted, Write
from maar.embedded.failures import ApiError, Json
from maar.embedded.kinds.namespaces import FINALIZER
from maar.embedded.kinds.parts import part, with_condition, words
from maar.embedded.store import Key

_NAMESPACES: Final = "namespaces"


class Namespaces(EmbeddedController):
    """Keys are those of namespaces; `authority` is the certificate that their pods should trust."""

    def __init__(self, authority: str) -> None:
        self._defaults: tuple[tuple[str, str, Json], ...] = (
            ("serviceaccounts", "default", {}),
            ("configmaps", "kube-root-ca.crt", {"data": {"ca.crt": authority}}),
        )

    def keys(self, change: ObjectChanged, cluster: View) -> Iterator[Key]:
        """A namespace, and one that has lost what it should have, or what it must lose."""
        plural, namespace, name = change.key
        if plural == _NAMESPACES:
            yield change.key
        elif change.after is None and namespace:
            key = Key(_NAMESPACES, "", namespace)
            is_default = (plural, name) in [default[:2] for default in self._defaults]
            if is_default or _is_terminating(cluster.cluster, key):
                yield key

    def wanted(self, cluster: View, key: Key, now: datetime) -> Wanted:
        """Create the default objects of a namespace, or empty it."""
        if (namespace := cluster.cluster.read(*key)) is None:
            return
        if not _is_terminating(cluster.cluster, key):
            yield from self._missing(cluster.cluster, key.name)
        elif FINALIZER in words(part(namespace, "spec"), "finalizers"):
            yield from _emptying(cluster.cluster, key)

    def _missing(self, cluster: Cluster, namespace: str) -> Iterator[Write]:
        for plural, name, value in self._defaults:
            if cluster.store.get(Key(plural, namespace, name)) is None:
                yield partial(cluster.create, plural, namespace, {"metadata": {"name": name}, **value})


def _is_terminating(cluster: Cluster, namespace: Key) -> bool:
    body = cluster.store.get(namespace)
    return body is not None and metadata_of(body).deletion_timestamp is not None


def _emptying(cluster: Cluster, key: Key) -> Iterator[Write]:
    """Delete everything in a namespace, pods first, and what they use once they have ended."""
    remaining, finalizers, refusals = Counter[str](), Counter[str](), list[ApiError]()
    deletable = {
        plural
        for plural, served in cluster.served.items()
        if served.resource.namespaced and "delete" in served.resource.verbs
    }
    for plural in (PODS, *sorted(deletable - {PODS})):
        for _, name, body in cluster.store.scan(plural, key.name):
            content = Key(plural, key.name, name)
            yield partial(_delete, cluster, content, metadata_of(body), refusals)
            if (left := cluster.store.get(content)) is not None:
                remaining[plural] += 1
                finalizers.update(metadata_of(left).finalizers)
        if remaining[PODS]:
            break
    if remaining:
        yield partial(_explain, cluster, key, remaining, finalizers)
    else:
        yield partial(cluster.change, *key, _finalized, "finalize")
    if refusals:
        raise refusals[-1]


def _delete(cluster: Cluster, key: Key, meta: Metadata, refusals: list[ApiError]) -> None:
    """Delete an object of a namespace; a refusal keeps no other from being deleted."""
    if meta.deletion_timestamp is None:
        try:
            cluster.delete(*key, Deletion(propagation="Background", uid=meta.uid))
        except ApiError as error:
            refusals.append(error)


def _explain(cluster: Cluster, key: Key, remaining: Counter[str], finalizers: Counter[str]) -> None:
    """Say in the status what the namespace is waiting for."""
    listed = ", ".join(f"{plural} has {number} resource instances" for plural, number in remaining.items())
    named = ", ".join(f"{name} in {number} resource instances" for name, number in finalizers.items())
    statements: tuple[Json, ...] = (
        {
            "type": "NamespaceContentRemaining",
            "status": "True",
            "reason": "SomeResourcesRemain",
            "message": f"Some resources are remaining: {listed}",
        },
        {
            "type": "NamespaceFinalizersRemaining",
            "status": "True" if named else "False",
            "reason": "SomeFinalizersRemain" if named else "ContentHasNoFinalizers",
            "message": f"Some content in the namespace has finalizers remaining: {named}"
            if named
            else "All content-preserving finalizers finished",
        },
    )

    def explained(value: Json) -> Json:
        status = part(value, "status")
        for statement in statements:
            status = with_condition(status, statement, cluster.now())
        return {**value, "status": status}

    cluster.rewrite(*key, explained)


def _finalized(value: Json) -> Json:
    spec = section(value, "spec")
    spec["finalizers"] = [name for name in words(spec, "finalizers") if name != FINALIZER]
    return value
