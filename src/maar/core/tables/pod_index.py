"""Pods by a name that they have in common: that of a group or a node, which may come later."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from maar.core.tables.rows import NodeRow, PodRow


class PodIndex:
    """Finds pods by the name, without a search through all pods."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[str, PodRow]] = {}

    def add(self, name: str, pod: PodRow) -> None:
        """Add a pod; one that names nothing is not kept."""
        if name:
            self._by_name.setdefault(name, {})[pod.key] = pod

    def remove(self, name: str, pod: PodRow) -> None:
        """Remove a pod, where it is there."""
        pods = self._by_name.get(name, {})
        if pods.pop(pod.key, None) is not None and not pods:
            del self._by_name[name]

    def of(self, name: str) -> Collection[PodRow]:
        """The pods of a name."""
        return self._by_name.get(name, {}).values()

    def take(self, name: str) -> Collection[PodRow]:
        """Remove the pods of a name, and give them."""
        return self._by_name.pop(name, {}).values()


@dataclass
class PodsByNode:
    """The pods that a change of a node concerns: those on it, and those that are promised it.

    A pod whose node is not there is kept until the node comes. A search for these pods among all
    pods would make the time to learn a cluster grow with the nodes times the pods.
    """

    nodes: Mapping[str, NodeRow]  # each has the pods on it
    _without_node: PodIndex = field(default_factory=PodIndex)
    _promised: PodIndex = field(default_factory=PodIndex)  # and on no node

    def add(self, pod: PodRow) -> None:
        """Add a pod to its node, or to those without one."""
        if not pod.node_name:
            self._promised.add(pod.promised, pod)
        elif pod.node_name in self.nodes:
            self.nodes[pod.node_name].pods[pod.key] = pod
        else:
            self._without_node.add(pod.node_name, pod)

    def remove(self, pod: PodRow) -> None:
        """Remove a pod."""
        if not pod.node_name:
            self._promised.remove(pod.promised, pod)
        elif pod.node_name in self.nodes:
            self.nodes[pod.node_name].pods.pop(pod.key, None)
        else:
            self._without_node.remove(pod.node_name, pod)

    def promised(self, name: str) -> Collection[PodRow]:
        """The pods without a node that are promised this one."""
        return self._promised.of(name)

    def node_added(self, node: NodeRow, old: NodeRow | None) -> None:
        """Give a node the pods of the row before, or those that have waited for it."""
        if old is not None:
            node.pods = old.pods
        else:
            node.pods = {pod.key: pod for pod in self._without_node.take(node.name)}

    def node_removed(self, node: NodeRow) -> None:
        """Keep the pods of a node that is gone, in case it comes back."""
        for pod in node.pods.values():
            self._without_node.add(node.name, pod)
