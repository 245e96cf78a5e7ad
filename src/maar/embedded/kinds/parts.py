"""Parts of an object that may not be there, or not be what they should, and its conditions."""

from collections.abc import Mapping
from typing import cast

from maar.embedded.failures import Json


def part(value: Json, *path: str) -> Json:
    """An object inside an object; an empty one where there is none."""
    for name in path:
        inner = value.get(name)
        if not isinstance(inner, dict):
            return {}
        value = cast(Json, inner)
    return value


def parts(value: Json, name: str) -> list[Json]:
    """The objects of a list; none where there is no list."""
    inner = value.get(name)
    return [cast(Json, item) for item in inner if isinstance(item, dict)] if isinstance(inner, list) else []


def words(value: Json, name: str) -> list[str]:
    """The texts of a list; none where there is no list."""
    inner = value.get(name)
    return [item for item in inner if isinstance(item, str)] if isinstance(inner, list) else []


def labels(value: Json) -> Mapping[str, str]:
    """The labels of an object."""
    return cast(Mapping[str, str], part(value, "metadata", "labels"))


def number(value: Json, name: str, otherwise: int = 0) -> int:
    """A whole number."""
    inner = value.get(name)
    return inner if isinstance(inner, int) else otherwise


def condition(status: Json, type_: str) -> Json | None:
    """The condition of a type, or None."""
    return next((stated for stated in parts(status, "conditions") if stated.get("type") == type_), None)


def is_true(status: Json, type_: str) -> bool:
    """Whether a condition is there and holds."""
    stated = condition(status, type_)
    return stated is not None and stated.get("status") == "True"


def with_condition(status: Json, wanted: Json, now: str) -> Json:
    """A status with a condition in place of the one of its type, with the time when its status changed."""
    before = condition(status, str(wanted["type"]))
    since = now
    if before is not None and before.get("status") == wanted["status"]:
        since = str(before.get("lastTransitionTime") or now)
    changed = {**wanted, "lastTransitionTime": since}
    others = [one for one in parts(status, "conditions") if one.get("type") != wanted["type"]]
    return {**status, "conditions": [*others, changed]}
