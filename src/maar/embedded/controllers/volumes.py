"""Claims get volumes: one that they name, one that fits, or one made for them."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from maar.core.model.metadata import LabelSelector
from maar.core.model.volume import SELECTED_NODE_ANNOTATION
from maar.core.policy.selectors import match_selector
from maar.embedded.calls import metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.controller import Observed, WorkItem
from maar.embedded.failures import Json
from maar.embedded.kinds.amounts import quantity
from maar.embedded.kinds.parts import labels, part, words
from maar.embedded.kinds.usage import CLAIMS, CLASSES, VOLUMES
from maar.embedded.store import Key


class Offer(NamedTuple):
    """A volume that is not bound yet."""

    capacity: int
    access_modes: frozenset[str]
    mode: str
    labels: dict[str, str]
    reserved_for: tuple[str, str] | None  # the namespace and name of the claim that may have it

    def is_open_to(self, claim: Key) -> bool:
        """Whether no other claim has it reserved."""
        return self.reserved_for in (None, (claim.namespace, claim.name))


def offer_of(volume: Json) -> Offer:
    """What a volume offers."""
    spec = part(volume, "spec")
    reference = part(spec, "claimRef")
    return Offer(
        quantity(part(spec, "capacity").get("storage")).nanos,
        frozenset(words(spec, "accessModes")),
        text(spec, "volumeMode") or "Filesystem",
        dict(labels(volume)),
        (text(reference, "namespace"), text(reference, "name")) if reference else None,
    )


def fits(offer: Offer, claim: Json) -> bool:
    """Whether a volume is large enough and of the kind that a claim asks for."""
    spec = part(claim, "spec")
    asked = quantity(part(spec, "resources", "requests").get("storage")).nanos
    selector = spec.get("selector")
    return (
        offer.capacity >= asked
        and offer.access_modes.issuperset(words(spec, "accessModes"))
        and offer.mode == (text(spec, "volumeMode") or "Filesystem")
        and (selector is None or match_selector(msgspec.convert(selector, LabelSelector), offer.labels))
    )


PROVISIONER: Final = "maar.sh/virtual"

_MADE_BY: Final = "pv.kubernetes.io/provisioned-by"
_HOST_LABEL: Final = "kubernetes.io/hostname"
_DRIVER: Final = "maar.sh"  # of volumes that nothing is behind
_SETTLE_S: Final = 0.02  # volumes come together: one reconcile for all of them


class VolumeController:
    """Binds claims and volumes to each other, and frees volumes whose claims have gone."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._offers: dict[str, dict[str, Offer]] = {}  # free volumes by class and name
        self._waiting: dict[Key, str] = {}  # claims without a volume, and their classes

    def observe(self, observed: Observed) -> Iterable[WorkItem]:
        """Know what is free and who waits."""
        key = observed.key
        if key.resource == CLAIMS:
            if not observed.is_gone:
                return (WorkItem(key),)
            self._waiting.pop(key, None)
            volume = text(part(msgspec.json.decode(observed.body), "spec"), "volumeName")
            return (WorkItem(Key(VOLUMES, "", volume)),) if volume else ()
        if key.resource == CLASSES:
            return self._items(key.name)
        if key.resource != VOLUMES:
            return ()
        return self._observe_volume(observed)

    def reconcile(self, key: Key) -> Iterator[WorkItem | None]:
        """Find a claim its volume, or see to it that a volume says how things stand."""
        value = self._cluster.read(*key)
        if value is None:
            return
        yield None
        if key.resource == VOLUMES:
            self._settle(key, value)
        elif (volume := text(part(value, "spec"), "volumeName")) and self._is_bound(value):
            if self._cluster.read(VOLUMES, "", volume) is None:
                self._set_phase(key, "Lost")
        else:
            with self._cluster.store.transaction():
                if (found := self._find(key, value)) is not None:
                    self._attach(value, found)

    def _observe_volume(self, observed: Observed) -> list[WorkItem]:
        volume: Json = msgspec.json.decode(observed.body)
        spec, name = part(volume, "spec"), observed.key.name
        kind, reference = text(spec, "storageClassName"), part(spec, "claimRef")
        if observed.is_gone or text(reference, "uid"):
            self._offers.get(kind, {}).pop(name, None)
            items = [] if not observed.is_gone else self._items_for(reference)
        else:
            self._offers.setdefault(kind, {})[name] = offer_of(volume)
            items = [*self._items(kind), *self._items_for(reference)]
        return items if observed.is_gone else [WorkItem(observed.key), *items]

    def _items(self, kind: str) -> list[WorkItem]:
        return [WorkItem(claim, _SETTLE_S) for claim, wanted in self._waiting.items() if wanted == kind]

    def _items_for(self, reference: Json) -> list[WorkItem]:
        name = text(reference, "name")
        return [WorkItem(Key(CLAIMS, text(reference, "namespace"), name))] if name else []

    def _is_bound(self, claim: Json) -> bool:
        return part(claim, "status").get("phase") in ("Bound", "Lost")

    def _settle(self, key: Key, volume: Json) -> None:
        reference = part(volume, "spec", "claimRef")
        claim = self._cluster.read(CLAIMS, text(reference, "namespace"), text(reference, "name"))
        uid = text(reference, "uid")
        if not uid:
            self._set_phase(key, "Available")
        elif claim is not None and text(metadata(claim), "uid") == uid:
            if not text(part(claim, "spec"), "volumeName"):
                self._attach(claim, key.name)
            self._set_phase(key, "Bound")
        elif _is_disposable(volume):
            self._cluster.delete(*key)
        else:
            self._set_phase(key, "Released")

    def _set_phase(self, key: Key, phase: str) -> None:
        self._cluster.rewrite(*key, lambda value: _phased(value, phase))

    def _find(self, key: Key, claim: Json) -> str | None:
        """The volume for a claim, made if need be; None where the claim has to wait."""
        spec = part(claim, "spec")
        kind = self._waiting[key] = text(spec, "storageClassName")
        offers = self._offers.get(kind, {})
        if wanted := text(spec, "volumeName"):
            return wanted if wanted in offers and offers[wanted].is_open_to(key) else None
        for name, offer in offers.items():
            if offer.reserved_for == (key.namespace, key.name):
                return name
        storage_class = self._cluster.read(CLASSES, "", kind) or {}
        node = None
        if storage_class.get("volumeBindingMode") == "WaitForFirstConsumer":
            # As in Kubernetes, the scheduler of the consumer binds the claim to a volume that exists.
            selected = text(part(claim, "metadata", "annotations"), SELECTED_NODE_ANNOTATION)
            node = self._cluster.read("nodes", "", selected)
            if node is None:
                return None
        else:
            fitting = [
                (offer.capacity, name)
                for name, offer in offers.items()
                if offer.reserved_for is None and fits(offer, claim)
            ]
            if fitting:
                return min(fitting)[1]
        is_ours = storage_class.get("provisioner") == PROVISIONER
        return self._make(claim, storage_class, node) if is_ours else None

    def _make(self, claim: Json, storage_class: Json, node: Json | None) -> str:
        spec = part(claim, "spec")
        name = f"pvc-{text(metadata(claim), 'uid')}"
        made: Json = {
            "capacity": {"storage": part(spec, "resources", "requests").get("storage", "0")},
            "accessModes": spec.get("accessModes", []),
            "storageClassName": text(spec, "storageClassName"),
            "persistentVolumeReclaimPolicy": text(storage_class, "reclaimPolicy") or "Delete",
            "volumeMode": text(spec, "volumeMode") or "Filesystem",
            "csi": {"driver": _DRIVER, "volumeHandle": name},
            "claimRef": _reference(claim),
        }
        if node is not None:
            host = labels(node).get(_HOST_LABEL) or text(metadata(node), "name")
            here: Json = {"key": _HOST_LABEL, "operator": "In", "values": [host]}
            made["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}
        meta = {"name": name, "annotations": {_MADE_BY: PROVISIONER}}
        self._cluster.create(VOLUMES, "", {"metadata": meta, "spec": made})
        return name

    def _attach(self, claim: Json, name: str) -> None:
        """Bind both ends together or not at all."""
        reference = _reference(claim)
        key = Key(CLAIMS, text(reference, "namespace"), text(reference, "name"))
        offered = part(self._cluster.read(VOLUMES, "", name) or {}, "spec")
        got: Json = {what: offered[what] for what in ("accessModes", "capacity") if what in offered}

        def taken(volume: Json) -> Json:
            return _phased({**volume, "spec": {**part(volume, "spec"), "claimRef": reference}}, "Bound")

        def bound(value: Json) -> Json:
            meta = metadata(value)
            annotations = {**part(meta, "annotations"), "pv.kubernetes.io/bind-completed": "yes"}
            return {
                **value,
                "metadata": {**meta, "annotations": annotations},
                "spec": {**part(value, "spec"), "volumeName": name},
                "status": {**part(value, "status"), "phase": "Bound", **got},
            }

        with self._cluster.store.transaction():
            self._cluster.rewrite(VOLUMES, "", name, taken)
            self._cluster.rewrite(*key, bound)
        self._waiting.pop(key, None)


def _phased(value: Json, phase: str) -> Json:
    return {**value, "status": {**part(value, "status"), "phase": phase}}


def _is_disposable(volume: Json) -> bool:
    made_by = part(volume, "metadata", "annotations").get(_MADE_BY)
    return made_by == PROVISIONER and part(volume, "spec").get("persistentVolumeReclaimPolicy") == "Delete"


def _reference(claim: Json) -> Json:
    meta = metadata(claim)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": text(meta, "namespace"),
        "name": text(meta, "name"),
        "uid": text(meta, "uid"),
    }
