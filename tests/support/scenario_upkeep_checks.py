"""What a scenario of upkeep expects of the objects at rest, and where they differ from it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from maar.core.controllers.group_template import MADE_ANNOTATION
from maar.core.model.namespace import QUOTA_LABEL
from maar.core.model.pod import GROUP_ANNOTATION
from maar.core.model.resources import amount
from support.cluster import Names
from support.fields import BadScenarioError, Fields, long_name
from support.scenario_world import Json, World

Check = Callable[[World, Names, Any], Iterator[str]]

_AMOUNTS: Final = ("deserved", "realCapability", "used", "allocated", "preempting")
_BY_QUEUE: Final = ("state", "asked", "counters", "share", "summary", "conditions", *_AMOUNTS)
_BY_GROUP: Final = ("phases", "annotated", "says", "waits", "placed")


@dataclass(frozen=True)
class Checks:
    """What is expected, by what it is about."""

    parts: dict[str, Any]
    names: Names

    def complaints(self, world: World) -> list[str]:
        """Everything in which the world differs."""
        return [
            f"{key}: {one}"
            for key, expected in self.parts.items()
            for one in _CHECKS[key](world, self.names, expected)
        ]


def read_checks(value: object, path: str, names: Names) -> Checks:
    """Read what is expected; queues and pod groups that do not exist are refused."""
    with Fields(value, path) as fields:
        parts: dict[str, Any] = {key: fields.anything(key) for key in _PLAIN if key in fields}
        parts |= {key: dict(fields.every(key)) for key in _CHECKS if key not in _PLAIN and key in fields}
    if not parts:
        raise BadScenarioError(path, "nothing is expected")
    for key, by_name in parts.items():
        known = names.queues if key in _BY_QUEUE else names.groups if key in _BY_GROUP else by_name
        for name in by_name if known is not by_name else ():
            if name not in known:
                raise BadScenarioError(f"{path}.{key}.{name}", "there is no such pod group or queue")
    return Checks(parts, names)


def _status(world: World, queue: str) -> Json:
    return cast(Json, world.objects.get(("Queue", queue), {}).get("status", {}))


def _of_status(field: str) -> Check:
    def check(world: World, _names: Names, expected: Mapping[str, object]) -> Iterator[str]:
        for queue, value in expected.items():
            if (actual := _status(world, queue).get(field, "")) != value:
                yield f"{queue}: {actual!r}, expected {value!r}"

    return check


def _amounts(field: str) -> Check:
    def check(world: World, _names: Names, expected: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
        for queue, resources in expected.items():
            yield from _differences(queue, _status(world, queue).get(field, {}), resources)

    return check


def _differences(name: str, actual: Mapping[str, object], expected: Mapping[str, object]) -> Iterator[str]:
    for short, value in expected.items():
        resource = long_name(short)
        got = actual.get(resource, 0)
        if amount(resource, str(got)) != amount(resource, str(value)):
            yield f"{name}: {short} {got}, expected {value}"


def _asked(world: World, _names: Names, expected: Mapping[str, str]) -> Iterator[str]:
    for queue, value in expected.items():
        actual = world.objects.get(("Queue", queue), {}).get("spec", {}).get("state", "")
        if actual != value:
            yield f"{queue}: {actual!r}, expected {value!r}"


def _counters(world: World, _names: Names, expected: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    for queue, counts in expected.items():
        status = _status(world, queue)
        for word, number in counts.items():
            if status.get(word, 0) != number:
                yield f"{queue}: {word} {status.get(word, 0)}, expected {number}"


def _conditions(world: World, _names: Names, expected: Mapping[str, list[str]]) -> Iterator[str]:
    for queue, types in expected.items():
        there = _status(world, queue).get("conditions", [])
        actual = sorted(one["type"] for one in there if one["status"] == "True")
        if actual != sorted(types):
            yield f"{queue}: {actual}, expected {types}"


def _quotas(world: World, _names: Names, expected: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    actual = {
        key.partition("/")[0]: one["spec"]["hard"]
        for (kind, key), one in world.objects.items()
        if kind == "ResourceQuota" and QUOTA_LABEL in one["metadata"].get("labels", {})
    }
    if actual.keys() != expected.keys():
        yield f"in {sorted(actual)}, expected in {sorted(expected)}"
    for namespace in actual.keys() & expected.keys():
        hard = {name.removeprefix("requests."): limit for name, limit in actual[namespace].items()}
        if hard.keys() != {long_name(name) for name in expected[namespace]}:
            yield f"{namespace}: limits {sorted(hard)}, expected {sorted(expected[namespace])}"
        yield from _differences(namespace, hard, expected[namespace])


def _made(world: World, _names: Names, expected: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """The groups that Maar has made, each by the name of one of its pods."""
    pods: dict[str, list[str]] = {}
    for (kind, key), one in world.objects.items():
        if kind == "Pod" and (group := one["metadata"].get("annotations", {}).get(GROUP_ANNOTATION)):
            pods.setdefault(f"default/{group}", []).append(key.partition("/")[2])
    groups = {
        key: one["spec"]
        for (kind, key), one in world.objects.items()
        if kind == "PodGroup" and MADE_ANNOTATION in one["metadata"].get("annotations", {})
    }
    if len(groups) != len(expected):
        yield f"{len(groups)} groups, expected {len(expected)}"
    for pod, wanted in expected.items():
        key = next((key for key, names in pods.items() if pod in names and key in groups), "")
        if not key:
            yield f"{pod}: it has no group"
            continue
        spec = groups[key]
        actual = {
            "queue": spec.get("queue", ""),
            "min": spec["minMember"],
            "needs": spec.get("minResources", {}),
            "class": spec.get("priorityClassName", ""),
            "pods": len(pods[key]),
        }
        for word, value in wanted.items():
            if str(actual[word]) != str(value):
                yield f"{pod}: {word} {actual[word]}, expected {value}"


def _group(world: World, names: Names, group: str) -> Json:
    return cast(Json, world.objects[("PodGroup", names.groups[group])].get("status", {}))


def _annotated(world: World, names: Names, expected: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for group, notes in expected.items():
        actual = world.objects["PodGroup", names.groups[group]]["metadata"].get("annotations") or {}
        for name, text in notes.items():
            if actual.get(name) != text:
                yield f"{group}: {name} {actual.get(name)!r}, expected {text!r}"


def _phases(world: World, names: Names, expected: Mapping[str, str]) -> Iterator[str]:
    for group, phase in expected.items():
        if (actual := _group(world, names, group).get("phase", "")) != phase:
            yield f"{group}: {actual}, expected {phase}"


def _says(world: World, names: Names, expected: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Conditions: whether they hold, or the reason of one that does."""
    for group, conditions in expected.items():
        there = {one["type"]: one for one in _group(world, names, group).get("conditions", [])}
        for kind, value in conditions.items():
            one = there.get(kind, {"status": "missing"})
            actual = one["status"] == "True" if isinstance(value, bool) else f"{one.get('reason', 'missing')}"
            if actual != value:
                yield f"{group}: {kind} {one}, expected {value}"


