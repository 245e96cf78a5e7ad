"""Rules for resource quotas."""

from collections.abc import Iterator
from typing import Final

from maar.embedded.failures import Cause
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.resource_lists import amount_of, of_quota
from maar.embedded.schema.words import invalid, judged, required

_SCOPES: Final = frozenset(
    {
        "BestEffort",
        "CrossNamespacePodAffinity",
        "NotBestEffort",
        "NotTerminating",
        "PriorityClass",
        "Terminating",
        "VolumeAttributesClass",
    }
)
_CONFLICTS: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})


def created(quota: Fields) -> Iterator[Cause]:
    """A quota, new or changed."""
    spec = quota.get("spec") or {}
    for name, value in (spec.get("hard") or {}).items():
        yield from judged(f"spec.hard[{name}]", name, of_quota(name))
        yield from amount_of(name, value, f"spec.hard[{name}]")
    scopes = spec.get("scopes") or ()
    if not _SCOPES.issuperset(scopes):
        yield invalid("spec.scopes", scopes, "unsupported scope")
    if "BestEffort" in scopes and set(spec.get("hard") or ()) - {"pods"}:
        yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    if any(pair <= set(scopes) for pair in _CONFLICTS):
        yield invalid("spec.scopes", scopes, "conflicting scopes")
    for one in (spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        yield from _selected(one, "spec.scopeSelector.matchExpressions")


def updated(old: Fields, quota: Fields) -> Iterator[Cause]:
    """A quota counts the same objects for ever."""
    before, after = ((one.get("spec") or {}).get("scopes") or [] for one in (old, quota))
    if before != after:
        yield invalid("spec.scopes", after, "field is immutable")


def _selected(one: Fields, field: str) -> Iterator[Cause]:
    if one.get("scopeName") not in _SCOPES:
        yield invalid(f"{field}.scopeName", one.get("scopeName", ""), "unsupported scope")
    if one.get("operator") in ("In", "NotIn"):
        if not one.get("values"):
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(f"{field}.values", why)
    elif one.get("operator") not in ("Exists", "DoesNotExist"):
        yield invalid(f"{field}.operator", one.get("operator", ""), "not a valid selector operator")
