"""Groups inside the gate that nodes hold up, not amounts: they keep nobody out while they wait.

Such a group was let in, holds nothing and has its pods. Either it can never start on this cluster,
be the cluster empty; or nodes have refused it in an earlier cycle, while as much as it asks for is
idle and within the real capability of its queues. Of the second kind as many groups are passed over
as ask for the cluster's total together, so that the gate stays bounded.
"""

from functools import cached_property

from maar.core.cycle.gate.enqueue_gate import has_pods
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.placing.empty_cluster import EmptyCluster
from maar.core.cycle.placing.turn_pods import for_next_turn
from maar.core.cycle.queue_ledger import is_beyond
from maar.core.cycle.state import State
from maar.core.tables.counting import add_needs, together
from maar.core.tables.rows import Column, GroupRow, PodRow


class HeldUp:
    """Which groups inside nodes hold up; made when enqueue begins."""

    def __init__(self, state: State) -> None:
        self.state, self.ledger = state, state.ledger
        self._passed_over: Column = [0] * len(state.ledger.total)  # what those ask for that nodes refused
        self._never: dict[object, bool] = {}  # by leaf and pods

    def for_ever(self, group: GroupState) -> bool:
        """Whether a group, and all that it stands for, can never start on this cluster."""
        if not self._is_tried(group):
            return False
        pods = for_next_turn(group)
        shapes = tuple(pod.shape for pod in pods)
        if not self.state.places.depend_on_shapes_only(pods):
            return self._never_starts(group, pods)
        if (group.leaf, shapes) not in self._never:
            self._never[group.leaf, shapes] = self._never_starts(group, pods)
        return self._never[group.leaf, shapes]

    def for_now(self, group: GroupState, row: GroupRow) -> bool:
        """Whether nodes have refused a member of a class though enough is idle; it is then passed over."""
        wanted = row.to_start
        if not wanted or row.unschedulable_since is None or not self._is_tried(group):
            return False
        if is_beyond(self._passed_over, wanted, self.ledger.total):
            return False
        if any(amount > self._idle[resource] for resource, amount in wanted):
            return False
        if self.ledger.beyond(group.leaf, wanted, self.ledger.real) is not None:
            return False
        add_needs(self._passed_over, wanted, 1)
        return True

    def _is_tried(self, group: GroupState) -> bool:
        """Whether allocate has turns for a group; one that holds room counts as those that hold nodes."""
        holds_room = self.state.configuration.sla is not None and group.row.holds_since is not None
        return bool(group.pending) and has_pods(group) and not holds_room

    def _never_starts(self, group: GroupState, pods: list[PodRow]) -> bool:
        places, alone = self.state.places, self._empty_cluster
        if not pods or any(pod.shape.claims or pod.shape.has_resource_claims for pod in pods):
            return False  # a volume may come
        if any(places.never_fits(pod.shape) for pod in pods):
            return True
        if alone.limits(group, together(pods)) is not None:
            return True
        if any(places.has_affinity(pod) and places.must_join_others(pod) for pod in pods):
            return False  # not alone, but beside others
        is_counted = len({pod.shape for pod in pods}) == 1 and places.depend_on_shapes_only(pods)
        if is_counted and places.capacity(pods[0].shape) >= len(pods):
            return False
        return not alone.has_room(pods)

    @cached_property
    def _empty_cluster(self) -> EmptyCluster:
        return EmptyCluster(self.state)

    @cached_property
    def _idle(self) -> Column:
        """What is idle on all nodes together; enqueue takes no room."""
        state = self.state
        shared = [node.is_shared for node in state.room.nodes]
        idle: Column = state.places.idle("later")[:, shared].sum(axis=1).tolist()  # [R, N]
        return idle
