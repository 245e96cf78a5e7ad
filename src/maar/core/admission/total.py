"""The cluster's total as admission counts it: what nodes have, less what other schedulers' pods hold."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.resources import Resources


class _Holding(NamedTuple):
    """What a pod holds on a node, and whether it is one of ours."""

    node: str
    request: Resources
    is_ours: bool


class Total:
    """A running sum; nothing is added up again.

    A pod of our scheduler counts as ours whatever its queue: only whether that queue is a leaf would tell
    more, and a guarantee is not judged by the difference.
    """

    def __init__(self, scheduler_names: Collection[str]) -> None:
        self.version = 0  # counts changes of the sum
        self._ours = frozenset(scheduler_names)
        self._nodes: dict[str, Node] = {}
        self._usable = 0
        self._pods: dict[str, _Holding] = {}
        self._on_node: dict[str, dict[str, _Holding]] = {}
        self._sum: Counter[str] = Counter()

    @property
    def amounts(self) -> Mapping[str, int] | None:
        """The total by resource; None while no node is usable, when there is nothing to judge by."""
        return self._sum if self._usable else None

    def put_node(self, node: Node) -> None:
        """Learn of a node; a heartbeat changes nothing."""
        name, old = node.metadata.name, self._nodes.get(node.metadata.name)
        if old is None or _looks(old) != _looks(node):
            self.remove_node(name)
            self._nodes[name] = node
            self._count_node(node, 1)

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods stay known."""
        old = self._nodes.pop(name, None)
        if old is not None:
            self._count_node(old, -1)

    def put_pod(self, pod: Pod) -> None:
        """Learn of a pod; only one that holds something on a node matters."""
        if pod.spec.node_name and not pod.is_finished:
            holding = _Holding(pod.spec.node_name, pod.request, pod.spec.scheduler_name in self._ours)
            if self._pods.get(pod.key) != holding:
                self.remove_pod(pod.key)
                self._pods[pod.key] = holding
                self._on_node.setdefault(holding.node, {})[pod.key] = holding
                self._count_pods([holding], self._nodes.get(holding.node), 1)
        else:
            self.remove_pod(pod.key)

    def remove_pod(self, key: str) -> None:
        """Forget a pod."""
        holding = self._pods.pop(key, None)
        if holding is not None:
            self._count_pods([holding], self._nodes.get(holding.node), -1)
            neighbours = self._on_node[holding.node]
            del neighbours[key]
            if not neighbours:
                del self._on_node[holding.node]

    def _count_node(self, node: Node, sign: int) -> None:
        if node.is_ready and not node.spec.unschedulable:
            self._usable += sign
            self._add(node.status.allocatable, sign)
        self._count_pods(self._on_node.get(node.metadata.name, {}).values(), node, sign)

    def _count_pods(self, leaf_usage: Iterable[_Holding], node: Node | None, sign: int) -> None:
        """Others' pods take from nodes that are open; ours add what they hold on nodes that take no more."""
        if node is None or not node.is_ready:
            return
        for holding in leaf_usage:
            if holding.is_ours and node.spec.unschedulable:
                self._add(holding.request, sign)
            elif not holding.is_ours and not node.spec.unschedulable:
                self._add(holding.request, -sign)

    def _add(self, amounts: Mapping[str, int], sign: int) -> None:
        self.version += 1
        for resource, units in amounts.items():
            self._sum[resource] += sign * units


def _looks(node: Node) -> tuple[bool, bool, Resources]:
    return node.is_ready, node.spec.unschedulable, node.status.allocatable
