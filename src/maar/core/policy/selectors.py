"""Who is meant: label selectors, node selectors and tolerations, matched one by one as Kubernetes does.

What cannot be read (an unknown operator, a number that is none) matches nothing and harms nobody else.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from maar.core.model.affinity import NodeSelector, NodeSelectorTerm, Toleration
from maar.core.model.metadata import LabelSelector, Requirement
from maar.core.model.node import Taint

NAME_FIELD: Final = "metadata.name"
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
NODE_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})
LABEL_OPERATORS: Final = NODE_OPERATORS - {"Gt", "Lt"}
FIELD_OPERATORS: Final = frozenset({"In", "NotIn"})
KEEPS_OUT: Final = frozenset({"NoSchedule", "NoExecute"})
DISCOURAGES: Final = frozenset({"PreferNoSchedule"})

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")
_WHOLE_AS_TAINTS_HAVE_IT: Final = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LARGEST: Final = 2**63


def match_selector(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector means these labels; none means nothing, an empty one everything."""
    return selector is not None and all(
        meets(requirement, labels.get(requirement.key), LABEL_OPERATORS)
        for requirement in requirements(selector)
    )


def match_node_selector(selector: NodeSelector, labels: Mapping[str, str], name: str) -> bool:
    """Whether a node meets at least one term; an empty term is met by none."""
    return any(match_node_term(term, labels, name) for term in selector.node_selector_terms)


def match_node_term(term: NodeSelectorTerm, labels: Mapping[str, str], name: str) -> bool:
    """Whether a node meets everything a term asks of its labels and its name."""
    if not term.match_expressions and not term.match_fields:
        return False
    return all(meets(one, labels.get(one.key)) for one in term.match_expressions) and all(
        one.key == NAME_FIELD and meets(one, name, FIELD_OPERATORS) for one in term.match_fields
    )


def requirements(selector: LabelSelector) -> tuple[Requirement, ...]:
    """A selector as requirements only, the same for selectors that say the same in another order."""
    equal = [Requirement(key=key, operator="In", values=(to,)) for key, to in selector.match_labels.items()]
    return tuple(
        sorted((*equal, *selector.match_expressions), key=lambda one: (one.key, one.operator, one.values))
    )


def meets(requirement: Requirement, value: str | None, operators: frozenset[str] = NODE_OPERATORS) -> bool:
    """Whether a value meets a requirement; None stands for a label that is not there."""
    if requirement.operator not in operators:
        return False
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            limit = _number(requirement.values[0], _WHOLE) if len(requirement.values) == 1 else None
            return _compares(operator, _number(value, _WHOLE), limit)


def untolerated(
    tolerations: Iterable[Toleration], taints: Iterable[Taint], effects: frozenset[str] = KEEPS_OUT
) -> list[Taint]:
    """The taints with one of these effects that nothing tolerates."""
    return [
        taint
        for taint in taints
        if taint.effect in effects and not any(tolerates(one, taint) for one in tolerations)
    ]


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration puts up with a taint; an empty key or effect stands for all."""
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
            limit = _number(toleration.value, _WHOLE_AS_TAINTS_HAVE_IT)
            return _compares(operator, _number(taint.value, _WHOLE_AS_TAINTS_HAVE_IT), limit)
        case _:
            return False


def _compares(operator: str, number: int | None, limit: int | None) -> bool:
    if number is None or limit is None:
        return False
    return number > limit if operator == "Gt" else number < limit


def _number(text: str | None, pattern: re.Pattern[str]) -> int | None:
    """Read a whole number of 64 bits."""
    if text is None or not pattern.fullmatch(text):
        return None
    number = int(text)
    return number if -_LARGEST <= number < _LARGEST else None
