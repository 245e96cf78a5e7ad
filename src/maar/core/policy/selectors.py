"""Who is meant: label selectors and node selectors, matched one by one as Kubernetes does.

What cannot be read (an unknown operator, a number that is none) matches nothing and harms nobody else.
"""

import re
from collections.abc import Mapping
from typing import Final

from maar.core.model.affinity import NodeSelector, NodeSelectorTerm
from maar.core.model.metadata import LabelSelector, Requirement
from maar.core.model.taints import compares, whole_number

NAME_FIELD: Final = "metadata.name"
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
NODE_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})
LABEL_OPERATORS: Final = NODE_OPERATORS - {"Gt", "Lt"}
FIELD_OPERATORS: Final = frozenset({"In", "NotIn"})

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")


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
            limit = whole_number(requirement.values[0], _WHOLE) if len(requirement.values) == 1 else None
            return compares(operator, whole_number(value, _WHOLE), limit)
