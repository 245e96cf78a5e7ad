"""Namespaces are furnished when they come and emptied before they go."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from maar.embedded.calls import Deletion, metadata, section
from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError, Json
from maar.embedded.keepers.keeper import Seen, Visit, meta_of
from maar.embedded.kinds.namespaces import FINALIZER
from maar.embedded.kinds.parts import part, saying, words
from maar.embedded.store import Key

_NAMESPACES: Final = "namespaces"
_SETTLE_S: Final = 0.05  # many objects go at the same time: one look for all of them


class NamespaceKeeper:
    """Gives each namespace what its pods expect there, and takes everything out of one that is to go."""

    def __init__(self, cluster: Cluster, authority: str) -> None:
        self._cluster = cluster
        self._going: set[str] = set()
        self._furniture: tuple[tuple[str, Json], ...] = (
            ("serviceaccounts", {"metadata": {"name": "default"}}),
            ("configmaps", {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": authority}}),
        )
        deletable = {
            plural
            for plural, one in cluster.served.items()
            if one.resource.namespaced and "delete" in one.resource.verbs
        }
        # Pods first, and what they use once they have ended.
        self._plurals = ["pods", *sorted(deletable - {"pods"})]

    def hear(self, seen: Seen) -> Iterable[Visit]:
        """Come back for namespaces, and for one that has lost what it should have, or what it must lose."""
        key = seen.key
        if key.resource == _NAMESPACES:
            if seen.meta.is_going and not seen.is_gone:
                self._going.add(key.name)
            else:
                self._going.discard(key.name)
            return (Visit(key),)
        if seen.is_gone and (key.namespace in self._going or self._is_furniture(key)):
            return (Visit(Key(_NAMESPACES, "", key.namespace), _SETTLE_S),)
        return ()

    def look(self, key: Key) -> Iterator[Visit | None]:
        """Furnish a namespace, or empty it."""
        body = self._cluster.store.get(key)
        if body is None:
            return
        if not meta_of(body).is_going:
            self._furnish(key.name)
        elif FINALIZER in words(part(self._cluster.read(*key) or {}, "spec"), "finalizers"):
            yield from self._empty(key)

    def _is_furniture(self, key: Key) -> bool:
        return any(
            key.resource == plural and key.name == metadata(value)["name"]
            for plural, value in self._furniture
        )

    def _furnish(self, namespace: str) -> None:
        for plural, value in self._furniture:
            name = str(metadata(value)["name"])
            if self._cluster.read(plural, namespace, name) is None:
                self._cluster.create(plural, namespace, {**value, "metadata": {"name": name}})

    def _empty(self, key: Key) -> Iterator[None]:
        remaining, finalizers = Counter[str](), Counter[str]()
        refusal: ApiError | None = None
        for plural in self._plurals:
            for _, name, body in self._cluster.store.scan(plural, key.name):
                yield None
                meta = meta_of(body)
                how = Deletion(propagation="Background", uid=meta.uid)
                try:
                    gone = not meta.is_going and self._cluster.delete(plural, key.name, name, how)[1]
                except ApiError as error:
                    gone, refusal = False, error
                if not gone:
                    remaining[plural] += 1
                    finalizers.update(meta.finalizers or ())
            if remaining["pods"]:
                break
        if remaining:
            self._explain(key, remaining, finalizers)
        else:
            self._cluster.change(*key, _finalized, "finalize")
        if refusal is not None:
            raise refusal

    def _explain(self, key: Key, remaining: Counter[str], finalizers: Counter[str]) -> None:
        """Say in the status what the namespace is waiting for."""
        told = ", ".join(f"{plural} has {number} resource instances" for plural, number in remaining.items())
        held = ", ".join(f"{one} in {number} resource instances" for one, number in finalizers.items())
        statements: tuple[Json, ...] = (
            {
                "type": "NamespaceContentRemaining",
                "status": "True",
                "reason": "SomeResourcesRemain",
                "message": f"Some resources are remaining: {told}",
            },
            {
                "type": "NamespaceFinalizersRemaining",
                "status": "True" if held else "False",
                "reason": "SomeFinalizersRemain" if held else "ContentHasNoFinalizers",
                "message": f"Some content in the namespace has finalizers remaining: {held}"
                if held
                else "All content-preserving finalizers finished",
            },
        )

        def explained(value: Json) -> Json:
            status = part(value, "status")
            for statement in statements:
                status = saying(status, statement, self._cluster.now())
            return {**value, "status": status}

        self._cluster.rewrite(*key, explained)


def _finalized(value: Json) -> Json:
    spec = section(value, "spec")
    spec["finalizers"] = [one for one in words(spec, "finalizers") if one != FINALIZER]
    return value
