"""Nodes as people write them: so many of a size, such as 4x8cpu,32Gi."""

import re
from typing import Final, NamedTuple

from maar.core.model.quantity import BadQuantityError, Quantity
from maar.core.model.resources import CPU, MEMORY, BadAmountError, amount, quantity_text

NODE_LABEL: Final = "maar.sh/node"  # on nodes that are not machines
MOST_PODS: Final = "110"  # of a node that does not say how many it takes
EXAMPLE: Final = "4x8cpu,32Gi or 2x64cpu,512Gi,8nvidia.com/gpu,zone=a"
_MOST_NODES: Final = 100_000
_LEAST_MEMORY: Final = 1 << 20  # bytes; with less the unit was probably forgotten
_COUNTED: Final = re.compile(r"(\d{1,9})x(.*)", re.ASCII | re.DOTALL)
_WELL_KNOWN: Final = re.compile(r"(.*?)(cpu|memory|ephemeral-storage|pods|hugepages-\w+)", re.ASCII)
_EXTENDED: Final = re.compile(r"(\d+)([A-Za-z].*)", re.ASCII)
_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_QUALIFIED: Final = re.compile(rf"{_DOMAIN}/{_NAME}", re.ASCII)
_LABEL_KEY: Final = re.compile(rf"(?:{_DOMAIN}/)?{_NAME}", re.ASCII)
_LABEL_VALUE: Final = re.compile(rf"(?:{_NAME})?", re.ASCII)
_SHORT_LABELS: Final = {"zone": "topology.kubernetes.io/zone"}


class BadNodesError(ValueError):
    """Nodes that cannot be made: what was given, what is wrong with it, and what to write.

    It begins with what was given, so that a caller can put the name of its flag or field before it.
    """


class NodeSize(NamedTuple):
    """How many nodes, and the labels and amounts of each."""

    number: int
    labels: dict[str, str]
    amounts: dict[str, str]


def read_size(text: str) -> NodeSize | None:
    """Read nodes of a size; None where the text is something else altogether."""
    match = _COUNTED.fullmatch(text)
    if match is None:
        return None
    number = int(match[1])
    if not 0 < number <= _MOST_NODES:
        raise _bad(text, f"{number} nodes; between 1 and {_MOST_NODES} can be asked for")
    return NodeSize(number, *_described(text, match[2]))


def _described(whole: str, items: str) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and the amounts of each node."""
    labels: dict[str, str] = {}
    amounts: dict[str, str] = {}
    for item in (one.strip() for one in items.split(",")):
        key, equals, value = item.partition("=")
        if equals:
            name, found, into = _SHORT_LABELS.get(key, key), _label(whole, key, value), labels
        else:
            (name, found), into = _amount(whole, item), amounts
        if name in into:
            raise _bad(whole, f"{name} is given twice")
        into[name] = found
    for name in (CPU, MEMORY):
        if name not in amounts:
            raise _bad(whole, f"it does not say how much {name} a node has")
    return labels, amounts


def _label(whole: str, key: str, value: str) -> str:
    if not _LABEL_KEY.fullmatch(key) or key == NODE_LABEL:
        raise _bad(whole, f"{key!r} cannot be the key of a label")
    if not _LABEL_VALUE.fullmatch(value):
        raise _bad(whole, f"{value!r} cannot be the value of a label")
    return value


def _amount(whole: str, item: str) -> tuple[str, str]:
    """One amount: a plain quantity is memory, any other is followed by what it is of."""
    if _is_quantity(item):
        name, quantity = MEMORY, item
    elif match := _of_resource(item):
        quantity, name = match[1], match[2]
    else:
        raise _bad(whole, f"{item!r} is neither an amount of a resource nor a label")
    try:
        units = amount(name, quantity)
    except BadAmountError as error:
        raise _bad(whole, str(error)) from None
    if name == MEMORY and units < _LEAST_MEMORY:
        raise _bad(whole, f"{item!r} is less than 1Mi of memory, its unit may be missing")
    return name, quantity_text(name, units)


def _of_resource(item: str) -> re.Match[str] | None:
    if (match := _WELL_KNOWN.fullmatch(item)) and _is_quantity(match[1]):
        return match
    match = _EXTENDED.fullmatch(item)
    return match if match and _QUALIFIED.fullmatch(match[2]) else None


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except BadQuantityError:
        return False
    return True


def _bad(whole: str, problem: str) -> BadNodesError:
    return BadNodesError(f"{whole!r}: {problem}: write {EXAMPLE}")
