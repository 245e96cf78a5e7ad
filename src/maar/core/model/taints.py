"""Taints and tolerations, matched one by one as Kubernetes does."""

import re
from collections.abc import Iterable
from typing import Final

from maar.core.model.affinity import Toleration
from maar.core.model.node import Taint

KEEPS_OUT: Final = frozenset({"NoSchedule", "NoExecute"})
OF_CLOSED_NODES: Final = "node.kubernetes.io/"  # taints that nodes have while they cannot be used
OF_UNSCHEDULABLE: Final = f"{OF_CLOSED_NODES}unschedulable"
DISCOURAGES: Final = frozenset({"PreferNoSchedule"})

_WHOLE: Final = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LARGEST: Final = 2**63


def untolerated(
    tolerations: Iterable[Toleration], taints: Iterable[Taint], effects: frozenset[str] = KEEPS_OUT
) -> list[Taint]:
    """The taints with one of these effects that nothing tolerates."""
    return [
        taint
        for taint in taints
        if taint.effect in effects and not any(tolerates(one, taint) for one in tolerations)
    ]


def in_the_way(tolerations: Iterable[Toleration], taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """The taints that pods would have to tolerate; none where some of them are those of a node that fails."""
    found = untolerated(tolerations, taints)
    return () if any(one.key.startswith(OF_CLOSED_NODES) for one in found) else tuple(found)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration tolerates a taint; an empty key or effect stands for all."""
    if (toleration.effect and toleration.effect != taint.effect) or (
        toleration.key and toleration.key != taint.key
    ):
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt" | "Lt" as operator:
            limit = whole_number(toleration.value, _WHOLE)
            return compares(operator, whole_number(taint.value, _WHOLE), limit)
        case _:
            return False


def compares(operator: str, number: int | None, limit: int | None) -> bool:
    """Whether a number is above or below a limit; what is no number is neither."""
    if number is None or limit is None:
        return False
    return number > limit if operator == "Gt" else number < limit


def whole_number(text: str | None, pattern: re.Pattern[str]) -> int | None:
    """Read a whole number of 64 bits."""
    if text is None or not pattern.fullmatch(text):
        return None
    number = int(text)
    return number if -_LARGEST <= number < _LARGEST else None
