"""Rules for services."""

from collections.abc import Iterator, Sequence
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.rules.containers import PROTOCOLS
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.metadata import labels
from maar.embedded.schema.rules.pods import address
from maar.embedded.schema.rules.probes import port as port_number_or_name
from maar.embedded.schema.words import duplicate, forbidden, invalid, judged, required, unsupported

_CHOICES: Final = (
    ("type", ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")),
    ("sessionAffinity", ("ClientIP", "None")),
    ("internalTrafficPolicy", ("Cluster", "Local")),
    ("ipFamilyPolicy", ("PreferDualStack", "RequireDualStack", "SingleStack")),
)
_FAMILIES: Final = ("IPv4", "IPv6")


def created(service: Fields) -> Iterator[Cause]:
    """A service, new or changed."""
    spec = service.get("spec") or {}
    kind, ports = spec.get("type", "ClusterIP"), spec.get("ports") or ()
    if kind == "ExternalName":
        if not spec.get("externalName"):
            yield required("spec.externalName")
    elif not ports and spec.get("clusterIP") != "None":
        yield required("spec.ports")
    yield from _ports(ports, named=len(ports) > 1, exposed=kind in ("LoadBalancer", "NodePort"))
    yield from labels(spec.get("selector"), "spec.selector")
    for key, choices in _CHOICES:
        if (chosen := spec.get(key)) and chosen not in choices:
            yield unsupported(f"spec.{key}", chosen, choices)
    if (policy := spec.get("externalTrafficPolicy")) and kind in ("ClusterIP", "ExternalName"):
        why = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", policy, why)
    for place, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in _FAMILIES:
            yield unsupported(f"spec.ipFamilies[{place}]", family, _FAMILIES)
    yield from _addresses(spec)


def updated(old: Fields, service: Fields) -> Iterator[Cause]:
    """A service that was there before keeps its address."""
    before, after = old.get("spec") or {}, service.get("spec") or {}
    was, now = before.get("clusterIP"), after.get("clusterIP")
    if was and now and was != now and after.get("type") != "ExternalName":
        yield invalid("spec.clusterIPs[0]", [now], "may not change once set")


def _addresses(spec: Fields) -> Iterator[Cause]:
    if (cluster := spec.get("clusterIP")) and cluster != "None":
        yield from address(cluster, "spec.clusterIPs[0]")
    for place, text in enumerate(spec.get("externalIPs") or ()):
        yield from address(text, f"spec.externalIPs[{place}]")


def _ports(ports: Sequence[Fields], *, named: bool, exposed: bool) -> Iterator[Cause]:
    taken: set[str] = set()
    used: set[tuple[int, str]] = set()
    for place, port in enumerate(ports):
        path, name = f"spec.ports[{place}]", port.get("name", "")
        if named and not name:
            yield required(f"{path}.name")
        elif name and (problems := names.label(name)):
            yield from judged(f"{path}.name", name, problems)
        elif name and name in taken:
            yield duplicate(f"{path}.name", name)
        taken.add(name)
        number, protocol = port.get("port", 0), port.get("protocol", "TCP")
        yield from judged(f"{path}.port", number, names.port_number(number))
        if protocol not in PROTOCOLS:
            yield unsupported(f"{path}.protocol", protocol, PROTOCOLS)
        yield from port_number_or_name(port.get("targetPort") or number, f"{path}.targetPort")
        if port.get("nodePort") and not exposed:
            yield forbidden(f"{path}.nodePort", "may not be used when `type` is 'ClusterIP'")
        if (number, protocol) in used:
            yield duplicate(path, {"port": number, "protocol": protocol})
        used.add((number, protocol))
