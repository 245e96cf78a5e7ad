"""What a decision found and decided, for those who report and explain it: questions, and no orders.

No policy is in here: an answer is one call, or a few, into the modules that decide, so that it
cannot differ from the decision. Columns are the ledger's own lists: whoever reads them may keep
them, and changes none. Where a question has to move something, it is a context manager, which puts
it back.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from maar.core.cycle.evicting.units import next_unit
from maar.core.cycle.evicting.victim_search import VictimSearch
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.holding.held_room import Hold
from maar.core.cycle.holding.sla import would_start
from maar.core.cycle.placing.empty_cluster import EmptyCluster, opened, tolerated
from maar.core.cycle.queue_ledger import QueueLedger, larger_cluster
from maar.core.cycle.refusals import beyond_deserved, beyond_limits
from maar.core.cycle.state import Eviction, State
from maar.core.model.reasons import Refusal
from maar.core.model.writes import RemoveGate, Resume, Selection
from maar.core.tables.axis import Needs
from maar.core.tables.counting import add_needs


class Decided(NamedTuple):
    """Everything that was decided; nodes are rows of `tables.node_list`."""

    binds: Mapping[str, int]  # nodes by the key of the pod
    promises: Mapping[str, int]  # the same, of pods that wait for room there
    evictions: Sequence[Eviction]
    victims: Mapping[str, Sequence[str]]  # by the key of the group they are evicted for
    gone: Collection[str]  # the keys of all victims
    holds: Sequence[Hold]
    circles: Mapping[str, tuple[tuple[str, ...], float]]  # half gangs: who waits for whom, and until when
    suspended_jobs: Collection[str]  # uids
    resumptions: Sequence[Resume]
    gate_removals: Sequence[RemoveGate]
    selections: Sequence[Selection]  # of volumes
    decide_again_at: float | None
    counts_from_now: bool  # something that is not stored counts as of now: a later decision may differ


class Inspection:
    """A decision that has been made, or has been made up to an action."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.tables, self.configuration, self.now = state.tables, state.configuration, state.now
        self.queues, self.nodes = state.ledger, state.places
        self.answers = state.memory.answers
        # Groups: the state of one, all that the cycle has looked at, and the blocks of classes that wait.
        groups, classes = state.groups, state.groups.classes
        self.group, self.pod_order = groups.of, groups.pod_order
        self.touched, self.looked_at = groups.touched, groups.looked_at
        self.blocks, self.of_block, self.is_read = classes.blocks.values(), groups.of_block, groups.is_read
        self.are_turns_over = groups.are_turns_over  # of allocate
        # The cluster as if no room were held: gives the holds, which are put back at the end.
        self.without_held_room = state.held_room.nothing_held
        self.decided = Decided(
            binds=state.bound,
            promises=state.promised,
            evictions=state.evictions,
            victims=state.victims,
            gone=state.gone,
            holds=tuple(state.held_room.holds),
            circles=state.circles,
            suspended_jobs=state.suspended_jobs,
            resumptions=state.resumptions,
            gate_removals=state.gate_removals,
            selections=state.volume_selections,
            decide_again_at=min((one for one in state.times_to_come if one > state.now), default=None),
            counts_from_now=state.counts_from_now,
        )

    def beyond_deserved(self, group: GroupState, needs: Needs) -> Refusal | None:
        """The queue that would use more than it deserves, with this much more."""
        return beyond_deserved(self.queues, self.tables.axis.names, group.leaf, needs)

    def beyond_limits(
        self, group: GroupState, needs: Needs, *, of_larger_cluster: bool = False
    ) -> Refusal | None:
        """The ceiling or the reservation that keeps a group from using this much more.

        A larger cluster has any number of nodes more, and groups that hold room have started there.
        """
        ledger = self._larger if of_larger_cluster else self.queues
        return beyond_limits(ledger, self.tables.axis.names, group.leaf, needs)

    @cached_property
    def _larger(self) -> QueueLedger:
        used = [list(self.queues.used_now(queue)) for queue in range(len(self.queues.rows))]
        for hold in self.decided.holds:
            add_needs(used[hold.group.leaf], hold.planned.needs, 1)
        return larger_cluster(self.tables, used)

    @cached_property
    def alone(self) -> EmptyCluster:
        """The cluster without any group, for what a group would find there alone."""
        return EmptyCluster(self._state)

    @cached_property
    def alone_if_opened(self) -> EmptyCluster:
        """The same if all nodes could be used."""
        nodes = self.tables.node_list
        are_shared = all(node.is_shared for node in nodes)
        return self.alone if are_shared else EmptyCluster(self._state, opened(nodes))

    @cached_property
    def alone_if_tolerated(self) -> EmptyCluster:
        """The same for groups whose pods, and tolerations, are not known yet."""
        return EmptyCluster(self._state, tolerated(self.tables.node_list))

    def would_start(self, group: GroupState) -> bool:
        """Whether a group could start now; it is tried, and taken back."""
        return would_start(self._state, group)

    def is_on_loan(self, group: GroupState) -> bool:
        """Whether a group that runs is, by itself, more than its queue deserves."""
        search = VictimSearch(self._state, "reclaim")
        unit = next_unit(self._state, group, search.protection)
        rows = [row for row, amount in enumerate(group.used) if amount]
        return unit is not None and search.loans.of(rows).has(unit)