def _waits(world: World, names: Names, expected: Mapping[str, str]) -> Iterator[str]:
    """Why the last decision holds a group, or pods whose group does not exist."""
    for group, reason in expected.items():
        outcome = world.plan.pod_groups.get(names.groups[group])
        actual = str(outcome.refusal.reason) if outcome is not None and outcome.refusal is not None else ""
        if actual != (reason or ""):
            yield f"{group}: {actual or 'nothing'}, expected {reason or 'nothing'}"


def _placed(world: World, names: Names, expected: Mapping[str, int]) -> Iterator[str]:
    """How many pods of a group have a node, whether the group still exists or not."""
    for group, number in expected.items():
        pods = [key for reference, key in names.pods.items() if reference.startswith(f"{group}-")]
        placed = sum(
            bool(world.objects.get(("Pod", key), {}).get("spec", {}).get("nodeName")) for key in pods
        )
        if placed != number:
            yield f"{group}: {placed}, expected {number}"


def _events(world: World, names: Names, expected: Mapping[str, list[str]]) -> Iterator[str]:
    references = {key: reference for reference, key in names.groups.items()}
    actual = {
        references.get(key, key) if kind == "PodGroup" else key: reasons
        for (kind, key), reasons in world.events.items()
    }
    if actual != expected:
        yield f"{actual}, expected {dict(expected)}"


def _commands(world: World, _names: Names, expected: int) -> Iterator[str]:
    left = sum(kind == "Command" for kind, _ in world.objects)
    if left != expected:
        yield f"{left}, expected {expected}"


def _quiet(world: World, _names: Names, expected: bool) -> Iterator[str]:  # noqa: FBT001  # as written
    if expected and world.writes:
        yield f"nothing was to be written, but {world.writes}"


_PLAIN: Final = ("commands", "quiet")
_CHECKS: Final[dict[str, Check]] = {
    "state": _of_status("state"),
    "share": _of_status("share"),
    "summary": _of_status("summary"),
    **{key: _amounts(key) for key in _AMOUNTS},
    "asked": _asked,
    "counters": _counters,
    "conditions": _conditions,
    "quotas": _quotas,
    "made": _made,
    "phases": _phases,
    "annotated": _annotated,
    "says": _says,
    "waits": _waits,
    "placed": _placed,
    "events": _events,
    "commands": _commands,
    "quiet": _quiet,
}
