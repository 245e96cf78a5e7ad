"""Rules for resources that containers ask for, and for their amounts."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from maar.core.model import name_rules as names
from maar.core.model.quantity import NANOS
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import invalid, required, violations
from maar.embedded.schema.rules.fields import Fields, amount, canonical

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_WHOLE: Final = "must be an integer"

_OF_CONTAINERS: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_STANDARD: Final = _OF_CONTAINERS | {
    "configmaps", "limits.cpu", "limits.ephemeral-storage", "limits.memory", "persistentvolumeclaims", "pods",
    "replicationcontrollers", "requests.cpu", "requests.ephemeral-storage", "requests.memory",
    "requests.storage", "resourcequotas", "secrets", "services", "services.loadbalancers",
    "services.nodeports", "storage",
}  # fmt: skip
_HUGE: Final = "hugepages-"


def requirements(found: Fields, field: str) -> Iterator[Cause]:
    """What a container asks for and the limits to it."""
    limits: Mapping[str, str] = found.get("limits") or {}
    requests: Mapping[str, str] = found.get("requests") or {}
    for name, value in limits.items():
        yield from _one(name, value, f"{field}.limits")
    for name, value in requests.items():
        yield from _one(name, value, f"{field}.requests")
        limit = limits.get(name)
        if limit is not None:
            if limit != value:
                yield from _compared(name, value, limit, f"{field}.requests")
        elif not _overcommits(name):
            yield required(f"{field}.limits", "Limit must be set for non overcommitable resources")


def amount_of(name: str, value: object, field: str) -> Iterator[Cause]:
    """One amount: not negative, and whole where the resource has no fractions."""
    nanos = amount(value).nanos
    if nanos < 0:
        yield invalid(field, _shown(value), NOT_NEGATIVE)
    if nanos % NANOS and _whole(name):
        yield invalid(field, _shown(value), _WHOLE)


def _overcommits(name: str) -> bool:
    """Whether more of a resource may be promised than there is."""
    return not name.startswith(_HUGE) and not _extended(name)


def _extended(name: str) -> bool:
    """Whether it is an extended resource, such as nvidia.com/gpu."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("count/")


def _whole(name: str) -> bool:
    """Whether a resource comes in whole units only."""
    return name in (
        "pods",
        "services",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "resourcequotas",
        "replicationcontrollers",
        "services.loadbalancers",
        "services.nodeports",
    ) or _extended(name)


@lru_cache(maxsize=1024)
def of_quota(name: str) -> tuple[str, ...]:
    """What is wrong with the name of a resource in a quota."""
    return (*names.qualified(name), *_unqualified(name, _STANDARD, "quota"))


@lru_cache(maxsize=1024)
def _of_container(name: str) -> tuple[str, ...]:
    if name.startswith(_HUGE):
        return tuple(names.qualified(name))
    found = (*names.qualified(name), *_unqualified(name, _OF_CONTAINERS, "containers"))
    odd = _extended(name) and (name.startswith("requests.") or names.qualified(f"requests.{name}"))
    return (*found, "doesn't follow extended resource name standard") if odd else found


def _unqualified(name: str, known: frozenset[str], place: str) -> Iterator[str]:
    if "/" not in name and not name.removeprefix("requests.").startswith(_HUGE):
        if name not in _STANDARD and not names.qualified(name):
            yield "must be a standard resource type or fully qualified"
        if name not in known:
            yield f"must be a standard resource for {place}"


def _one(name: str, value: object, field: str) -> Iterator[Cause]:
    if problems := _of_container(name):
        yield from violations(f"{field}[{name}]", name, problems)
    nanos = amount(value).nanos
    if nanos < 0 or nanos % NANOS:
        yield from amount_of(name, value, f"{field}[{name}]")


def _compared(name: str, value: object, limit: object, field: str) -> Iterator[Cause]:
    asked, allowed = amount(value).nanos, amount(limit).nanos
    if asked != allowed and not _overcommits(name):
        yield invalid(field, _shown(value), f"must be equal to {name} limit of {_shown(limit)}")
    elif asked > allowed:
        yield invalid(field, _shown(value), f"must be less than or equal to {name} limit of {_shown(limit)}")


def _shown(value: object) -> str:
    return canonical(value if isinstance(value, str | float) else str(value))
