"""Rules for nodes."""

from collections.abc import Iterator
from ipaddress import ip_network

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.placement import EFFECTS
from maar.embedded.schema.rules.resource_lists import amounts
from maar.embedded.schema.words import duplicate, invalid, judged, required, unsupported


def created(node: Fields) -> Iterator[Cause]:
    """A node, new or changed."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    taken: set[tuple[str, str]] = set()
    for place, taint in enumerate(spec.get("taints") or ()):
        # Kubernetes names the field so, though taints are in the spec.
        yield from _taint(taint, f"metadata.taints[{place}]", taken)
    yield from amounts(status.get("capacity"), "status.capacity", dotted=True)
    yield from amounts(status.get("allocatable"), "status.allocatable", dotted=True)
    for place, text in enumerate(spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else ())):
        try:
            ip_network(text)
        except ValueError:
            why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield invalid(f"spec.podCIDRs[{place}]", text, why)


def _taint(taint: Fields, field: str, taken: set[tuple[str, str]]) -> Iterator[Cause]:
    key, effect = taint.get("key", ""), taint.get("effect", "")
    yield from judged(f"{field}.key", key, names.qualified(key))
    yield from judged(f"{field}.value", taint.get("value", ""), names.value(taint.get("value", "")))
    if not effect:
        yield required(f"{field}.effect")
    elif effect not in EFFECTS:
        yield unsupported(f"{field}.effect", effect, EFFECTS)
    if (key, effect) in taken:
        yield duplicate(field, taint, "taints must be unique by key and effect pair")
    taken.add((key, effect))
