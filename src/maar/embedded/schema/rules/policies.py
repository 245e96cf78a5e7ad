"""Rules for disruption budgets, priority classes, resource quotas and nodes."""

from collections.abc import Iterator
from typing import Final

from maar.core.model import name_rules as names
from maar.core.model.whole_numbers import whole_number
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import duplicate, forbidden, invalid, required, unsupported, violations
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.placement import EFFECTS
from maar.embedded.schema.rules.resource_lists import NOT_NEGATIVE, amount_of, of_quota
from maar.embedded.schema.rules.selectors import label_selector

_HIGHEST_PRIORITY: Final = 10**9
_SYSTEM_CLASSES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_WHOLE: Final = 100
_SCOPES: Final = frozenset(
    {"BestEffort", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating"}
    | {"CrossNamespacePodAffinity", "VolumeAttributesClass"}
)


def budget(found: Fields) -> Iterator[Cause]:
    """A disruption budget, new or changed."""
    spec = found.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        yield invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for key in ("minAvailable", "maxUnavailable"):
        if (count := spec.get(key)) is not None:
            yield from _count_or_share(count, f"spec.{key}")
    yield from label_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        yield unsupported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES)


def priority_class(found: Fields) -> Iterator[Cause]:
    """A priority class, new or changed."""
    name, value = (found.get("metadata") or {}).get("name", ""), found.get("value", 0)
    if name.startswith("system-"):
        why = "priority class names with 'system-' prefix are reserved for system use only. error:"
        if name not in _SYSTEM_CLASSES:
            yield forbidden("metadata.name", f"{why} {name} is not a known system priority class")
        elif value != _SYSTEM_CLASSES[name]:
            must = f"value of {name} PriorityClass must be {_SYSTEM_CLASSES[name]}"
            yield forbidden("metadata.name", f"{why} {must}")
    elif value > _HIGHEST_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        yield forbidden("value", why)
    if (policy := found.get("preemptionPolicy")) and policy not in _PREEMPTION:
        yield unsupported("preemptionPolicy", policy, _PREEMPTION)


def priority_class_updated(old: Fields, found: Fields) -> Iterator[Cause]:
    """A priority class gives the same priority for ever."""
    if old.get("value", 0) != found.get("value", 0):
        yield forbidden("value", "may not be changed in an update.")
    if old.get("preemptionPolicy") != found.get("preemptionPolicy"):
        yield invalid("preemptionPolicy", found.get("preemptionPolicy"), "field is immutable")


def quota(found: Fields) -> Iterator[Cause]:
    """A quota, new or changed."""
    spec = found.get("spec") or {}
    for name, value in (spec.get("hard") or {}).items():
        yield from violations(f"spec.hard[{name}]", name, of_quota(name))
        yield from amount_of(name, value, f"spec.hard[{name}]")
    scopes = spec.get("scopes") or ()
    if not _SCOPES.issuperset(scopes):
        yield invalid("spec.scopes", scopes, "unsupported scope")
    for expression in (spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        yield from _scope(expression, "spec.scopeSelector.matchExpressions")


def quota_updated(old: Fields, found: Fields) -> Iterator[Cause]:
    """A quota counts the same objects for ever."""
    before, after = ((version.get("spec") or {}).get("scopes") or [] for version in (old, found))
    if before != after:
        yield invalid("spec.scopes", after, "field is immutable")


def _scope(expression: Fields, field: str) -> Iterator[Cause]:
    if expression.get("scopeName") not in _SCOPES:
        yield invalid(f"{field}.scopeName", expression.get("scopeName", ""), "unsupported scope")
    if expression.get("operator") in ("In", "NotIn"):
        if not expression.get("values"):
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(f"{field}.values", why)
    elif expression.get("operator") not in ("Exists", "DoesNotExist"):
        yield invalid(f"{field}.operator", expression.get("operator", ""), "not a valid selector operator")


def node(found: Fields) -> Iterator[Cause]:
    """A node, new or changed."""
    spec, status = found.get("spec") or {}, found.get("status") or {}
    taken: set[tuple[str, str]] = set()
    for position, taint in enumerate(spec.get("taints") or ()):
        # Kubernetes names the field so, though taints are in the spec.
        yield from _taint(taint, f"metadata.taints[{position}]", taken)
    for field_name in ("capacity", "allocatable"):
        for name, value in (status.get(field_name) or {}).items():
            yield from amount_of(name, value, f"status.{field_name}.{name}")


def _taint(taint: Fields, field: str, taken: set[tuple[str, str]]) -> Iterator[Cause]:
    key, effect = taint.get("key", ""), taint.get("effect", "")
    yield from violations(f"{field}.key", key, names.qualified(key))
    yield from violations(f"{field}.value", taint.get("value", ""), names.value(taint.get("value", "")))
    if not effect:
        yield required(f"{field}.effect")
    elif effect not in EFFECTS:
        yield unsupported(f"{field}.effect", effect, EFFECTS)
    if (key, effect) in taken:
        yield duplicate(field, taint, "taints must be unique by key and effect pair")
    taken.add((key, effect))


def _count_or_share(found: int | str, field: str) -> Iterator[Cause]:
    if isinstance(found, int):
        if found < 0:
            yield invalid(field, found, NOT_NEGATIVE)
    elif problems := names.percent(found):
        yield from violations(field, found, problems)
    elif (share := whole_number(found[:-1])) is None or share > _WHOLE:
        yield invalid(field, found, "must not be greater than 100%")
