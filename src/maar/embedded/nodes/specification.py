"""Nodes as flags such as `maar up --nodes` name them: so many of a size, or the nodes of a file."""

from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path
from typing import Final

from maar.core.model.node_sizes import EXAMPLE, BadNodesError, read_size
from maar.embedded.calls import metadata, text
from maar.embedded.failures import Json
from maar.embedded.nodes.node import completed
from maar.embedded.nodes.node_files import read_nodes

NO_NODES: Final = "none"


def parse(*texts: str, taken: Collection[str] = (), may_be_none: bool = False) -> list[Json]:
    """The Node manifests that some specifications ask for together; `taken` are names of other nodes."""
    nodes, names = list[Json](), set(taken)
    for one in texts:
        for node in _nodes(one.strip(), may_be_none=may_be_none):
            if (name := text(metadata(node), "name")) in names:
                raise BadNodesError(
                    f"{one.strip()}: there are two nodes of the name {name}: rename or remove one of them"
                )
            if name:
                names.add(name)
            nodes.append(node)
    free = (name for number in count(1) if (name := f"node-{number}") not in names)
    for node in nodes:
        meta = metadata(node)
        meta["name"] = text(meta, "name") or next(free)
    return [completed(node, "virtual") for node in nodes]


def _nodes(text_: str, *, may_be_none: bool) -> Iterator[Json]:
    if may_be_none and text_ == NO_NODES:
        return
    if size := read_size(text_):
        for _ in range(size.number):
            yield {"metadata": {"labels": dict(size.labels)}, "status": {"capacity": dict(size.amounts)}}
    elif _is_file(text_):
        yield from read_nodes(Path(text_))
    else:
        none = f", nor {NO_NODES}" if may_be_none else ""
        raise BadNodesError(
            f"{text_!r}: neither nodes of a size, nor a file that exists{none}: write {EXAMPLE}"
        )


def _is_file(text_: str) -> bool:
    try:
        return Path(text_).is_file()
    except OSError:  # too long for a path, or in a folder that is closed to us
        return False
