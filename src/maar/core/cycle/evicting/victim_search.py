"""What attempts of one action share: units, protection, usage, idle room; see `attempt.py`."""

from collections.abc import Iterable
from functools import cached_property
from typing import Final, Literal

import numpy as np

from maar.core.cycle.evicting.failures import Failures
from maar.core.cycle.evicting.loans import Loans
from maar.core.cycle.evicting.min_runtimes import MinRuntimes
from maar.core.cycle.evicting.protection import Budgets, Protection
from maar.core.cycle.evicting.unit_pool import UnitPool
from maar.core.cycle.evicting.units import Unit
from maar.core.cycle.group_class import GroupClass
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.queue_ledger import QueueLedger
from maar.core.cycle.state import State
from maar.core.fairshare.water_fill import Ints
from maar.core.tables.counting import add_needs
from maar.core.tables.rows import Column, PodRow

_NO_POOLS: Final[dict[str, UnitPool]] = {}


class LeafUsage:
    """What the pods of each leaf hold on each node; counted when a leaf is first read."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._leaves: dict[int, dict[int, Column]] = {}  # by leaf and node
        self._arrays: dict[int, tuple[Ints, Ints]] = {}  # the same: nodes, and what is held there [R, n]

    def of(self, leaves: Iterable[int]) -> Ints:
        """What leaves hold together on every node. [R, N]"""
        held = np.zeros((len(self.state.ledger.total), len(self.state.room.nodes)), np.int64)
        for leaf in leaves:
            if leaf not in self._leaves:
                self._leaves[leaf] = self._count(leaf)
            if leaf not in self._arrays:
                nodes = self._leaves[leaf]
                amounts = np.array(list(nodes.values()), np.int64).reshape(len(nodes), len(held)).T
                self._arrays[leaf] = np.array(list(nodes), np.int64), amounts
            where, amounts = self._arrays[leaf]
            held[:, where] += amounts
        return held

    def leave(self, pod: PodRow) -> None:
        """Take out a pod that is evicted for good."""
        leaf = pod.group.leaf if pod.group is not None else None
        nodes = self._leaves.get(leaf.index) if leaf is not None else None
        node = self.state.tables.nodes.get(pod.node_name)
        if leaf is not None and nodes is not None and node is not None:
            add_needs(nodes[node.index], pod.shape.needs, -1)
            self._arrays.pop(leaf.index, None)

    def _count(self, leaf: int) -> dict[int, Column]:
        known, nodes = self.state.tables.nodes, dict[int, Column]()
        for group in self.state.ledger.rows[leaf].groups.values():
            for pod in group.pods.values():
                if pod.node_name in known and not pod.is_terminating and pod.key not in self.state.gone:
                    column = nodes.setdefault(known[pod.node_name].index, self.state.tables.axis.zeros())
                    add_needs(column, pod.shape.needs, 1)
        return nodes


class Branches:
    """Where the leaves of victims part from that of a beneficiary."""

    def __init__(self, ledger: QueueLedger, leaf: int) -> None:
        self._ledger, self._leaf = ledger, leaf
        self._path = frozenset(ledger.paths[leaf])
        self._branches: dict[int, list[int]] = {}  # by leaf
        self._near: dict[int, list[int]] = {}  # by leaf
        self._own: dict[int, int] = {}  # by leaf

    @cached_property
    def leaves(self) -> list[int]:
        """The leaves that may have victims while they use more than they deserve."""
        return [
            row.index
            for row in self._ledger.rows
            if row.is_leaf and row.index != self._leaf and row.queue.spec.reclaimable
        ]

    def of(self, leaf: int) -> list[int]:
        """A victim's leaf and the queues above it, up to where its branch meets the beneficiary's."""
        branch = self._branches.get(leaf)
        if branch is None:
            branch = [queue for queue in self._ledger.paths[leaf] if queue not in self._path]
            self._branches[leaf] = branch
        return branch

    def own(self, leaf: int) -> int:
        """The queue of the beneficiary's branch that is a sibling of the first one of a victim's."""
        own = self._own.get(leaf)
        if own is None:
            paths = self._ledger.paths
            own = next(queue for queue in reversed(paths[self._leaf]) if queue not in paths[leaf])
            self._own[leaf] = own
        return own

    def near(self, leaf: int) -> list[int]:
        """The reclaimable leaves of which a queue of the branch is on the path of a leaf."""
        near = self._near.get(leaf)
        if near is None:
            path = frozenset(self._ledger.paths[leaf])
            near = self._near[leaf] = [one for one in self.leaves if not path.isdisjoint(self.of(one))]
        return near


class IdleRoom:
    """What will be idle on the nodes that pods may be placed on, once all that are gone have left.

    Between two attempts the room of a few nodes changes. So the sums are kept and those nodes counted again,
    and of each resource the node is known that had most when that was asked.
    """

    def __init__(self, state: State) -> None:
        self._state, self._seen = state, state.room.changes
        allocatable, _, later = state.room.columns()
        self._usable: list[bool] = state.places.usable.tolist()  # [N]
        idle = np.where(state.places.usable, allocatable - later, 0)  # [R, N]
        self._idle: list[Column] = idle.T.tolist()
        self._sums: Column = idle.sum(axis=1).tolist()
        self._roomiest: dict[int, int] = {}  # nodes, by resource

    def is_enough(self, resource: int, amount: int) -> bool:
        """Whether as much is idle on all nodes together."""
        self._catch_up()
        return amount <= self._sums[resource]

    def is_on_one_node(self, resource: int, amount: int) -> bool:
        """Whether as much is idle on one node."""
        self._catch_up()
        node = self._roomiest.get(resource)
        if node is None or self._idle[node][resource] < amount:
            allocatable, _, later = self._state.room.columns()
            idle = np.where(self._state.places.usable, allocatable[resource] - later[resource], 0)  # [N]
            if not len(idle):
                return False
            node = self._roomiest[resource] = int(idle.argmax())
        return self._idle[node][resource] >= amount

    def _catch_up(self) -> None:
        """Count nodes again whose room has changed."""
        room = self._state.room
        if self._seen == room.changes:
            return
        for node in room.changed_since(self._seen):
            if self._usable[node]:
                before, has, later = self._idle[node], room.allocatable[node], room.later[node]
                now = self._idle[node] = [most - held for most, held in zip(has, later, strict=True)]
                self._sums = [
                    total + new - old for total, new, old in zip(self._sums, now, before, strict=True)
                ]
        self._seen = room.changes


class VictimSearch:
    """The victims there are for an action; the pool of a leaf is made when it is first needed."""

    def __init__(self, state: State, action: Literal["reclaim", "preempt"]) -> None:
        self.state = state
        self.protection = Protection(state.tables, state.configuration, action)
        self.leaf_usage = LeafUsage(state)
        self.min_runtimes = MinRuntimes(state, action)
        self.failures = Failures()  # good until an attempt succeeds
        # Classes for a member of which all units in order were too little: it is soon asked of the others.
        self.too_little_for: set[GroupClass] = set()
        self._pools: dict[int, dict[str, UnitPool]] = {}  # by leaf; for what is in `pool`
        self._queue_orders: dict[int, tuple[int, int, float, str]] = {}
        self._branches: dict[int, Branches] = {}  # by leaf of a beneficiary

    @property
    def budgets(self) -> Budgets:
        """The disruption budgets."""
        return self.state.budgets

    @cached_property
    def idle_room(self) -> IdleRoom:
        """What will be idle once all that are gone have left."""
        return IdleRoom(self.state)

    @cached_property
    def loans(self) -> Loans:
        """What is on loan."""
        return Loans(self.state, self.protection)

    def queue_order(self, queue: int) -> tuple[int, int, float, str]:
        """What orders the queues that victims come from, beside their shares."""
        order = self._queue_orders.get(queue)
        if order is None:
            ledger = self.state.ledger
            row, created = ledger.rows[queue], ledger.tree.claims[queue].created
            order = self._queue_orders[queue] = (
                row.queue.spec.priority,
                row.queue.spec.weight,
                created,
                row.order,
            )
        return order

    def branches(self, leaf: int) -> Branches:
        """The branches of the tree beside a beneficiary's leaf."""
        known = self._branches.get(leaf)
        return known or self._branches.setdefault(leaf, Branches(self.state.ledger, leaf))

    def pool(self, leaf: int, moment: float, waited: float) -> UnitPool:
        """The units of a leaf at a time, for a beneficiary that has waited for so long.

        There are up to three pools of a leaf: one whatever the age of pods, one as it is now, and one that
        shows it at whatever later time it is asked for.
        """
        pools = self._pools.setdefault(leaf, {})
        if not self.min_runtimes.holds(leaf, waited):
            return pools.get("any age") or pools.setdefault(
                "any age", UnitPool(self.state, leaf, self.protection)
            )
        name = "now" if moment == self.state.now else "later"
        if name not in pools:
            pools[name] = UnitPool(self.state, leaf, self.protection, self.min_runtimes)
        if name == "later":
            pools[name].move_to(moment)
        return pools[name]

    def take(self, unit: Unit) -> None:
        """A unit is gone, for a while or for good."""
        for pool in self._pools.get(unit.leaf, _NO_POOLS).values():
            pool.take(unit)

    def put_back(self, unit: Unit) -> None:
        """A unit that was gone for a while is back, with all that was gone after it."""
        for pool in self._pools.get(unit.leaf, _NO_POOLS).values():
            pool.put_back(unit)

    def refresh(self, group: GroupState) -> None:
        """What a group holds has changed."""
        for pool in self._pools.get(group.leaf, _NO_POOLS).values():
            pool.refresh(group)
