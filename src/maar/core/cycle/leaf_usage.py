"""What the pods of leaves hold on the nodes: what would be free there if all of them went."""

from collections.abc import Iterable

import numpy as np

from maar.core.cycle.state import State
from maar.core.fairshare.water_fill import Ints
from maar.core.tables.rows import Column, PodRow


class LeafUsage:
    """Columns by leaf and node, counted when a leaf is first asked about."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._leaves: dict[int, dict[int, Column]] = {}

    def of(self, leaves: Iterable[int]) -> Ints:
        """What leaves hold together on every node. [R, N]"""
        held = np.zeros((len(self.state.ledger.total), len(self.state.room.nodes)), np.int64)
        for leaf in leaves:
            nodes = self._leaves.get(leaf)
            if nodes is None:
                nodes = self._leaves[leaf] = self._count(leaf)
            if nodes:
                held[:, list(nodes)] += np.array(list(nodes.values()), np.int64).T
        return held

    def leave(self, pod: PodRow) -> None:
        """Take out a pod that is evicted for good."""
        leaf = pod.group.leaf if pod.group is not None else None
        nodes = self._leaves.get(leaf.index) if leaf is not None else None
        node = self.state.tables.nodes.get(pod.node_name)
        if nodes is not None and node is not None:
            for resource, amount in pod.shape.needs:
                nodes[node.index][resource] -= amount

    def _count(self, leaf: int) -> dict[int, Column]:
        known, nodes = self.state.tables.nodes, dict[int, Column]()
        for group in self.state.ledger.rows[leaf].groups.values():
            for pod in group.pods.values():
                if pod.node_name in known and not pod.is_terminating and pod.key not in self.state.gone:
                    column = nodes.setdefault(known[pod.node_name].index, self.state.tables.axis.zeros())
                    for resource, amount in pod.shape.needs:
                        column[resource] += amount
        return nodes
