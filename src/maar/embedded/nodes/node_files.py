"""Files of Node manifests, YAML or JSON, single objects or lists."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

from maar.core.model.kinds import BadObjectError, from_document, without_nulls
from maar.core.model.node import Node
from maar.core.model.node_sizes import BadNodesError
from maar.core.model.resources import BadAmountError, Resources
from maar.embedded.calls import metadata, section
from maar.embedded.failures import Json
from maar.parsing.limits import BadYamlError
from maar.parsing.yaml_documents import documents

_AMOUNTS: Final = ("capacity", "allocatable")
_EXAMPLE: Final = "status: {allocatable: {cpu: 8, memory: 32Gi}}"


def read_nodes(file: Path) -> list[Json]:
    """The nodes of a file, without what only the cluster they were taken from knew of them."""
    try:
        found = list(documents(file.read_bytes()))
    except OSError as error:
        what = (error.strerror or str(error)).lower()
        raise BadNodesError(f"{file}: cannot be read: {what}; name another file") from None
    except BadYamlError as error:
        raise BadNodesError(f"{file}: not YAML: {error}") from None
    nodes = [_node(f"{file}, {place}", one) for place, one in _objects(found)]
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
