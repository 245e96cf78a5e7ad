"""Rules for the environment variables of a container."""

from collections.abc import Iterator
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.words import invalid, judged, required, unsupported

_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_FIELDS: Final = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
_RESOURCES: Final = tuple(
    f"{side}.{resource}"
    for side in ("limits", "requests")
    for resource in ("cpu", "ephemeral-storage", "memory")
)


def environment(container: Fields, field: str) -> Iterator[Cause]:
    """The variables that a container is given one by one, and those by the handful."""
    for place, one in enumerate(container.get("env") or ()):
        if not (name := one.get("name")):
            yield required(f"{field}.env[{place}].name")
        elif problems := names.variable(name):
            yield from judged(f"{field}.env[{place}].name", name, problems)
        if (source := one.get("valueFrom")) is not None:
            yield from _source(source, one.get("value"), f"{field}.env[{place}].valueFrom")
    for place, one in enumerate(container.get("envFrom") or ()):
        path = f"{field}.envFrom[{place}]"
        if prefix := one.get("prefix"):
            yield from judged(f"{path}.prefix", prefix, names.variable(prefix))
        kinds = [kind for kind in ("configMapRef", "secretRef") if one.get(kind) is not None]
        if len(kinds) != 1:
            yield invalid(f"{field}.envFrom", "", "must specify one of: `configMapRef` or `secretRef`")
        for kind in kinds:
            if not (name := one[kind].get("name")):
                yield required(f"{path}.{kind}.name")
            else:
                yield from judged(f"{path}.{kind}.name", name, names.subdomain(name))


def _source(source: Fields, value: str | None, field: str) -> Iterator[Cause]:
    kinds = [kind for kind in _SOURCES if source.get(kind) is not None]
    if not kinds:
        known = ", ".join(f"`{kind}`" for kind in _SOURCES[:-1])
        yield invalid(field, "", f"must specify one of: {known} or `{_SOURCES[-1]}`")
    elif value:
        yield invalid(field, "", "may not be specified when `value` is not empty")
    if len(kinds) > 1:
        yield invalid(field, "", "may not have more than one field specified at a time")
    for kind in kinds:
        found, path = source[kind], f"{field}.{kind}"
        if kind == "fieldRef":
            yield from _field(found.get("fieldPath", ""), f"{path}.fieldPath")
        elif kind == "resourceFieldRef":
            yield from _resource(found.get("resource", ""), f"{path}.resource")
        elif kind in ("configMapKeyRef", "secretKeyRef"):
            yield from judged(f"{path}.name", found.get("name", ""), names.subdomain(found.get("name", "")))
            if not (key := found.get("key")):
                yield required(f"{path}.key")
            else:
                yield from judged(f"{path}.key", key, names.config_key(key))


def _field(path: str, field: str) -> Iterator[Cause]:
    if not path:
        yield required(field)
    elif path not in _FIELDS and not path.startswith(("metadata.labels['", "metadata.annotations['")):
        yield invalid(field, path, f"error converting fieldPath: field label not supported: {path}")


def _resource(resource: str, field: str) -> Iterator[Cause]:
    if not resource:
        yield required(field)
    elif resource not in _RESOURCES and ".hugepages-" not in resource:
        yield unsupported(field, resource, _RESOURCES)
