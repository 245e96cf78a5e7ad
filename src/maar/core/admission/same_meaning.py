"""Whether two values mean the same to Kubernetes, however clients write them.

Typed clients leave out what is empty, or write it where it was left out, and give quantities their
canonical form.
"""

from typing import Final

from maar.core.admission.plain import map_at
from maar.core.model.resources import BadAmountError, amount

_EMPTY: Final[tuple[object, ...]] = (None, "", [], {})
_QUANTITIES: Final = frozenset({"requests", "limits", "overhead"})


def means_the_same(one: object, other: object, field: object = "") -> bool:
    """Whether two values of a field differ in nothing but how they are written."""
    if isinstance(one, dict) or isinstance(other, dict):
        if not (isinstance(one, dict) or one in _EMPTY) or not (isinstance(other, dict) or other in _EMPTY):
            return False
        before, after = map_at(one), map_at(other)
        if field in _QUANTITIES:
            return all(_is_same_amount(key, before.get(key), after.get(key)) for key in {**before, **after})
        return all(means_the_same(before.get(key), after.get(key), key) for key in {**before, **after})
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(means_the_same, one, other))
    return one == other or (one in _EMPTY and other in _EMPTY)


def _is_same_amount(resource: object, one: object, other: object) -> bool:
    try:
        return amount(str(resource), str(one)) == amount(str(resource), str(other))
    except BadAmountError:
        return one == other
