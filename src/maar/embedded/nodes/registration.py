"""Putting the nodes of `maar up` into the cluster: those it made before and is not asked for again go."""

from collections.abc import Sequence
from typing import Final, cast

import msgspec

from maar.core.model.node_sizes import NODE_LABEL
from maar.embedded.calls import metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import part
from maar.embedded.nodes.node import stamped
from maar.embedded.store import Store

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
