"""Which elements of two lists are the same, and in what order they stand together."""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Final

from maar.embedded.patch.refusals import as_go_prints, named_type, unexpected, unprocessable

PLAIN: Final = "*"  # the patch key of a list of plain values: each is its own key


def identities(items: Sequence[object], key: str) -> list[Hashable]:
    """What tells each of the elements apart from the others of its list."""
    return [identity(item, key) for item in items]


def identity(item: object, key: str) -> Hashable:
    """What tells an element apart from the others of its list: the value of its key, or itself."""
    if key != PLAIN:
        if not isinstance(item, dict):
            raise unexpected(f"an element of a list merged by '{key}' is an object, not {named_type(item)}")
        if key not in item:
            raise unexpected(f"map: {as_go_prints(item)} does not contain declared merge key: {key}")
        item = item[key]
    if isinstance(item, list):
        raise unprocessable("lists of lists are not supported")
    if isinstance(item, dict):
        raise unexpected("list element types are not identical: an object among plain values")
    return isinstance(item, bool), item  # true is not 1


def follows(chosen: Sequence[Hashable], order: Sequence[Hashable]) -> bool:
    """Whether the chosen ones are in the order, and stand in it as they stand in the list."""
    rest = iter(order)
    return not order or all(one in rest for one in chosen)


def in_order(
    items: Sequence[object], key: str, order: Sequence[Hashable], live: Sequence[Hashable]
) -> list[object]:
    """Put what the order names in that order, and the rest where it stood among them in the live list."""
    rank = {one: position for position, one in reversed(list(enumerate(order)))}
    place = {one: position for position, one in reversed(list(enumerate(live)))}
    elements = [(identity(item, key), item) for item in items]
    others = deque(element for element in elements if element[0] not in rank)
    result: list[object] = []
    for one, item in sorted((e for e in elements if e[0] in rank), key=lambda e: rank[e[0]]):
        while others and place.get(others[0][0], len(live)) < place.get(one, -1):
            result.append(others.popleft()[1])
        result.append(item)
    return result + [item for _, item in others]
