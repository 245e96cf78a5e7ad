"""Rules for where a pod may run: affinity, tolerations, spreading."""

from collections.abc import Iterator, Sequence
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import duplicate, forbidden, invalid, required, unsupported, violations
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.selectors import label_selector, node_selector, node_selector_term

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_LARGEST_WEIGHT: Final = 100
_POSITIVE: Final = "must be greater than zero"


def affinity(found: Fields, field: str) -> Iterator[Cause]:
    """Affinity and anti-affinity to nodes and other pods."""
    if nodes := found.get("nodeAffinity"):
        path = f"{field}.nodeAffinity"
        if _REQUIRED in nodes:
            yield from node_selector(nodes[_REQUIRED], f"{path}.{_REQUIRED}")
        for number, term in enumerate(nodes.get(_PREFERRED) or ()):
            yield from _weight(term, f"{path}.{_PREFERRED}[{number}]")
            preference = f"{path}.{_PREFERRED}[{number}].preference"
            yield from node_selector_term(term.get("preference") or {}, preference)
    for field_name in ("podAffinity", "podAntiAffinity"):
        if pods := found.get(field_name):
            for number, term in enumerate(pods.get(_REQUIRED) or ()):
                yield from _pod_term(term, f"{field}.{field_name}.{_REQUIRED}[{number}]")
            for number, term in enumerate(pods.get(_PREFERRED) or ()):
                path = f"{field}.{field_name}.{_PREFERRED}[{number}]"
                yield from _weight(term, path)
                yield from _pod_term(term.get("podAffinityTerm") or {}, f"{path}.podAffinityTerm")


def tolerations(found: Sequence[Fields], field: str) -> Iterator[Cause]:
    """The tolerations of a pod."""
    for number, toleration in enumerate(found):
        yield from _toleration(toleration, f"{field}[{number}]")


def spread(found: Sequence[Fields], field: str) -> Iterator[Cause]:
    """The topology spread constraints of a pod."""
    for number, constraint in enumerate(found):
        path = f"{field}[{number}]"
        when, key = constraint.get("whenUnsatisfiable", ""), constraint.get("topologyKey", "")
        if constraint.get("maxSkew", 0) <= 0:
            yield invalid(f"{path}.maxSkew", constraint.get("maxSkew", 0), _POSITIVE)
        if not key:
            yield required(f"{path}.topologyKey", "can not be empty")
        if when not in ("DoNotSchedule", "ScheduleAnyway"):
            yield unsupported(f"{path}.whenUnsatisfiable", when, ("DoNotSchedule", "ScheduleAnyway"))
        elif any(
            (o.get("topologyKey"), o.get("whenUnsatisfiable")) == (key, when) for o in found[number + 1 :]
        ):
            yield duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {when}}}")
        yield from _domains(constraint, when, path)
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(policy, "Honor") not in ("Honor", "Ignore"):
                yield unsupported(f"{path}.{policy}", constraint[policy], ("Honor", "Ignore"))
        yield from label_selector(constraint.get("labelSelector"), f"{path}.labelSelector")


def _domains(constraint: Fields, when: str, field: str) -> Iterator[Cause]:
    if (least := constraint.get("minDomains")) is None:
        return
    if least <= 0:
        yield invalid(f"{field}.minDomains", least, _POSITIVE)
    if when != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
        yield invalid(f"{field}.minDomains", least, why)


def _weight(term: Fields, field: str) -> Iterator[Cause]:
    if not 1 <= term.get("weight", 0) <= _LARGEST_WEIGHT:
        yield invalid(f"{field}.weight", term.get("weight", 0), f"must be in the range 1-{_LARGEST_WEIGHT}")


def _pod_term(term: Fields, field: str) -> Iterator[Cause]:
    yield from label_selector(term.get("labelSelector"), f"{field}.labelSelector")
    yield from label_selector(term.get("namespaceSelector"), f"{field}.namespaceSelector")
    for name in term.get("namespaces") or ():
        yield from violations(f"{field}.namespace", name, names.label(name))
    for keys in ("matchLabelKeys", "mismatchLabelKeys"):
        if term.get(keys) and "labelSelector" not in term:
            yield forbidden(f"{field}.{keys}", "must not be specified when labelSelector is not set")
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{field}.topologyKey", "can not be empty")
    yield from violations(f"{field}.topologyKey", key, names.qualified(key))


def _toleration(toleration: Fields, field: str) -> Iterator[Cause]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        yield from violations(f"{field}.key", key, names.qualified(key))
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{field}.operator", operator, why)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(f"{field}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator == "Exists":
        if value:
            yield invalid(f"{field}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("", "Equal"):
        yield from violations(f"{field}.operator", value, names.value(value))
    else:
        yield unsupported(f"{field}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in EFFECTS:
        yield unsupported(f"{field}.effect", effect, EFFECTS)
