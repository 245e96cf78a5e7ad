"""Maps of quantities as people send them: what is wrong with each, before anything is counted with them."""

import re
from collections.abc import Iterator
from typing import Final

from maar.core.admission.plain import at, below, shown
from maar.core.admission.request import Problem
from maar.core.model.resources import BadAmountError, amount

_MOST_RESOURCES: Final = 64  # as in the definitions
_LONGEST_NAME: Final = 317  # a domain, a slash and a name
_LARGEST: Final = 2**63
_PERCENTAGE: Final = re.compile(r"[0-9]{1,12}([.][0-9]{1,12})?")
_HUNDRED: Final = 100
_TODO: Final = "write for example 500m, 2 or 4Gi"


def bad_quantities(document: object, *path: str) -> Iterator[Problem]:
    """Problems with a map of quantities: each is 0 or more, in Kubernetes' grammar."""
    for field, resource, value in _entries(document, path):
        if resource is None:
            yield Problem(field, shown(value), f"{_unnameable(value)}; leave out what is not meant")
        elif isinstance(value, bool | dict | list) or (isinstance(value, int) and abs(value) > _LARGEST):
            yield Problem(field, shown(value), f"is {shown(value)}, must be a quantity >= 0; {_TODO}")
        else:
            try:
                amount(resource, str(value))
            except BadAmountError as error:
                yield Problem(field, shown(value), f"must be a quantity >= 0: {error.problem}; {_TODO}")


def bad_percentages(document: object, *path: str) -> Iterator[Problem]:
    """Problems with a map of percentages: each is a plain number from 0 to 100."""
    for field, resource, value in _entries(document, path):
        if resource is None:
            yield Problem(field, shown(value), f"{_unnameable(value)}; leave out what is not meant")
        elif not _is_percentage(value):
            problem = f'is {shown(value)}, must be a number from 0 to 100; write for example 20 or "12.5"'
            yield Problem(field, shown(value), problem)


def _entries(document: object, path: tuple[str, ...]) -> Iterator[tuple[str, str | None, object]]:
    """Every entry with its path; one without a resource stands for a map or a name that is too large."""
    amounts, where = at(document, *path), ".".join(path)
    if not isinstance(amounts, dict):
        return  # whether it may be something else is not asked here
    if len(amounts) > _MOST_RESOURCES:
        yield where, None, amounts
        return
    for resource, value in amounts.items():
        is_name = isinstance(resource, str) and len(resource) <= _LONGEST_NAME
        if value is not None:
            yield below(where, resource), resource if is_name else None, value if is_name else resource


def _unnameable(value: object) -> str:
    if isinstance(value, dict):
        return f"names {len(value)} resources, and the most is {_MOST_RESOURCES}"
    return f"is the amount of {shown(value)}, which cannot be the name of a resource"


def _is_percentage(value: object) -> bool:
    if isinstance(value, str):
        return bool(_PERCENTAGE.fullmatch(value)) and float(value) <= _HUNDRED
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _HUNDRED
