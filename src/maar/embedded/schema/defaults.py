"""What is filled in where fields are not set: of built-in kinds in code, of custom kinds by their schema."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from typing import Final, cast

from maar.embedded.failures import Json
from maar.embedded.resources import Resource
from maar.embedded.schema.decode import fits
from maar.embedded.schema.go_types import is_go
from maar.embedded.schema.pod_defaults import (
    canonical_amounts,
    default_claim_spec,
    default_pod,
    default_pod_spec,
)
from maar.embedded.schema.rules.fields import Fields, canonical, fill_unset
from maar.embedded.schema.types import Schema

_SESSION_SECONDS: Final = 3 * 60 * 60
_UNLIMITED: Final = 2**31 - 1
_EXPOSED: Final = ("NodePort", "LoadBalancer")


def default(resource: Resource, value: Json) -> None:
    """Fill in an object that has been read, in place."""
    if fill := _DEFAULTS.get(resource.qualified):
        fill(cast(Fields, value))


def _node(node: Fields) -> None:
    if status := node.get("status"):
        canonical_amounts(status.get("capacity"))
        if "allocatable" not in status and status.get("capacity"):
            status["allocatable"] = dict(status["capacity"])
        canonical_amounts(status.get("allocatable"))


def _secret(secret: Fields) -> None:
    fill_unset(secret, [("type", "Opaque")])
    if texts := secret.pop("stringData", None):
        data = secret.setdefault("data", {})
        for key, text in texts.items():
            data[key] = b64encode(text.encode()).decode()


def _service(service: Fields) -> None:
    spec = service.setdefault("spec", {})
    fill_unset(spec, [("type", "ClusterIP"), ("sessionAffinity", "None")])
    if spec["sessionAffinity"] == "ClientIP":
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", _SESSION_SECONDS)
    for port in spec.get("ports") or ():
        fill_unset(port, [("protocol", "TCP"), ("targetPort", port.get("port", 0))])
    if spec["type"] in _EXPOSED:
        fill_unset(spec, [("externalTrafficPolicy", "Cluster")])
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec["type"] != "ExternalName":
        fill_unset(spec, [("internalTrafficPolicy", "Cluster")])


def _quota(quota: Fields) -> None:
    canonical_amounts((quota.get("spec") or {}).get("hard"))


def _volume(volume: Fields) -> None:
    spec = volume.setdefault("spec", {})
    fill_unset(spec, [("persistentVolumeReclaimPolicy", "Retain"), ("volumeMode", "Filesystem")])
    canonical_amounts(spec.get("capacity"))
    if (path := spec.get("hostPath")) is not None:
        path.setdefault("type", "")


def _claim(claim: Fields) -> None:
    default_claim_spec(claim.setdefault("spec", {}))


def _template(spec: Fields) -> None:
    if (template := spec.get("template")) is not None:
        default_pod_spec(template.setdefault("spec", {}))


def _replica_set(found: Fields) -> None:
    spec = found.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    _template(spec)


def _stateful_set(found: Fields) -> None:
    spec = found.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("serviceName", "")
    fill_unset(spec, [("podManagementPolicy", "OrderedReady")])
    strategy = spec.setdefault("updateStrategy", {})
    fill_unset(strategy, [("type", "RollingUpdate")])
    if strategy["type"] == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    kept = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    fill_unset(kept, [("whenDeleted", "Retain"), ("whenScaled", "Retain")])
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("status", {"phase": "Pending"})
        _claim(claim)
    _template(spec)


def _job(found: Fields) -> None:
    spec = found.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _UNLIMITED if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    fill_unset(spec, [("completionMode", "NonIndexed")])
    policy = spec.get("podFailurePolicy") or {}
    fill_unset(spec, [("podReplacementPolicy", "Failed" if policy else "TerminatingOrFailed")])
    for rule in policy.get("rules") or ():
        for condition in rule.get("onPodConditions") or ():
            condition.setdefault("status", "True")
    _template(spec)


def _priority_class(found: Fields) -> None:
    fill_unset(found, [("preemptionPolicy", "PreemptLowerPriority")])
    found.setdefault("value", 0)


def _storage_class(found: Fields) -> None:
    fill_unset(found, [("reclaimPolicy", "Delete"), ("volumeBindingMode", "Immediate")])


_DEFAULTS: Final[dict[str, Callable[[Fields], None]]] = {
    "jobs.batch": _job,
    "nodes": _node,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "pods": default_pod,
    "priorityclasses.scheduling.k8s.io": _priority_class,
    "replicasets.apps": _replica_set,
    "resourcequotas": _quota,
    "secrets": _secret,
    "services": _service,
    "statefulsets.apps": _stateful_set,
    "storageclasses.storage.k8s.io": _storage_class,
}


def defaulted(schema: Schema, value: object) -> object:
    """The value, changed in place: with the defaults of its schema, and without nulls that are no values."""
    _fill(schema, value, nulls=not fits(schema, value))
    return value


def _fill(schema: Schema, value: object, *, nulls: bool) -> None:
    """Go where there may be something to do: nulls to take away, or defaults to fill in."""
    if is_go(schema) or not (nulls or _has_defaults(schema)):
        return
    if isinstance(value, list) and schema.items:
        for below in value:
            _fill(schema.items, below, nulls=nulls)
    elif isinstance(value, dict):
        for name, below in list(value.items()):
            if (field := schema.properties.get(name, schema.values)) is None:
                continue
            if below is None and not (field.nullable or is_go(field)):
                del value[name]
            else:
                _fill(field, below, nulls=nulls)
        for name, default in _defaults(schema):
            if name not in value:
                value[name] = deepcopy(default)


@cache
def _has_defaults(schema: Schema) -> bool:
    """Whether there is a default anywhere in a schema."""
    below = [one for one in (*schema.properties.values(), schema.items, schema.values) if one is not None]
    return schema.default is not None or any(not is_go(one) and _has_defaults(one) for one in below)


@cache
def _defaults(schema: Schema) -> tuple[tuple[str, object], ...]:
    """The defaults of the fields of an object, each with the defaults inside it."""
    return tuple(
        (name, defaulted(field, deepcopy(field.default)))
        for name, field in schema.properties.items()
        if field.default is not None
    )


def with_canonical_quantities(schema: Schema, value: object) -> object:
    """The value with every quantity in its canonical form; what cannot be read stays as it is."""
    if schema.format == "quantity":
        return canonical(value)
    if isinstance(value, Mapping):
        return {
            name: one if (below := _below(schema, name)) is None else with_canonical_quantities(below, one)
            for name, one in value.items()
        }
    if isinstance(value, list) and schema.items is not None:
        return [with_canonical_quantities(schema.items, one) for one in value]
    return value


def _below(schema: Schema, name: str) -> Schema | None:
    return schema.properties.get(name) or schema.values
