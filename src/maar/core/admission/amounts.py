"""Maps of quantities as people send them: what is wrong with each, before anything is counted with them."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from maar.core.admission.plain import at, below, brief
from maar.core.admission.request import Problem
from maar.core.model.resources import BadAmountError, amount

_MOST_RESOURCES: Final = 64  # as in the definitions
_LONGEST_NAME: Final = 317  # a domain, a slash and a name
_LARGEST: Final = 2**63
_HUNDRED: Final = 100
_PERCENTAGE: Final = re.compile(r"[0-9]{1,12}([.][0-9]{1,12})?")


def bad_quantities(document: object, *path: str) -> Iterator[Problem]:
    """Problems with a map of quantities: each is 0 or more, in Kubernetes' grammar."""
    return _bad_entries(at(document, *path), ".".join(path), _bad_quantity)


def bad_percentages(document: object, *path: str) -> Iterator[Problem]:
    """Problems with a map of percentages: each is a plain number from 0 to 100."""
    return _bad_entries(at(document, *path), ".".join(path), _bad_percentage)


def _bad_entries(amounts: object, path: str, problem: Callable[[str, object], str]) -> Iterator[Problem]:
    """Problems with single entries; a map that is something else is not this rule's."""
    if not isinstance(amounts, dict):
        return
    if len(amounts) > _MOST_RESOURCES:
        sentence = f"names {len(amounts)} resources, and the most is {_MOST_RESOURCES}; leave some out"
        yield Problem(path, brief(amounts), sentence)
        return
    for resource, value in amounts.items():
        if not isinstance(resource, str) or not 0 < len(resource) <= _LONGEST_NAME:
            sentence = f"is the amount of {brief(resource)}; name a resource, such as cpu or nvidia.com/gpu"
        else:
            sentence = problem(resource, value) if value is not None else ""
        if sentence:
            yield Problem(below(path, resource), brief(value), sentence)


def _bad_quantity(resource: str, value: object) -> str:
    if isinstance(value, bool | dict | list) or (isinstance(value, int) and abs(value) > _LARGEST):
        return f"is {brief(value)}, must be a quantity >= 0; write for example 500m, 2 or 4Gi"
    try:
        amount(resource, str(value))
    except BadAmountError as error:
        return f"must be a quantity >= 0: {error.problem}"
    return ""


def _bad_percentage(_resource: str, value: object) -> str:
    if isinstance(value, str):
        is_right = bool(_PERCENTAGE.fullmatch(value)) and float(value) <= _HUNDRED
    else:
        is_right = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _HUNDRED
    return "" if is_right else f'is {brief(value)}, must be from 0 to 100; write for example 20 or "12.5"'
