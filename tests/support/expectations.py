"""What a scenario expects of a cycle, and where a cycle differs from it."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from maar.core.model.reasons import Reason
from maar.core.model.resources import amount
from support.cluster import Names
from support.fields import BadScenarioError, Fields, long_name

Cycle = Mapping[str, Any]  # one entry of the plan's JSON
Complaints = Iterator[str]
Check = Callable[[Cycle, Names, Any], Complaints]

_QUEUE_AMOUNTS: Final = ("deserved", "realCapability", "used", "allocated", "preempting")
_CLOSE: Final = 0.005  # shares are shown to people with two decimals


@dataclass(frozen=True)
class Expectation:
    """What is expected of one cycle, by what it is about; every part can be checked alone."""

    parts: dict[str, Any]
    names: Names

    def complaints(self, cycle: Cycle, without: frozenset[str] = frozenset()) -> list[str]:
        """Everything in which the cycle differs."""
        found = []
        for key, expected in {"evicted": {}, **self.parts}.items():
            if key not in without:
                found += [f"{key}: {complaint}" for complaint in _CHECKS[key](cycle, self.names, expected)]
        return found


def read_expectation(value: object, path: str, names: Names) -> Expectation:
    """Read what is expected; queues, pod groups, pods and reasons that do not exist are refused."""
    parts: dict[str, Any] = {}
    with Fields(value, path) as fields:
        for key in _QUEUE_AMOUNTS:
            if key in fields:
                parts[key] = {name: one.resources() for name, one in fields.each(key)}
        for key in ("binding", "share", "state", "conditions", "namespaces", "factor", *_BY_GROUP):
            if key in fields:
                parts[key] = dict(fields.every(key))
        if fields.take("quiet", bool, False):
            parts |= {"binds": {}, "evicted": {}}
    for key, by_name in parts.items():
        known = names.groups if key in _BY_GROUP else names.queues
        for name in by_name:
            if name not in known:
                raise BadScenarioError(f"{path}.{key}.{name}", "there is no such pod group or queue")
    _know_reasons(parts.get("waits", {}), path)
    return Expectation(parts, names)


def _know_reasons(waits: Mapping[str, object], path: str) -> None:
    for group, value in waits.items():
        reason = value[0] if isinstance(value, list) else value
        if reason is not None and reason not in list(Reason):
            raise BadScenarioError(f"{path}.waits.{group}", f"{reason!r} is not a reason")


def _amounts(key: str) -> Check:
    def check(cycle: Cycle, _names: Names, expected: Mapping[str, Mapping[str, str]]) -> Complaints:
        for queue, resources in expected.items():
            actual = _queue(cycle, queue).get(key, {})
            for resource, text in resources.items():
                if amount(resource, text) != amount(resource, str(actual.get(resource, 0))):
                    yield f"{queue}: {resource} {actual.get(resource, 0)}, expected {text}"

    return check


def _bindings(cycle: Cycle, _names: Names, expected: Mapping[str, Mapping[str, str]]) -> Complaints:
    for queue, constraints in expected.items():
        for resource, constraint in constraints.items():
            actual = _queue(cycle, queue)["binding"].get(long_name(resource))
            if actual != constraint:
                yield f"{queue}: {resource} is bound by {actual}, expected {constraint}"


def _shares(cycle: Cycle, _names: Names, expected: Mapping[str, object]) -> Complaints:
    for queue, share in expected.items():
        actual = _queue(cycle, queue)["share"]
        if not math.isclose(_number(actual), _number(share), abs_tol=_CLOSE):
            yield f"{queue}: {actual}, expected {share}"


def _factors(cycle: Cycle, _names: Names, expected: Mapping[str, object]) -> Complaints:
    for queue, factor in expected.items():
        actual = _queue(cycle, queue).get("pastUse", {}).get("factor", 1)
        if not math.isclose(actual, _number(factor), abs_tol=_CLOSE):
            yield f"{queue}: {actual}, expected {factor}"


def _states(cycle: Cycle, _names: Names, expected: Mapping[str, object]) -> Complaints:
    for queue, state in expected.items():
        if _queue(cycle, queue)["state"] != state:
            yield f"{queue}: {_queue(cycle, queue)['state']}, expected {state}"


def _conditions(cycle: Cycle, _names: Names, expected: Mapping[str, list[str]]) -> Complaints:
    for queue, types in expected.items():
        actual = sorted(one["type"] for one in _queue(cycle, queue)["conditions"] if one["status"] == "True")
        if actual != sorted(types):
            yield f"{queue}: {actual}, expected {types}"


def _namespaces(
    cycle: Cycle, _names: Names, expected: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> Complaints:
    for queue, namespaces in expected.items():
        for name, standing in namespaces.items():
            actual = _queue(cycle, queue)["namespaces"].get(name, {})
            actual = {**actual, "factor": actual.get("pastUse", {}).get("factor", 1)}
            for key, value in standing.items():
                if key == "used":
                    wrong = any(
                        amount(one, str(text)) != amount(one, str(actual.get(key, {}).get(one, 0)))
                        for one, text in value.items()
                    )
                else:
                    wrong = not math.isclose(_number(actual.get(key, -1)), _number(value), abs_tol=_CLOSE)
                if wrong:
                    yield f"{queue}: {name}: {key} {actual.get(key)}, expected {value}"


def _placed(key: str) -> Check:
    """Binds or nominations: a number of pods, which pods, {pod: node} or {node: number}; no others."""

    def check(cycle: Cycle, names: Names, expected: Mapping[str, Any]) -> Complaints:
        references = {key: reference for reference, key in names.pods.items()}
        actual: dict[str, dict[str, str]] = {}
        for pod, node in cycle[key].items():
            actual.setdefault(names.group_of.get(pod, pod), {})[references.get(pod, pod)] = node
        for group in {**expected, **actual}:
            wanted, got = expected.get(group, 0), actual.get(group, {})
            if not _same_places(wanted, got):
                yield f"{group}: {got or 'none'}, expected {wanted or 'none'}"

    return check


def _same_places(wanted: object, got: Mapping[str, str]) -> bool:
    if isinstance(wanted, list):
        return sorted(wanted) == sorted(got)
    if isinstance(wanted, dict):
        by_node = {node: list(got.values()).count(node) for node in got.values()}
        return wanted in (dict(got), by_node)
    return wanted == len(got)


def _evictions(cycle: Cycle, names: Names, expected: Mapping[str, Any]) -> Complaints:
    """A number of pods, which pods, or {pods, for, by}; nobody else goes."""
    references = {key: reference for reference, key in names.pods.items()}
    groups = {key: reference for reference, key in names.groups.items()}
    actual: dict[str, list[tuple[str, object, str]]] = {}
    for one in cycle["evictions"]:
        entry = (references.get(one["pod"], one["pod"]), groups.get(one["for"], one["for"]), one["action"])
        actual.setdefault(names.group_of.get(one["pod"], one["pod"]), []).append(entry)
    for group in {**expected, **actual}:
        wanted, got = expected.get(group, 0), actual.get(group, [])
        wanted = wanted if isinstance(wanted, dict) else {"pods": wanted}
        pods = wanted.get("pods", len(got))
        if (len(got) if isinstance(pods, int) else sorted(pod for pod, _, _ in got)) != (
            pods if isinstance(pods, int) else sorted(pods)
        ):
            yield f"{group}: {[pod for pod, _, _ in got]}, expected {pods}"
        if "for" in wanted and any(beneficiary != wanted["for"] for _, beneficiary, _ in got):
            yield f"{group}: for {[one[1] for one in got]}, expected {wanted['for']}"
        if "by" in wanted and any(action != wanted["by"] for *_, action in got):
            yield f"{group}: by {[one[2] for one in got]}, expected {wanted['by']}"


def _holds(cycle: Cycle, names: Names, expected: Mapping[str, Mapping[str, int]]) -> Complaints:
    """The room that is held for groups, by node; none is held for others."""
    groups = {key: reference for reference, key in names.groups.items()}
    actual = {groups[key]: one["nodes"] for key, one in cycle.get("heldRoom", {}).items()}
    for group in {**expected, **actual}:
        if expected.get(group) != actual.get(group):
            yield f"{group}: {actual.get(group, 'none')}, expected {expected.get(group, 'none')}"


def _waits(cycle: Cycle, names: Names, expected: Mapping[str, Any]) -> Complaints:
    """A reason, or a list of the reason and what its message must contain; null: no reason."""
    for group, value in expected.items():
        reason, *parts = value if isinstance(value, list) else [value]
        actual = cycle["podGroups"][names.groups[group]]
        if actual["reason"] != (reason or ""):
            got = actual["reason"] or "no reason"
            yield f"{group}: {got}, expected {reason or 'none'} ({actual['message']})"
        for part in parts:
            if str(part) not in actual["message"]:
                yield f"{group}: {part!r} is not in {actual['message']!r}"


def _reported(key: str) -> Check:
    """What else the plan says of a group."""

    def check(cycle: Cycle, names: Names, expected: Mapping[str, object]) -> Complaints:
        for group, wanted in expected.items():
            actual = cycle["podGroups"][names.groups[group]]
            if actual.get(key) != wanted:
                yield f"{group}: {key} is {actual.get(key)!r}, expected {wanted!r} ({actual['message']})"

    return check


def _phases(cycle: Cycle, names: Names, expected: Mapping[str, str]) -> Complaints:
    for group, phase in expected.items():
        actual = cycle["podGroups"][names.groups[group]]["phase"]
        if actual != phase:
            yield f"{group}: {actual}, expected {phase}"


def _queue(cycle: Cycle, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = cycle["queues"].get(name, {})
    return found


def _number(value: object) -> float:
    return float(str(value).replace(".inf", "inf"))


_BY_GROUP: Final = ("binds", "nominated", "evicted", "waits", "cures", "moreNodesHelp", "phases", "holds")
_CHECKS: Final[dict[str, Check]] = {
    **{key: _amounts(key) for key in _QUEUE_AMOUNTS},
    "binding": _bindings,
    "share": _shares,
    "factor": _factors,
    "state": _states,
    "conditions": _conditions,
    "namespaces": _namespaces,
    "binds": _placed("binds"),
    "nominated": _placed("nominations"),
    "evicted": _evictions,
    "waits": _waits,
    "cures": _reported("cure"),
    "moreNodesHelp": _reported("moreNodesHelp"),
    "phases": _phases,
    "holds": _holds,
}
