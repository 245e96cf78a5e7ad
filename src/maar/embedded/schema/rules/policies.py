"""Rules for disruption budgets, priority classes, leases, events and namespaces."""

from collections.abc import Iterator
from typing import Final

from maar.core.model import name_rules as names
from maar.core.model.whole_numbers import whole_number
from maar.embedded.failures import Cause
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.resource_lists import NOT_NEGATIVE
from maar.embedded.schema.rules.selectors import label_selector
from maar.embedded.schema.words import forbidden, invalid, judged, required, unsupported

_HIGHEST_PRIORITY: Final = 10**9
_SYSTEM_CLASSES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_WHOLE: Final = 100


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


def lease(found: Fields) -> Iterator[Cause]:
    """A lease, new or changed."""
    spec = found.get("spec") or {}
    if spec.get("leaseDurationSeconds", 1) <= 0:
        yield invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
    if spec.get("leaseTransitions", 0) < 0:
        yield invalid("spec.leaseTransitions", spec["leaseTransitions"], NOT_NEGATIVE)


def event(found: Fields) -> Iterator[Cause]:
    """An event, new or changed."""
    namespace = (found.get("metadata") or {}).get("namespace", "")
    about = (found.get("involvedObject") or {}).get("namespace", "")
    if about and about != namespace:
        yield invalid("involvedObject.namespace", about, "does not match event.namespace")
    if found.get("eventTime"):  # an event of the newer kind says more
        component = found.get("reportingComponent", "")
        if not component:
            yield required("reportingComponent")
        yield from judged("reportingComponent", component, names.qualified(component))
        for field in ("reportingInstance", "action", "reason"):
            if not found.get(field):
                yield required(field)


def namespace(found: Fields) -> Iterator[Cause]:
    """A namespace, new or changed."""
    for finalizer in (found.get("spec") or {}).get("finalizers") or ():
        if finalizer != "kubernetes" and "/" not in finalizer:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid("spec.finalizers", finalizer, why)


def _count_or_share(found: int | str, field: str) -> Iterator[Cause]:
    if isinstance(found, int):
        if found < 0:
            yield invalid(field, found, NOT_NEGATIVE)
    elif problems := names.percent(found):
        yield from judged(field, found, problems)
    elif (share := whole_number(found[:-1])) is None or share > _WHOLE:
        yield invalid(field, found, "must not be greater than 100%")
