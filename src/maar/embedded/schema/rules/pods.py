"""Rules for pods, and for the templates of pods."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.rules.containers import Surroundings, containers, identity
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.metadata import annotations, labels
from maar.embedded.schema.rules.placement import affinity, spread, tolerations
from maar.embedded.schema.rules.resource_lists import requirements
from maar.embedded.schema.rules.volumes import volumes
from maar.embedded.schema.words import duplicate, forbidden, invalid, judged, required, unsupported

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")

_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_LONGEST_DEADLINE: Final = 2**31 - 1
_NAMES: Final = (
    ("serviceAccountName", names.subdomain),
    ("nodeName", names.subdomain),
    ("hostname", names.label),
    ("subdomain", names.label),
    ("priorityClassName", names.subdomain),
    ("runtimeClassName", names.subdomain),
)
_CHOICES: Final = (
    ("restartPolicy", RESTART_POLICIES),
    ("dnsPolicy", _DNS_POLICIES),
    ("preemptionPolicy", _PREEMPTION),
)
_BAD_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def created(pod: Fields) -> Iterator[Cause]:
    """A new pod."""
    spec = pod.get("spec") or {}
    yield from pod_spec(spec, "spec")
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")


def template(found: Fields | None, field: str) -> Iterator[Cause]:
    """What pods are made from."""
    meta = (found or {}).get("metadata") or {}
    yield from labels(meta.get("labels"), f"{field}.labels")
    yield from annotations(meta.get("annotations"), f"{field}.annotations")
    yield from pod_spec((found or {}).get("spec") or {}, f"{field}.spec")


def pod_spec(spec: Fields, field: str) -> Iterator[Cause]:
    """What is wanted of a pod."""
    found = spec.get("volumes") or ()
    yield from volumes(found, f"{field}.volumes")
    around = Surroundings(
        {volume.get("name", ""): volume for volume in found},
        frozenset(claim.get("name", "") for claim in spec.get("resourceClaims") or ()),
        spec.get("hostNetwork", False),
    )
    yield from containers(spec, field, around)
    for key, choices in _CHOICES:
        if (chosen := spec.get(key)) and chosen not in choices:
            yield unsupported(f"{field}.{key}", chosen, choices)
    for key, rule in _NAMES:
        if (name := spec.get(key)) and (problems := rule(name)):
            yield from judged(f"{field}.{key}", name, problems)
    yield from _timing(spec, field)
    yield from _placement(spec, field)
    yield from _gates(spec, field)
    yield from _host(spec, field)


def _timing(spec: Fields, field: str) -> Iterator[Cause]:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _LONGEST_DEADLINE:
        why = f"must be between 1 and {_LONGEST_DEADLINE}, inclusive"
        yield invalid(f"{field}.activeDeadlineSeconds", deadline, why)


def _placement(spec: Fields, field: str) -> Iterator[Cause]:
    yield from labels(spec.get("nodeSelector"), f"{field}.nodeSelector")
    if found := spec.get("affinity"):
        yield from affinity(found, f"{field}.affinity")
    if found := spec.get("tolerations"):
        yield from tolerations(found, f"{field}.tolerations")
    if found := spec.get("topologySpreadConstraints"):
        yield from spread(found, f"{field}.topologySpreadConstraints")


def _gates(spec: Fields, field: str) -> Iterator[Cause]:
    taken: set[str] = set()
    for place, gate in enumerate(spec.get("schedulingGates") or ()):
        name = gate.get("name", "")
        yield from judged(f"{field}.schedulingGates[{place}]", name, names.qualified(name))
        if name in taken:
            yield duplicate(f"{field}.schedulingGates[{place}]", name)
        taken.add(name)
    for place, gate in enumerate(spec.get("readinessGates") or ()):
        name = gate.get("conditionType", "")
        yield from judged(f"{field}.readinessGates[{place}].conditionType", name, names.qualified(name))
    for place, claim in enumerate(spec.get("resourceClaims") or ()):
        path = f"{field}.resourceClaims[{place}]"
        if not claim.get("name"):
            yield required(f"{path}.name")
        if bool(claim.get("resourceClaimName")) == bool(claim.get("resourceClaimTemplateName")):
            why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            yield invalid(path, claim, why)


def _host(spec: Fields, field: str) -> Iterator[Cause]:
    if spec.get("dnsPolicy") == "None" and not (spec.get("dnsConfig") or {}).get("nameservers"):
        yield required(f"{field}.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")
    if (system := spec.get("os")) and system.get("name") not in ("linux", "windows"):
        yield unsupported(f"{field}.os", system.get("name", ""), ("linux", "windows"))
    for place, alias in enumerate(spec.get("hostAliases") or ()):
        path = f"{field}.hostAliases[{place}]"
        yield from address(alias.get("ip", ""), f"{path}.ip")
        for at, name in enumerate(alias.get("hostnames") or ()):
            yield from judged(f"{path}.hostnames[{at}]", name, names.subdomain(name))
    if context := spec.get("securityContext"):
        yield from identity(context, f"{field}.securityContext", ("fsGroup", "runAsUser", "runAsGroup"))
    if resources := spec.get("resources"):
        yield from requirements(resources, f"{field}.resources")


def address(text: str, field: str) -> Iterator[Cause]:
    """An IP address."""
    try:
        ip_address(text)
    except ValueError:
        yield invalid(field, text, _BAD_ADDRESS)
