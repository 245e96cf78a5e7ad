"""Rules for persistent volumes, claims and storage classes."""

from collections.abc import Iterator, Sequence
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import forbidden, invalid, required, unsupported, violations
from maar.embedded.schema.rules.fields import Fields, amount, canonical
from maar.embedded.schema.rules.pod_changes import difference
from maar.embedded.schema.rules.selectors import label_selector, node_selector

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_NO_SOURCES: Final = ("capacity", "claimRef", "nodeAffinity")
_OF_VOLUMES: Final = (
    ("persistentVolumeReclaimPolicy", ("Delete", "Recycle", "Retain")),
    ("volumeMode", ("Block", "Filesystem")),
)
_OF_CLASSES: Final = (
    ("reclaimPolicy", ("Delete", "Retain")),
    ("volumeBindingMode", ("Immediate", "WaitForFirstConsumer")),
)
_CLAIM_CHANGES: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound"
    " claims"
)
_MORE_THAN_NOTHING: Final = "must be greater than zero"


def volume(found: Fields) -> Iterator[Cause]:
    """A persistent volume, new or changed."""
    spec = found.get("spec") or {}
    yield from _access(spec.get("accessModes") or (), "")
    yield from _capacity(spec.get("capacity"))
    if not any(isinstance(one, dict) for key, one in spec.items() if key not in _NO_SOURCES):
        yield required("spec", "must specify a volume type")
    yield from _choices(spec, _OF_VOLUMES, "spec.")
    yield from _class_name(spec)
    if (affinity := spec.get("nodeAffinity")) is not None:
        if affinity.get("required") is None:
            yield required("spec.nodeAffinity.required", "must specify required node constraints")
        else:
            yield from node_selector(affinity["required"], "spec.nodeAffinity.required")
    elif spec.get("local"):
        yield required("spec.nodeAffinity", "Local volume requires node affinity")


def claim(found: Fields) -> Iterator[Cause]:
    """A claim, new or changed."""
    spec = found.get("spec") or {}
    yield from _access(spec.get("accessModes") or (), "at least 1 access mode is required")
    yield from label_selector(spec.get("selector"), "spec.selector")
    wanted = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if wanted is None:
        yield required("spec.resources[storage]")
    elif amount(wanted).nanos <= 0:
        yield invalid("spec.resources[storage]", canonical(wanted), _MORE_THAN_NOTHING)
    yield from _choices(spec, _OF_VOLUMES[1:], "spec.")
    yield from _class_name(spec)


def claim_updated(old: Fields, found: Fields) -> Iterator[Cause]:
    """A claim that is bound may ask for more room, and one that is not may be bound."""
    was, now = dict(old.get("spec") or {}), dict(found.get("spec") or {})
    if was.get("volumeName"):
        for spec in (was, now):
            spec["resources"] = {k: v for k, v in (spec.get("resources") or {}).items() if k != "requests"}
            spec.pop("volumeAttributesClassName", None)
    else:
        for spec in (was, now):
            spec.pop("volumeName", None)
    if was != now:
        yield forbidden("spec", f"{_CLAIM_CHANGES}\n{difference(was, now)}")


def storage_class(found: Fields) -> Iterator[Cause]:
    """A storage class, new or changed."""
    if not (provisioner := found.get("provisioner", "").lower()):
        yield required("provisioner")
    else:
        yield from violations("provisioner", provisioner, names.qualified(provisioner))
    yield from _choices(found, _OF_CLASSES, "")


def _access(modes: Sequence[str], why: str) -> Iterator[Cause]:
    if not modes:
        yield required("spec.accessModes", why)
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield unsupported("spec.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes")


def _capacity(capacity: Fields | None) -> Iterator[Cause]:
    if not capacity:
        yield required("spec.capacity")
    if set(capacity or ()) != {"storage"}:
        yield unsupported("spec.capacity", capacity, ("storage",))
    for name, value in (capacity or {}).items():
        nanos = amount(value).nanos
        if nanos < 0:
            message = f"Invalid value: {canonical(value)}: must be a valid resource quantity"
            yield Cause(f"spec.capacity[{name}]", "FieldValueInvalid", message)
        if nanos <= 0:
            yield invalid(f"spec.capacity[{name}]", canonical(value), _MORE_THAN_NOTHING)


def _choices(found: Fields, choices: Sequence[tuple[str, Sequence[str]]], path: str) -> Iterator[Cause]:
    for key, supported in choices:
        if (chosen := found.get(key)) and chosen not in supported:
            yield unsupported(f"{path}{key}", chosen, supported)


def _class_name(spec: Fields) -> Iterator[Cause]:
    if name := spec.get("storageClassName"):
        yield from violations("spec.storageClassName", name, names.subdomain(name))
