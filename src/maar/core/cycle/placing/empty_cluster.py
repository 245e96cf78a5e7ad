"""What a group could do if all other groups had finished: alone on the cluster as it is now.

A group that does not start even then never does, whatever the others do. The daemons of the nodes
stay, and so do the pods of a group that is not ready, which may be in its own way; those of a group
that is ready may finish like all others, and so may pods of other schedulers. Pods of one shape are
counted; others are placed one by one, as in a turn.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import numpy as np

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.placing.node_chooser import NodeChooser
from maar.core.cycle.placing.room import NOWHERE, Room
from maar.core.cycle.queue_ledger import QueueLedger
from maar.core.cycle.refusals import beyond_limits
from maar.core.cycle.state import State
from maar.core.model.reasons import Refusal
from maar.core.model.taints import OF_CLOSED_NODES
from maar.core.tables.axis import Needs
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.rows import Column, NodeRow, PodRow


class EmptyCluster:
    """The cluster without its pods, as it is or with other nodes; its parts are computed when first read."""

    def __init__(self, state: State, nodes: NodeColumns | None = None) -> None:
        self.state, self.tables = state, state.tables
        self.nodes = self.tables.node_list if nodes is None else nodes

    @cached_property
    def _ledger(self) -> QueueLedger:
        nothing = [self.tables.axis.zeros() for _ in self.tables.rows]
        shared = [node.is_shared for node in self._room.nodes]
        idle = np.maximum(self.places.idle("now")[:, shared], 0)  # [R, N]
        return QueueLedger(self.tables, idle.sum(axis=1).tolist(), nothing)

    @property
    def total(self) -> Column:
        """What it can share out."""
        return self._ledger.total

    @cached_property
    def _room(self) -> Room:
        return Room(self.nodes, len(self.tables.axis.names), is_empty=True)

    @cached_property
    def places(self) -> NodeChooser:
        """Where pods can go there."""
        return NodeChooser(self.tables, self._room, self.state.configuration, is_empty=True)

    def kept_out(self, group: GroupState) -> list[int]:
        """The resources of which a group needs more to be admitted than its queue or cluster can have."""
        ledger, configuration = self._ledger, self.state.configuration
        wanted, found = group.row.to_start or (), list[int]()
        limits = [ledger.real[queue] for queue in ledger.paths[group.leaf]]
        if ("proportion", "enableJobEnqueued") not in configuration.enabled:
            limits = []
        if ("overcommit", "enableJobEnqueued") in configuration.enabled:
            factor = configuration.overcommit_factor
            limits.append([int(amount * factor) for amount in ledger.total])
        for resource, amount in wanted:
            if any(amount > limit[resource] for limit in limits):
                found.append(resource)
        return found

    def limits(self, group: GroupState, needs: Needs) -> Refusal | None:
        """The ceiling or reservation that keeps a group from using this much more, even when alone."""
        together = self.with_own(group, needs)
        return beyond_limits(self._ledger, self.tables.axis.names, group.leaf, together)

    def with_own(self, group: GroupState, needs: Needs) -> Needs:
        """What a group needs with this much more: what it is not ready with counts, as it stays."""
        total = [0] * len(group.used) if group.is_ready else group.used
        return tuple((resource, total[resource] + amount) for resource, amount in needs)

    @contextmanager
    def beside_own(self, group: GroupState) -> Iterator[list[PodRow]]:
        """The same with the pods that a group is not ready with where they are."""
        own = self._own(group)
        for pod, node in own:
            self._move(pod, node, 1)
        yield [pod for pod, _ in own]
        for pod, node in own:
            self._move(pod, node, -1)

    def has_room(self, pods: Sequence[PodRow]) -> bool:
        """Whether the nodes have room for all of the pods."""
        places = self.places
        if (
            places.depend_on_shapes_only(pods)
            and len({pod.shape for pod in pods}) == 1
            and not pods[0].shape.claims
        ):
            return int(places.pods_per_node(pods[0].shape, places.idle("now"), len(pods)).sum()) >= len(pods)
        return any(self._fit(order) for order in places.tries(pods, len(pods), "now"))

    def _own(self, group: GroupState) -> list[tuple[PodRow, int]]:
        """The pods of a group that is not ready which have a place after this cycle, and where."""
        state, found = self.state, list[tuple[PodRow, int]]()
        for key, pod in group.row.pods.items() if not group.is_ready else ():
            node = state.bound.get(key, state.promised.get(key, NOWHERE))
            if node == NOWHERE and pod.counted is not None and pod.counted.is_later:
                node = pod.counted.node.index
            if node != NOWHERE and key not in state.gone:
                found.append((pod, node))
        return found

    def _fit(self, pods: Sequence[PodRow]) -> bool:
        """Place the pods; those that found no node are tried again while others are placed."""
        done, left = list[tuple[PodRow, int]](), list(pods)
        while left:
            before = len(left)
            for pod in list(left):
                node = self.places.best(pod, "now")
                if node != NOWHERE:
                    self._move(pod, node, 1)
                    done.append((pod, node))
                    left.remove(pod)
            if len(left) == before:
                break
        for pod, node in reversed(done):
            self._move(pod, node, -1)
        return not left

    def _move(self, pod: PodRow, node: int, sign: int) -> None:
        self._room.change(node, pod.shape.needs, sign, sign)
        self.places.moved((pod,), node, sign)
        if pod.shape.claims:
            self.places.claims.moved(pod, node, sign)


def opened(nodes: Sequence[NodeRow]) -> NodeColumns:
    """The nodes as if all were ready, schedulable and tolerated by some pod."""
    return NodeColumns([node if node.is_shared else _opened(node) for node in nodes])


def _opened(node: NodeRow) -> NodeRow:
    taints = tuple(one for one in node.taints if not one.key.startswith(OF_CLOSED_NODES))
    return replace(node, is_ready=True, is_schedulable=True, is_tolerated=True, taints=taints)


def tolerated(nodes: Sequence[NodeRow]) -> NodeColumns:
    """The nodes as if some pod tolerated the taints of each."""
    return NodeColumns([node if node.is_tolerated else replace(node, is_tolerated=True) for node in nodes])
