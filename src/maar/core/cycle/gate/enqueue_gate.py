"""The gate of enqueue: what counts as admitted, and what ceilings, deserved or a guarantee have room for.

What is counted only grows while enqueue runs. Therefore a group that was refused stays refused, and
equal groups are refused alike until one more is counted.
"""

from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from maar.core.cycle.evicting.loans import would_run_on_loan
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.queue_ledger import QueueLedger, larger_cluster
from maar.core.cycle.refusals import Limit, combined_refusal, real_capability
from maar.core.cycle.state import State
from maar.core.model.reasons import Cure, Reason, Refusal, Shortage
from maar.core.tables.axis import Needs
from maar.core.tables.counting import add, add_needs
from maar.core.tables.rows import Column


class _Size(NamedTuple):
    """The size of the cluster for a group: what queues may use, and what all admitted groups may request."""

    ledger: QueueLedger
    overcommitted: Column


class EnqueueGate:
    """What has been admitted, and whether more groups may be."""

    def __init__(self, state: State) -> None:
        self.state, ledger = state, state.ledger
        self.admitted: list[Column] = [[0] * len(ledger.total) for _ in ledger.rows]
        # Of each leaf, without groups that hold nothing and would run on loan: they wait for others' room.
        self.within_deserved: list[Column] = [list(row.admitted) for row in ledger.rows]
        for row in ledger.rows:
            if row.is_leaf:
                for queue in (*ledger.paths[row.index], 0):
                    add(self.admitted[queue], tuple(row.admitted), 1)
        self._size = self._of(ledger)
        self._limits_overcommit = ("overcommit", "enableJobEnqueued") in state.configuration.enabled
        self._limits_proportion = ("proportion", "enableJobEnqueued") in state.configuration.enabled
        self._refused: dict[tuple[int, Needs, bool], Refusal] = {}  # good until one more is counted

    def count(self, group: GroupState) -> None:
        """Count a group that holds nothing as admitted."""
        needs = group.row.to_start
        if not needs:
            return
        self._refused.clear()
        for queue in (*self.state.ledger.paths[group.leaf], 0):
            add_needs(self.admitted[queue], needs, 1)
        deserved = self._size_for(group).ledger.deserved[group.leaf]
        if not would_run_on_loan(needs, deserved):
            add_needs(self.within_deserved[group.leaf], needs, 1)

    def refuses(self, group: GroupState) -> Refusal | None:
        """Why a group is not admitted: neither ceilings nor deserved nor its guarantee have room for it."""
        wanted = group.row.to_start
        if wanted is None:
            return None
        key = (group.leaf, wanted, has_pods(group))
        refusal = self._refused.get(key)
        if refusal is None:
            refusal = self._find_refusal(group, wanted)
            if refusal is not None:
                self._refused[key] = refusal
        return refusal

    def _find_refusal(self, group: GroupState, wanted: Needs) -> Refusal | None:
        size, leaf = self._size_for(group), group.leaf
        ledger, over = size.ledger, self._over_ceilings(size, leaf, wanted)
        if not over or self._is_within(leaf, wanted, ledger.deserved[leaf]):
            return None
        spec = ledger.rows[leaf].queue.spec.guarantee
        names = self.state.tables.axis.names
        named = tuple(
            need for need in wanted if names[need[0]] in spec.resource or names[need[0]] in spec.percentage
        )
        others = tuple(need for need in wanted if need not in named)
        if named and self._is_within(leaf, named, ledger.guarantee[leaf]):
            over = self._over_ceilings(size, leaf, others)
            if not over:
                return None
        more_nodes_help = not self._beyond(self._larger, leaf, wanted)
        return combined_refusal(ledger, over, more_nodes_help=more_nodes_help)

    def _is_within(self, leaf: int, wanted: Needs, limit: Column) -> bool:
        counted = self.within_deserved[leaf]
        return all(counted[resource] + amount <= limit[resource] for resource, amount in wanted)

    def _of(self, ledger: QueueLedger) -> _Size:
        factor: Fraction = self.state.configuration.overcommit_factor
        return _Size(ledger, [int(amount * factor) for amount in ledger.total])

    def _size_for(self, group: GroupState) -> _Size:
        """The size of the cluster that applies to a group.

        Operators create pods once their group is admitted, and until then it is not known what those
        tolerate. Therefore nodes whose taints no pod tolerates are counted for a group without its pods.
        """
        return self._size if has_pods(group) else self._size_with_tainted_nodes

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
        over = self._beyond(ledger, leaf, wanted) if self._limits_proportion else []
        if over or not self._limits_overcommit:
            return over
        return [
            self._total(resource, amount, most[resource])
            for resource, amount in wanted
            if self.admitted[0][resource] + amount > most[resource]
        ]

    def _beyond(self, ledger: QueueLedger, leaf: int, wanted: Needs) -> list[Limit]:
        """The ceilings of queues on the path that would be exceeded; for each resource the first."""
        names, found = self.state.tables.axis.names, list[Limit]()
        for resource, amount in wanted:
            for queue in ledger.paths[leaf]:
                admitted = self.admitted[queue][resource]
                if amount > ledger.real[queue][resource] - admitted:
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


def has_pods(group: GroupState) -> bool:
    """Whether as many pods of a group exist as it needs to be ready."""
    return group.placed + len(group.pending) >= group.row.min_member
