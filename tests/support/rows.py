"""Rows for tests of policies: nodes and pods in Kubernetes' own spelling, as much as a test needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from maar.core.model.kinds import from_document
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.tables.axis import ResourceAxis
from maar.core.tables.reading import read_node, read_pod
from maar.core.tables.rows import NodeRow, PodRow
from maar.core.tables.shapes import Shapes

_DELETED = "2026-03-01T11:00:00Z"


@dataclass
class Rows:
    """Rows that belong together: nodes are numbered as they come, pods that are equal share a shape."""

    axis: ResourceAxis = field(default_factory=ResourceAxis)
    nodes: list[NodeRow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shapes = Shapes(self.axis)

    def node(
        self,
        name: str,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[str] = (),
        *,
        ready: bool = True,
        unschedulable: bool = False,
    ) -> NodeRow:
        """A node; taints are written key=value:Effect."""
        document = {
            "kind": "Node",
            "metadata": {"name": name, "labels": dict(labels or {})},
            "spec": {"unschedulable": unschedulable, "taints": [_taint(text) for text in taints]},
            "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
        }
        row = read_node(from_document(Node, document), self.axis)
        row.index = len(self.nodes)
        self.nodes.append(row)
        return row

    def pod(
        self,
        name: str = "new",
        labels: Mapping[str, str] | None = None,
        spec: Mapping[str, object] | None = None,
        *,
        namespace: str = "default",
        leaving: bool = False,
    ) -> PodRow:
        """A pod."""
        metadata = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
        if leaving:
            metadata["deletionTimestamp"] = _DELETED
        document = {"kind": "Pod", "metadata": metadata, "spec": dict(spec or {})}
        return read_pod(from_document(Pod, document), self.shapes, "volcano")


def _taint(text: str) -> dict[str, str]:
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}
