"""Rows of nodes: what a node has, and what the pods that may be read take of it."""

from collections.abc import Mapping
from typing import Final

import msgspec

from maar.core.model.node import Node, Taint
from maar.core.model.resources import PODS
from maar.core.views.console.pod_tallies import NodePods

_LABELS: Final = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/arch",
    "nvidia.com/gpu.product",
)


class ConsoleNode(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node as the console shows it."""

    name: str
    ready: bool
    schedulable: bool
    allocatable: dict[str, int]
    used: dict[str, int]
    pods: int
    taints: tuple[str, ...]
    labels: dict[str, str]
    by_queue: dict[str, dict[str, int]]  # pods that are in no queue are under the empty name


def node_row(node: Node, pods: NodePods) -> ConsoleNode:
    """The row of a node."""
    return ConsoleNode(
        name=node.key,
        ready=node.is_ready,
        schedulable=not node.spec.unschedulable,
        allocatable={name: units for name, units in node.status.allocatable.items() if units},
        used=_amounts(pods.used),
        pods=pods.pods,
        taints=tuple(_text(one) for one in node.spec.taints),
        labels={name: node.metadata.labels[name] for name in _LABELS if name in node.metadata.labels},
        by_queue={queue: _amounts(pods.by_queue[queue]) for queue in sorted(pods.by_queue)},
    )


def _amounts(sums: Mapping[str, int]) -> dict[str, int]:
    return {name: units for name, units in sums.items() if units and name != PODS}


def _text(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    return f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"
