"""A new namespace gets its default objects, and one that is deleted is emptied first."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from maar.embedded.calls import Deletion, metadata, section
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.controller import Observed, WorkItem, meta_of
from maar.embedded.failures import ApiError, Json
from maar.embedded.kinds.namespaces import FINALIZER
from maar.embedded.kinds.parts import part, with_condition, words
from maar.embedded.store import Key

_NAMESPACES: Final = "namespaces"
_SETTLE_S: Final = 0.05  # many objects go at the same time: one reconcile for all of them


class NamespaceController:
    """Creates what pods expect in a namespace, and deletes everything in one that is deleted."""

    def __init__(self, cluster: Cluster, authority: str) -> None:
        self._cluster = cluster
        self._terminating: set[str] = set()
        self._defaults: tuple[tuple[str, Json], ...] = (
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

    def observe(self, observed: Observed) -> Iterable[WorkItem]:
        """Come back for namespaces, and for one that has lost what it should have, or what it must lose."""
        key = observed.key
        if key.resource == _NAMESPACES:
            if observed.meta.is_terminating and not observed.is_gone:
                self._terminating.add(key.name)
            else:
                self._terminating.discard(key.name)
            return (WorkItem(key),)
        if observed.is_gone and (key.namespace in self._terminating or self._is_default(key)):
            return (WorkItem(Key(_NAMESPACES, "", key.namespace), _SETTLE_S),)
        return ()

    def reconcile(self, key: Key) -> Iterator[WorkItem | None]:
        """Create the default objects of a namespace, or empty it."""
        body = self._cluster.store.get(key)
        if body is None:
            return
        if not meta_of(body).is_terminating:
            self._create_defaults(key.name)
        elif FINALIZER in words(part(self._cluster.read(*key) or {}, "spec"), "finalizers"):
            yield from self._empty(key)

    def _is_default(self, key: Key) -> bool:
        return any(
            key.resource == plural and key.name == metadata(value)["name"] for plural, value in self._defaults
        )

    def _create_defaults(self, namespace: str) -> None:
        for plural, value in self._defaults:
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
                    gone = not meta.is_terminating and self._cluster.delete(plural, key.name, name, how)[1]
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
        listed = ", ".join(
            f"{plural} has {number} resource instances" for plural, number in remaining.items()
        )
        held = ", ".join(f"{one} in {number} resource instances" for one, number in finalizers.items())
        statements: tuple[Json, ...] = (
            {
                "type": "NamespaceContentRemaining",
                "status": "True",
                "reason": "SomeResourcesRemain",
                "message": f"Some resources are remaining: {listed}",
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
                status = with_condition(status, statement, self._cluster.now())
            return {**value, "status": status}

        self._cluster.rewrite(*key, explained)


def _finalized(value: Json) -> Json:
    spec = section(value, "spec")
    spec["finalizers"] = [one for one in words(spec, "finalizers") if one != FINALIZER]
    return value
