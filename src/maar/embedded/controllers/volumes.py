"""Claims get volumes: one that they name, one that fits, or one made for them."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from maar.core.model.metadata import LabelSelector
from maar.core.model.volume import SELECTED_NODE_ANNOTATION
from maar.core.policy.selectors import match_selector
from maar.embedded.calls import metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.view import (
    EmbeddedController,
    ObjectChanged,
    Offer,
    View,
    Wanted,
    Write,
    is_bound,
)
from maar.embedded.failures import Json
from maar.embedded.kinds.amounts import quantity
from maar.embedded.kinds.parts import labels, part, words
from maar.embedded.kinds.usage import CLAIMS, CLASSES, VOLUMES
from maar.embedded.store import Key

_PROVISIONER: Final = "maar.sh/virtual"

_MADE_BY: Final = "pv.kubernetes.io/provisioned-by"
_HOST_LABEL: Final = "kubernetes.io/hostname"
_DRIVER: Final = "maar.sh"  # of volumes that nothing is behind


class BoundVolumes(EmbeddedController):
    """Keys are those of claims, which get their volumes, and of volumes, which are freed after them."""

    def keys(self, change: ObjectChanged, cluster: View) -> Iterator[Key]:
        """A claim or a volume, the other end of it, and the claims that wait for such a volume."""
        key, waiting = change.key, cluster.volumes.waiting
        if key.resource == CLASSES:
            yield from (claim for claim, storage_class in waiting.items() if storage_class == key.name)
        elif key.resource == CLAIMS:
            if change.after is not None:
                yield key
            elif volume := text(part(msgspec.json.decode(change.body), "spec"), "volumeName"):
                yield Key(VOLUMES, "", volume)
        elif key.resource == VOLUMES:
            spec = part(msgspec.json.decode(change.body), "spec")
            reference, storage_class = part(spec, "claimRef"), text(spec, "storageClassName")
            if change.after is not None:
                yield key
            if key.name in cluster.volumes.offers.get(storage_class, {}):
                yield from (claim for claim, wanted in waiting.items() if wanted == storage_class)
            elif change.after is not None:
                return
            if name := text(reference, "name"):
                yield Key(CLAIMS, text(reference, "namespace"), name)

    def wanted(self, cluster: View, key: Key, now: datetime) -> Wanted:
        """Find a claim its volume, and see to it that a volume says how things stand."""
        if (value := cluster.cluster.read(*key)) is None:
            return
        if key.resource == VOLUMES:
            yield from _settled(cluster.cluster, key, value)
        elif not is_bound(value):
            yield from _bound(cluster, key, value)
        elif cluster.cluster.read(VOLUMES, "", text(part(value, "spec"), "volumeName")) is None:
            yield partial(_set_phase, cluster.cluster, key, "Lost")


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


def _settled(cluster: Cluster, key: Key, volume: Json) -> Iterator[Write]:
    """What a volume lacks to say how things stand."""
    reference = part(volume, "spec", "claimRef")
    claim = cluster.read(CLAIMS, text(reference, "namespace"), text(reference, "name"))
    uid = text(reference, "uid")
    if not uid:
        yield partial(_set_phase, cluster, key, "Available")
    elif claim is not None and text(metadata(claim), "uid") == uid:
        if not text(part(claim, "spec"), "volumeName"):
            yield partial(_attach, cluster, claim, key.name)
        yield partial(_set_phase, cluster, key, "Bound")
    elif _is_disposable(volume):
        yield partial(cluster.delete, *key)
    else:
        yield partial(_set_phase, cluster, key, "Released")


def _bound(view: View, key: Key, claim: Json) -> Iterator[Write]:
    """The volume for a claim, made if need be; nothing where the claim has to wait."""
    spec = part(claim, "spec")
    storage_class_name = text(spec, "storageClassName")
    offers = view.volumes.offers.get(storage_class_name, {})
    if wanted := text(spec, "volumeName"):
        if wanted in offers and offers[wanted].is_open_to(key):
            yield partial(_attach, view.cluster, claim, wanted)
        return
    reserved = [name for name, offer in offers.items() if offer.reserved_for == (key.namespace, key.name)]
    if reserved:
        yield partial(_attach, view.cluster, claim, reserved[0])
        return
    storage_class = view.cluster.read(CLASSES, "", storage_class_name) or {}
    node = None
    if storage_class.get("volumeBindingMode") == "WaitForFirstConsumer":
        # As in Kubernetes, the scheduler of the consumer binds the claim to a volume that exists.
        selected = text(part(claim, "metadata", "annotations"), SELECTED_NODE_ANNOTATION)
        node = view.cluster.read("nodes", "", selected)
        if node is None:
            return
    else:
        fitting = [
            (offer.capacity, name)
            for name, offer in offers.items()
            if offer.reserved_for is None and fits(offer, claim)
        ]
        if fitting:
            yield partial(_attach, view.cluster, claim, min(fitting)[1])
            return
    if storage_class.get("provisioner") == _PROVISIONER:
        made = _made(claim, storage_class, node)
        yield partial(_attach, view.cluster, claim, text(metadata(made), "name"), made)


def _set_phase(cluster: Cluster, key: Key, phase: str) -> None:
    cluster.rewrite(*key, lambda value: _phased(value, phase))


def _made(claim: Json, storage_class: Json, node: Json | None) -> Json:
    """A volume for a claim."""
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
    meta = {"name": name, "annotations": {_MADE_BY: _PROVISIONER}}
    return {"metadata": meta, "spec": made}


def _attach(cluster: Cluster, claim: Json, name: str, made: Json | None = None) -> None:
    """Bind both ends together or not at all, with the volume itself where it has to be made."""
    reference = _reference(claim)
    key = Key(CLAIMS, text(reference, "namespace"), text(reference, "name"))

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

    with cluster.store.transaction():
        if made is not None:
            cluster.create(VOLUMES, "", made)
        offered = part(cluster.read(VOLUMES, "", name) or {}, "spec")
        got: Json = {what: offered[what] for what in ("accessModes", "capacity") if what in offered}
        cluster.rewrite(VOLUMES, "", name, taken)
        cluster.rewrite(*key, bound)


def _phased(value: Json, phase: str) -> Json:
    return {**value, "status": {**part(value, "status"), "phase": phase}}


def _is_disposable(volume: Json) -> bool:
    made_by = part(volume, "metadata", "annotations").get(_MADE_BY)
    return made_by == _PROVISIONER and part(volume, "spec").get("persistentVolumeReclaimPolicy") == "Delete"


def _reference(claim: Json) -> Json:
    meta = metadata(claim)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": text(meta, "namespace"),
        "name": text(meta, "name"),
        "uid": text(meta, "uid"),
    }
