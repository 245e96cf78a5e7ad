"""Parts of an object that may not be there, or not be what they should, and its conditions."""

from collections.abc import Mapping
from typing import cast

from maar.embedded.failures import Json


def part(value: Json, *path: str) -> Json:
    """An object inside an object; an empty one where there is none."""
    for name in path:
        found = value.get(name)
        if not isinstance(found, dict):
            return {}
        value = cast(Json, found)
    return value


def parts(value: Json, name: str) -> list[Json]:
    """The objects of a list; none where there is no list."""
    found = value.get(name)
    return [cast(Json, one) for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def words(value: Json, name: str) -> list[str]:
    """The texts of a list; none where there is no list."""
    found = value.get(name)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def labels(value: Json) -> Mapping[str, str]:
    """The labels of an object."""
    return cast(Mapping[str, str], part(value, "metadata", "labels"))


def number(value: Json, name: str, otherwise: int = 0) -> int:
    """A whole number."""
    found = value.get(name)
    return found if isinstance(found, int) else otherwise


def condition(status: Json, kind: str) -> Json | None:
    """The condition of a type, or None."""
    return next((one for one in parts(status, "conditions") if one.get("type") == kind), None)


def is_true(status: Json, kind: str) -> bool:
    """Whether a condition is there and holds."""
    found = condition(status, kind)
    return found is not None and found.get("status") == "True"


def with_condition(status: Json, wanted: Json, now: str) -> Json:
    """A status with a condition in place of the one of its type, with the time when its status changed."""
    before = condition(status, str(wanted["type"]))
    since = now
    if before is not None and before.get("status") == wanted["status"]:
        since = str(before.get("lastTransitionTime") or now)
    changed = {**wanted, "lastTransitionTime": since}
    others = [one for one in parts(status, "conditions") if one.get("type") != wanted["type"]]
    return {**status, "conditions": [*others, changed]}
