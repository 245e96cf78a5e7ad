"""Enqueue: moves pod groups to Inqueue, in fair order, while there is room for what they need to start."""

from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.queue_ledger import QueueLedger, larger_cluster
from maar.core.cycle.refusals import Limit, behind_first, combined_refusal, real_capability
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import TurnOrder
from maar.core.model.reasons import Cure, Reason, Refusal, Shortage
from maar.core.tables.axis import Needs
from maar.core.tables.counting import add
from maar.core.tables.groups import admitted_with, lacks_gated_pods
from maar.core.tables.rows import Column


def admit_all(state: State) -> None:
    """Where enqueue is not configured, every group counts as admitted; operators wait for the phase."""
    for row in state.tables.not_enqueued.values():
        if row.leaf is not None:
            state.group(row).phase = "Inqueue"


def enqueue(state: State) -> None:
    """Move groups from Pending to Inqueue while there is room."""
    if not state.tables.not_enqueued:
        return
    gate = EnqueueGate(state)
    turns = TurnOrder(state, "fair", gate.not_enqueued())
    refused_early = list[GroupState]()  # others were admitted after them
    refused = list[GroupState]()
    while group := turns.next():
        refusal = gate.refuses(group)
        if refusal is None:
            group.phase = "Inqueue"
            group.refusal = None
            gate.let_in(group)
            turns.done(group)
            refused_early += refused
            refused.clear()
            continue
        group.refusal = refusal
        refused.append(group)
        turns.done(group)
        if state.ledger.rows[group.leaf].queue.spec.dequeue_strategy == "fifo":
            for behind in turns.stop(group.leaf):
                behind.refusal = behind_first(behind, group)
    for group in refused_early:  # so that the numbers of the reason are those at the end
        group.refusal = gate.refuses(group) or group.refusal


class _Size(NamedTuple):
    """The size of the cluster for a group: what queues may use, and what all admitted groups may request."""

    ledger: QueueLedger
    overcommitted: Column


class EnqueueGate:
    """What has been admitted, and whether more groups may be."""

    def __init__(self, state: State) -> None:
        self.state, ledger = state, state.ledger
        self.admitted: list[Column] = [[0] * len(ledger.total) for _ in ledger.rows]
        for row in ledger.rows:
            if row.is_leaf:
                for queue in (*ledger.paths[row.index], 0):
                    add(self.admitted[queue], tuple(row.admitted), 1)
        self._size = self._of(ledger)
        self._limits_overcommit = ("overcommit", "enableJobEnqueued") in state.configuration.enabled
        self._limits_proportion = ("proportion", "enableJobEnqueued") in state.configuration.enabled

    def not_enqueued(self) -> list[GroupState]:
        """The groups that wait for admission; one whose pods have scheduling gates is not among them."""
        rows = self.state.tables.not_enqueued.values()
        return [self.state.group(row) for row in rows if row.leaf is not None and not lacks_gated_pods(row)]

    def let_in(self, group: GroupState) -> None:
        """Count a group as admitted."""
        amounts = admitted_with(group.row, self.state.tables.axis)
        for queue in (*self.state.ledger.paths[group.leaf], 0):
            add(self.admitted[queue], amounts, 1)

    def refuses(self, group: GroupState) -> Refusal | None:
        """Why a group is not admitted: neither ceilings nor deserved nor its guarantee have room for it."""
        wanted = group.row.to_start
        if wanted is None:
            return None
        size = self._size_for(group)
        ledger, over = size.ledger, self._over_ceilings(size, group.leaf, wanted)
        if not over or not self._beyond(ledger, group.leaf, wanted, ledger.deserved):
            return None
        spec = ledger.rows[group.leaf].queue.spec.guarantee
        names = self.state.tables.axis.names
        named = tuple(
            need for need in wanted if names[need[0]] in spec.resource or names[need[0]] in spec.percentage
        )
        others = tuple(need for need in wanted if need not in named)
        admitted, guarantee = self.admitted[group.leaf], ledger.guarantee[group.leaf]
        if named and all(admitted[resource] + amount <= guarantee[resource] for resource, amount in named):
            over = self._over_ceilings(size, group.leaf, others)
            if not over:
                return None
        more_nodes_help = not self._beyond(self._larger, group.leaf, wanted, self._larger.real)
        return combined_refusal(ledger, over, more_nodes_help=more_nodes_help)

    def _of(self, ledger: QueueLedger) -> _Size:
        factor: Fraction = self.state.configuration.overcommit_factor
        return _Size(ledger, [int(amount * factor) for amount in ledger.total])

    def _size_for(self, group: GroupState) -> _Size:
        """The size of the cluster that applies to a group.

        Operators create pods once their group is admitted, and until then it is not known what those
        tolerate. Therefore nodes whose taints no pod tolerates are counted for a group without its pods.
        """
        has_pods = group.placed + len(group.pending) >= group.row.min_member
        return self._size if has_pods else self._size_with_tainted_nodes

    @cached_property
    def _size_with_tainted_nodes(self) -> _Size:
        total = list(self.state.ledger.total)
        tainted = [node for node in self.state.tables.node_list if node.is_usable and not node.is_tolerated]
        for node in tainted:
            for resource, amount in enumerate(node.allocatable):
                total[resource] += max(0, amount - node.now[resource])
        return self._of(QueueLedger(self.state.tables, total)) if tainted else self._size

    def _over_ceilings(self, size: _Size, leaf: int, wanted: Needs) -> list[Limit]:
        """Where it would be above real capability on the path, or else above the overcommitted total."""
        ledger, most = size
        over = self._beyond(ledger, leaf, wanted, ledger.real) if self._limits_proportion else []
        if over or not self._limits_overcommit:
            return over
        return [
            self._total(resource, amount, most[resource])
            for resource, amount in wanted
            if self.admitted[0][resource] + amount > most[resource]
        ]

    def _beyond(self, ledger: QueueLedger, leaf: int, wanted: Needs, limits: list[Column]) -> list[Limit]:
        """The limits of queues on the path that would be exceeded; for each resource the first."""
        names, found = self.state.tables.axis.names, list[Limit]()
        for resource, amount in wanted:
            for queue in ledger.paths[leaf]:
                admitted = self.admitted[queue][resource]
                if amount > limits[queue][resource] - admitted:
                    limit = real_capability(ledger, names, queue, resource, amount, self.admitted)
                    found.append(limit or self._total(resource, amount, ledger.real[queue][resource], queue))
                    break
        return found

    def _total(self, resource: int, amount: int, limit: int, queue: int = 0) -> Limit:
        """The size of the cluster as a limit, and what a queue, or all together, were admitted with."""
        name, admitted = self.state.tables.axis.names[resource], self.admitted[queue][resource]
        shortage = Shortage(resource=name, wanted=amount, used=admitted, limit=limit)
        reason = Reason.NOT_ENOUGH_RESOURCES if queue else Reason.CLUSTER_OVERCOMMITTED
        return Limit(reason, Cure.OTHERS_FINISH, queue, shortage)

    @cached_property
    def _larger(self) -> QueueLedger:
        return larger_cluster(self.state.tables)
