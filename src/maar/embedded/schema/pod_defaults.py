"""What Kubernetes fills into pods, and into the templates of pods, where a field is not set."""

from collections.abc import Iterable
from typing import Final

from maar.embedded.schema.rules.fields import Fields, canonical, fill_unset, in_thousandths

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_SPEC: Final = (
    ("restartPolicy", "Always"),
    ("dnsPolicy", "ClusterFirst"),
    ("schedulerName", "default-scheduler"),
)
_CONTAINER: Final = (
    ("terminationMessagePath", "/dev/termination-log"),
    ("terminationMessagePolicy", "File"),
)
_PORT: Final = (("protocol", "TCP"),)
_PROBE: Final = (
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
)
_REQUEST: Final = (("path", "/"), ("scheme", "HTTP"))
_READABLE: Final = 0o644
_TOLERATED_SECONDS: Final = 300
_TOLERATED: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_PROJECTED: Final = ("secret", "configMap", "downwardAPI", "projected")


def default_pod(pod: Fields) -> None:
    """Fill in a pod."""
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    if resources := spec.get("resources"):
        canonical_amounts(resources.get("limits"))
        canonical_amounts(resources.get("requests"))
        _requests(resources)
    for field_name in _CONTAINERS[:2]:
        for container in spec.get(field_name) or ():
            _requests(container["resources"])
    _tolerate(spec)


def default_pod_spec(spec: Fields) -> None:
    """Fill in what is wanted of a pod, also of pods that are still to be made."""
    fill_unset(spec, _SPEC)
    if spec.setdefault("terminationGracePeriodSeconds", 30) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("securityContext", {})
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for field_name in _CONTAINERS:
        for container in spec.get(field_name) or ():
            _container(container)
            if spec.get("hostNetwork"):
                for port in container.get("ports") or ():
                    port.setdefault("hostPort", port.get("containerPort", 0))
    if volumes := spec.get("volumes"):
        _volumes(volumes)
    if overhead := spec.get("overhead"):
        canonical_amounts(overhead)


def canonical_amounts(amounts: Fields | None) -> None:
    """Write quantities as Kubernetes does, whatever way they came."""
    if amounts:
        for name, value in amounts.items():
            amounts[name] = in_thousandths(value)


def _container(container: Fields) -> None:
    fill_unset(container, _CONTAINER)
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(container.get("image", ""))
    if (resources := container.get("resources")) is None:
        container["resources"] = {}
    elif resources:
        canonical_amounts(resources.get("limits"))
        canonical_amounts(resources.get("requests"))
    for port in container.get("ports") or ():
        fill_unset(port, _PORT)
    for variable in container.get("env") or ():
        if source := variable.get("valueFrom"):
            _source(source)
    _probes_and_hooks(container)


def _pull_policy(image: str) -> str:
    """An image without a tag, or with the tag latest, may change, and is pulled at every start."""
    name, at, _ = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "IfNotPresent" if (at and not tag) or tag not in ("", "latest") else "Always"


def _source(source: Fields) -> None:
    if field := source.get("fieldRef"):
        field.setdefault("apiVersion", "v1")
    if resource := source.get("resourceFieldRef"):
        resource["divisor"] = canonical(resource.get("divisor", "0"))


def _probes_and_hooks(container: Fields) -> None:
    for field_name in _PROBES:
        if (probe := container.get(field_name)) is not None:
            fill_unset(probe, _PROBE)
            _handler(probe)
    if lifecycle := container.get("lifecycle"):
        for moment in ("postStart", "preStop"):
            _handler(lifecycle.get(moment) or {})


def _handler(handler: Fields) -> None:
    if request := handler.get("httpGet"):
        fill_unset(request, _REQUEST)
    if call := handler.get("grpc"):
        call.setdefault("service", "")


def _volumes(volumes: Iterable[Fields]) -> None:
    for volume in volumes:
        if not any(isinstance(source, dict) for source in volume.values()):
            volume["emptyDir"] = {}
        for field_name in _PROJECTED:
            if (source := volume.get(field_name)) is not None:
                source.setdefault("defaultMode", _READABLE)
                _items(source)
        if (path := volume.get("hostPath")) is not None:
            path.setdefault("type", "")
        if (folder := volume.get("emptyDir")) and "sizeLimit" in folder:
            folder["sizeLimit"] = canonical(folder["sizeLimit"])
        if (image := volume.get("image")) is not None:
            fill_unset(image, [("pullPolicy", _pull_policy(image.get("reference", "")))])
        if claim := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
            claim.setdefault("metadata", {})
            default_claim_spec(claim.setdefault("spec", {}))


def default_claim_spec(spec: Fields) -> None:
    """Fill in what is wanted of a volume."""
    fill_unset(spec, [("volumeMode", "Filesystem")])
    for amounts in (spec.get("resources") or {}).values():
        canonical_amounts(amounts)


def _items(source: Fields) -> None:
    for item in source.get("items") or ():
        _source(item)
    for one in source.get("sources") or ():
        if (token := one.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", 3600)
        for item in (one.get("downwardAPI") or {}).get("items") or ():
            _source(item)


def _requests(resources: Fields) -> None:
    """A limit without a request is also the request."""
    if limits := resources.get("limits"):
        requests = resources.setdefault("requests", {})
        for name, value in limits.items():
            requests.setdefault(name, value)


def _tolerate(spec: Fields) -> None:
    """Let a pod stay for a while on a node that does not answer."""
    tolerations = spec.get("tolerations") or []
    covered = {
        toleration.get("key", "")
        for toleration in tolerations
        if toleration.get("effect", "") in ("", "NoExecute")
    }
    missing = [key for key in _TOLERATED if key not in covered] if "" not in covered else []
    if missing:
        spec["tolerations"] = tolerations + [
            {
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": _TOLERATED_SECONDS,
            }
            for key in missing
        ]
