"""Selectors as clients write them: which objects a list or a watch is about."""

import re
from collections.abc import Callable, Mapping
from typing import Final, cast

from maar.core.model.whole_numbers import whole_number
from maar.embedded.failures import Json, bad_request

Selects = Callable[[Json], bool]

# Fields that kinds can be selected by, beside metadata.name and metadata.namespace.
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "pods": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "events": (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
        "reason", "reportingComponent", "source", "type",
    ),
    "replicasets.apps": ("status.replicas",),
    "jobs.batch": ("status.successful",),
}  # fmt: skip

_NAME: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE: Final = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_REQUIREMENT: Final = re.compile(
    rf"\s*(?:(?P<absent>!)\s*(?P<missing>{_NAME})"
    rf"|(?P<key>{_NAME})(?:\s*(?P<sign>==|=|!=|>|<)\s*(?P<value>{_VALUE})"
    rf"|\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\))?)\s*(?:,|$)"
)
_FIELD: Final = re.compile(r"\s*([A-Za-z0-9_.\[\]/-]+)\s*(==|=|!=)((?:[^,\\]|\\.)*)(?:,|$)")


def everything(_: Json) -> bool:
    """Select all."""
    return True


def by_labels(selector: str) -> Selects:
    """Read a label selector: `app=web,tier in (a,b),!old`."""
    if not selector.strip():
        return everything
    requirements: list[Callable[[Mapping[str, str]], bool]] = []
    position = 0
    while position < len(selector):
        match = _REQUIREMENT.match(selector, position)
        if match is None:
            raise bad_request(
                f"unable to parse requirement: cannot read {selector[position:]!r} in {selector!r}"
            )
        requirements.append(_requirement(match))
        position = match.end()

    def selects(value: Json) -> bool:
        metadata = value.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, dict) else None
        found = cast(Mapping[str, str], labels) if isinstance(labels, dict) else {}
        return all(requirement(found) for requirement in requirements)

    return selects


def by_fields(selector: str, resource: str) -> Selects:
    """Read a field selector: `spec.nodeName=n,status.phase!=Failed`."""
    if not selector.strip():
        return everything
    wanted: list[tuple[tuple[str, ...], bool, str]] = []
    supported = ("metadata.name", "metadata.namespace", *FIELDS.get(resource, ()))
    position = 0
    while position < len(selector):
        match = _FIELD.match(selector, position)
        if match is None:
            raise bad_request(
                f"invalid field selector {selector!r}; can't understand {selector[position:]!r}"
            )
        if match[1] not in supported:
            raise bad_request(
                f"field label not supported: {match[1]}; {resource} knows {', '.join(supported)}"
            )
        wanted.append((tuple(match[1].split(".")), match[2] != "!=", re.sub(r"\\(.)", r"\1", match[3])))
        position = match.end()

    def selects(value: Json) -> bool:
        return all((_at(value, path) == text) is equal for path, equal, text in wanted)

    return selects


def _requirement(match: re.Match[str]) -> Callable[[Mapping[str, str]], bool]:
    key, sign, value = match["key"], match["sign"], match["value"]
    if match["absent"]:
        missing = match["missing"]
        return lambda labels: missing not in labels
    if match["set"]:
        values, inside = frozenset(one.strip() for one in match["values"].split(",")), match["set"] == "in"
        return lambda labels: (labels.get(key) in values) is inside
    if sign in ("=", "==", "!="):
        equal = sign != "!="
        return lambda labels: (labels.get(key) == value) is equal
    if sign in ("<", ">"):
        return _comparison(key, value, above=sign == ">")
    return lambda labels: key in labels


def _comparison(key: str, value: str, *, above: bool) -> Callable[[Mapping[str, str]], bool]:
    number = whole_number(value)
    if number is None:
        raise bad_request(f"labels are compared with whole numbers only, not with {value!r} as for {key}")

    def compares(labels: Mapping[str, str]) -> bool:
        found = whole_number(labels.get(key, ""))
        return found is not None and (found > number if above else found < number)

    return compares


def _at(value: object, path: tuple[str, ...]) -> str:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):  # an event's source is selected by its component
        return str(value.get("component", ""))
    return str(value)
