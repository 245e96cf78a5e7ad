"""Nodes as flags such as `maar up --nodes` name them: of a size or of a file, and put into the cluster."""

from collections.abc import Collection, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final, cast

import msgspec

from maar.core.model.kinds import BadObjectError, from_document, without_nulls
from maar.core.model.node import Node
from maar.core.model.node_sizes import EXAMPLE, NODE_LABEL, BadNodesError, read_size
from maar.core.model.resources import BadAmountError, Resources
from maar.embedded.calls import metadata, section, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import part
from maar.embedded.nodes.node import completed, stamped
from maar.embedded.store import Store
from maar.parsing.limits import BadYamlError
from maar.parsing.yaml_documents import documents

_NO_NODES: Final = "none"


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
    if may_be_none and text_ == _NO_NODES:
        return
    if size := read_size(text_):
        for _ in range(size.number):
            yield {"metadata": {"labels": dict(size.labels)}, "status": {"capacity": dict(size.amounts)}}
    elif _is_file(text_):
        yield from _read_nodes(Path(text_))
    else:
        none = f", nor {_NO_NODES}" if may_be_none else ""
        raise BadNodesError(
            f"{text_!r}: neither nodes of a size, nor a file that exists{none}: write {EXAMPLE}"
        )


def _is_file(text_: str) -> bool:
    try:
        return Path(text_).is_file()
    except OSError:  # too long for a path, or in a folder that is closed to us
        return False


_AMOUNTS: Final = ("capacity", "allocatable")
_EXAMPLE: Final = "status: {allocatable: {cpu: 8, memory: 32Gi}}"


def _read_nodes(file: Path) -> list[Json]:
    """The nodes of a file, without what only the cluster they were taken from knew of them."""
    try:
        found = list(documents(file.read_bytes()))
    except OSError as error:
        what = (error.strerror or str(error)).lower()
        raise BadNodesError(f"{file}: cannot be read: {what}; name another file") from None
    except BadYamlError as error:
        raise BadNodesError(f"{file}: not YAML: {error}") from None
    nodes = [_node(f"{file}, {position}", one) for position, one in _objects(found)]
    if not nodes:
        raise BadNodesError(f"{file}: the file has no nodes; add them to it, or name another file")
    return nodes


def _objects(documents: list[object]) -> Iterator[tuple[str, object]]:
    for number, document in enumerate(documents, start=1):
        if isinstance(document, dict) and isinstance(document.get("items"), list):
            for index, item in enumerate(document["items"], start=1):
                yield f"document {number}, item {index}", item
        elif document is not None:
            yield f"document {number}", document


def _node(place: str, found: object) -> Json:
    if not isinstance(found, dict) or (found.get("apiVersion"), found.get("kind")) != ("v1", "Node"):
        raise BadNodesError(f"{place}: not a Node: each object of the file needs apiVersion: v1, kind: Node")
    try:
        node = from_document(Node, found)
        value = cast(Json, without_nulls(found))
        status = section(value, "status")
        for name in _AMOUNTS:
            if name in status:
                status[name] = Resources.parse(section(status, name)).quantities()
    except (BadObjectError, BadAmountError) as error:
        raise BadNodesError(f"{place}: {error}") from None
    if not node.metadata.name:
        raise BadNodesError(f"{place}: the Node has no name: add metadata: {{name: node-a}}")
    if not any(status.get(name) for name in _AMOUNTS):
        raise BadNodesError(
            f"{place}: node {node.metadata.name} has no allocatable resources: add {_EXAMPLE}"
        )
    meta = metadata(value)
    value["metadata"] = {name: meta[name] for name in ("name", "labels", "annotations") if name in meta}
    return value


_DECLARED: Final = "maar.sh/declared-labels"  # on nodes that the command line made, and may take away

_NODES: Final = "nodes"
_FROM_MACHINE: Final = ("capacity", "allocatable", "nodeInfo", "addresses")


def register(cluster: Cluster, nodes: Sequence[Json], *, keep_virtual: bool = False) -> list[str]:
    """Make the declared nodes of a cluster these; taints, cordons and labels that people added stay.

    With `keep_virtual` virtual nodes of before stay too. Gives the names of the nodes that were taken away.
    """
    wanted = {text(metadata(node), "name") for node in nodes}
    with cluster.store.transaction():
        there = {text(metadata(node), "name"): node for node in cluster.all(_NODES)}
        for node in nodes:
            _put(cluster, there.get(text(metadata(node), "name")), _declared(node, cluster.now()))
        gone = [
            name
            for name, node in there.items()
            if name not in wanted
            and _DECLARED in part(metadata(node), "annotations")
            and not (keep_virtual and _is_virtual(node))
        ]
        for name in gone:
            cluster.delete(_NODES, "", name)
    return gone


def virtual_nodes(store: Store) -> list[Json]:
    """The virtual nodes that an earlier start made on its command line."""
    nodes: list[Json] = [msgspec.json.decode(body) for _, _, body in store.page(_NODES, None)]
    return [node for node in nodes if _DECLARED in part(metadata(node), "annotations") and _is_virtual(node)]


def _is_virtual(node: Json) -> bool:
    return part(metadata(node), "labels").get(NODE_LABEL) == "virtual"


def _declared(node: Json, now: str) -> Json:
    meta = dict(metadata(node))
    labels = ",".join(sorted(part(meta, "labels")))
    meta["annotations"] = {**part(meta, "annotations"), _DECLARED: labels}
    return stamped({**node, "metadata": meta}, now)


def _put(cluster: Cluster, old: Json | None, node: Json) -> None:
    name, meta, status = text(metadata(node), "name"), metadata(node), part(node, "status")
    if old is None:
        cluster.create(_NODES, "", node)
        return
    before, was = metadata(old), part(old, "status")
    withdrawn = text(part(before, "annotations"), _DECLARED).split(",")
    kept = {key: value for key, value in part(before, "labels").items() if key not in withdrawn}
    parts: Json = {
        "labels": {**kept, **part(meta, "labels")},
        "annotations": {**part(before, "annotations"), **part(meta, "annotations")},
    }
    if any(before[part] != parts[part] for part in parts):
        cluster.change(_NODES, "", name, lambda value: {**value, "metadata": {**metadata(value), **parts}})
    new: Json = {**was, **{part: status[part] for part in _FROM_MACHINE}}
    if _standing(was) != _standing(status):
        new["conditions"] = status["conditions"]
    if new != was:
        cluster.change(_NODES, "", name, lambda value: {**value, "status": new}, "status")


def _standing(status: Json) -> set[tuple[object, object]]:
    """Which conditions hold, whenever they began to."""
    return {(one.get("type"), one.get("status")) for one in cast(list[Json], status.get("conditions") or [])}
