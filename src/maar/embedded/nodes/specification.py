"""The nodes of `maar up --nodes`: so many of a size, the nodes of a file, or none."""

import re
from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path
from typing import Final

from maar.core.model.quantity import BadQuantityError, Quantity
from maar.core.model.resources import CPU, MEMORY, BadAmountError, amount, quantity_text
from maar.embedded.calls import metadata, text
from maar.embedded.failures import Json
from maar.embedded.nodes.node import NODE_LABEL, completed
from maar.embedded.nodes.node_files import BadNodesError, read_nodes

NO_NODES: Final = "none"

_EXAMPLE: Final = "4x8cpu,32Gi or 2x64cpu,512Gi,8nvidia.com/gpu,zone=a"
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


def parse(*texts: str, taken: Collection[str] = ()) -> list[Json]:
    """The Node manifests that some specifications ask for together; `taken` are names of other nodes."""
    nodes = [node for one in texts for node in _nodes(one.strip())]
    names = set(taken)
    for node in nodes:
        if (name := text(metadata(node), "name")) in names:
            raise BadNodesError(f"there are two nodes of the name {name}: rename or remove one of them")
        if name:
            names.add(name)
    free = (name for number in count(1) if (name := f"node-{number}") not in names)
    for node in nodes:
        meta = metadata(node)
        meta["name"] = text(meta, "name") or next(free)
    return [completed(node, "virtual") for node in nodes]


def _nodes(text_: str) -> Iterator[Json]:
    if text_ == NO_NODES:
        return
    if match := _COUNTED.fullmatch(text_):
        number = int(match[1])
        if not 0 < number <= _MOST_NODES:
            raise _bad(text_, f"{number} nodes; between 1 and {_MOST_NODES} can be asked for")
        labels, amounts = _described(text_, match[2])
        for _ in range(number):
            yield {"metadata": {"labels": dict(labels)}, "status": {"capacity": dict(amounts)}}
    elif _is_file(text_):
        yield from read_nodes(Path(text_))
    else:
        raise BadNodesError(
            f"--nodes {text_!r}: neither nodes of a size, nor a file that exists, nor none: write {_EXAMPLE}"
        )


def _is_file(text_: str) -> bool:
    try:
        return Path(text_).is_file()
    except OSError:  # too long for a path, or in a folder that is closed to us
        return False


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


def _is_quantity(text_: str) -> bool:
    try:
        Quantity.parse(text_)
    except BadQuantityError:
        return False
    return True


def _bad(whole: str, problem: str) -> BadNodesError:
    return BadNodesError(f"--nodes {whole!r}: {problem}: write {_EXAMPLE}")
