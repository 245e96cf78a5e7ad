"""Conditions: what is said about an object, and since when."""

from maar.embedded.failures import Json
from maar.embedded.kinds.parts import parts


def condition(status: Json, kind: str) -> Json | None:
    """The condition of a type, or None."""
    return next((one for one in parts(status, "conditions") if one.get("type") == kind), None)


def is_true(status: Json, kind: str) -> bool:
    """Whether a condition is there and holds."""
    found = condition(status, kind)
    return found is not None and found.get("status") == "True"


def saying(status: Json, statement: Json, now: str) -> Json:
    """A status with a condition in place of the one of its type, with the time when its status changed."""
    before = condition(status, str(statement["type"]))
    since = now
    if before is not None and before.get("status") == statement["status"]:
        since = str(before.get("lastTransitionTime") or now)
    said = {**statement, "lastTransitionTime": since}
    others = [one for one in parts(status, "conditions") if one.get("type") != statement["type"]]
    return {**status, "conditions": [*others, said]}
