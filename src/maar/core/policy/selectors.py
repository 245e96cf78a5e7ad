"""Label selectors, and the requirements that selectors consist of, as Kubernetes reads them.

What cannot be read (an unknown operator, a number that is none) matches nothing and affects nothing
else.
"""

import re
from collections.abc import Mapping
from typing import Final

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
