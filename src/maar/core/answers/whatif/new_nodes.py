"""Nodes that a question adds to a cluster, by their size."""

from collections.abc import Collection, Iterable
from itertools import count

from maar.core.answers.whatif.known_objects import BadChangeError
from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.node_sizes import EXAMPLE, MOST_PODS, NODE_LABEL, BadNodesError, NodeSize, read_size
from maar.core.model.resources import PODS, Resources


def new_nodes(texts: Iterable[str], taken: Collection[str], most: int) -> tuple[Node, ...]:
    """The nodes that texts ask for together, so many at most; `taken` are the names of those there are."""
    sizes = [_size(one) for one in texts]
    wanted = sum(size.number for size in sizes)
    if wanted > most:
        raise BadChangeError(f"{wanted} nodes to add; ask about {most} at most")
    free = (name for number in count(1) if (name := f"node-{number}") not in taken)
    return tuple(_node(next(free), size) for size in sizes for _ in range(size.number))


def _size(text: str) -> NodeSize:
    try:
        found = read_size(text.strip())
    except BadNodesError as error:
        raise BadChangeError(f"nodes to add {error}") from None
    if found is None:
        raise BadChangeError(f"nodes to add {text!r}: these are no nodes of a size: write {EXAMPLE}")
    return found


def _node(name: str, size: NodeSize) -> Node:
    """A node that is ready, labelled as those of `maar up`."""
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node-role.kubernetes.io/virtual": "",
        **size.labels,
        NODE_LABEL: "virtual",
    }
    amounts = Resources.parse({PODS: MOST_PODS, **size.amounts})
    return Node(
        metadata=Metadata(name=name, labels=labels),
        status=NodeStatus(allocatable=amounts, conditions=(Condition(type="Ready", status="True"),)),
    )
