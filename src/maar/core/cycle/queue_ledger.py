"""The ledger of a cycle: what every queue may use, uses and has reserved, and whether it may use more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, ulp
from typing import Final

import numpy as np

from maar.core.fairshare.dominant import reserved as reserved_columns
from maar.core.fairshare.dominant import roll_up_used, sums_below
from maar.core.fairshare.queue_demand import LARGEST_AMOUNT
from maar.core.fairshare.share_out import DemandColumns, ShareColumns, share_columns
from maar.core.fairshare.tree import QueueTree
from maar.core.model.resources import PODS
from maar.core.tables.axis import PODS_ROW, Needs
from maar.core.tables.queues import demand_of
from maar.core.tables.rows import Column, QueueRow
from maar.core.tables.tables import Tables

_ALMOST_NOTHING: Final = ulp(0.0)  # dividing any amount by it gives infinity, and 0 still 0

Whole = Sequence[tuple[int, float]]  # resources and amounts to divide by


@dataclass(frozen=True, slots=True)
class LimitExceeded:
    """A limit that keeps a queue from using more: whose, of what, how much is wanted and available."""

    queue: int
    resource: int
    wanted: int
    available: int


class QueueLedger:
    """Queues by their column in the tree; every table is a list of columns, one number per resource."""

    def __init__(
        self, tables: Tables, total: Column | None = None, leaves_use: Sequence[Column] | None = None
    ) -> None:
        """Of the cluster as it is, or with another total, or as if its leaves used something else."""
        self.tree: QueueTree = tables.tree
        self.rows: list[QueueRow] = tables.rows
        self.total = tables.total if total is None else total
        self.claims = _claims(tables, self.total)
        factors = tables.past_use.factors
        scaled = self.scaled_weights = None if factors is None else factors.scaled
        self.shares: ShareColumns = share_columns(
            self.tree, self.claims, None if scaled is None else scaled.weight
        )
        self.parent: list[int] = self.tree.parent.tolist()
        self.paths: list[tuple[int, ...]] = tables.paths
        self.deserved: list[Column] = self.shares.deserved.T.tolist()
        self.real: list[Column] = self.shares.real_capability.T.tolist()
        self.guarantee: list[Column] = self.shares.guarantee.T.tolist()
        self.own: list[Column] = np.minimum(self.claims.guarantee, self.shares.guarantee).T.tolist()
        used = np.array([row.used for row in self.rows] if leaves_use is None else leaves_use, np.int64).T
        reserved = reserved_columns(self.tree, used, self.shares.guarantee, self.claims.guarantee)
        self.used: list[Column] = roll_up_used(self.tree, used).T.tolist()
        self.reserved: list[Column] = reserved.T.tolist()
        self.reserved_below: list[Column] = sums_below(self.tree, reserved).T.tolist()
        self.most = self.real  # real capability, less what held room needs of it at its planned start
        self.held: dict[int, Column] = {}  # by queue: of what it uses, the room that is held for groups below
        self.weight: list[float] = [row.queue.spec.weight for row in self.rows]
        if factors is not None and scaled is not None:
            self.weight = [
                weight * factors.factor(name)
                for weight, name in zip(self.weight, self.tree.names, strict=True)
            ]
        # Where no queue has a guarantee of a resource, what is reserved is what is used, at every level.
        self.reservable = frozenset(np.flatnonzero(self.shares.guarantee.any(axis=1)).tolist())
        self.whole_total = whole_of(self.total)
        self._wholes: dict[float, Whole] = {1: self.whole_total}  # by weight

    @property
    def is_asked_for_more_than_there_is(self) -> bool:
        """Whether the groups of all leaves ask for more of a resource than the cluster has."""
        return bool((self.claims.request.sum(axis=1) > self.claims.total).any())

    def reserve(self, leaf: int, needs: Needs) -> None:
        """Update what is reserved for a leaf and all queues above it after its use has changed."""
        for resource, _ in needs if self.reservable else ():
            if resource in self.reservable:
                self._reserve(leaf, resource)

    def _reserve(self, leaf: int, resource: int) -> None:
        queue, now = leaf, max(self.taken(leaf, resource), self.guarantee[leaf][resource])
        while change := now - self.reserved[queue][resource]:
            self.reserved[queue][resource] = now
            if not queue:
                return
            queue = self.parent[queue]
            self.reserved_below[queue][resource] += change
            now = max(self.own[queue][resource], self.reserved_below[queue][resource])

    def taken(self, leaf: int, resource: int) -> int:
        """What a leaf uses, without room that is held: no reservation pays for that before it is used."""
        held = self.held.get(leaf) if self.held else None
        return self.used[leaf][resource] - (held[resource] if held is not None else 0)

    def used_now(self, queue: int) -> Column:
        """What a queue uses, without room that is held."""
        used, held = self.used[queue], self.held.get(queue)
        return used if held is None else [amount - off for amount, off in zip(used, held, strict=True)]

    def counted_below(self, queue: int) -> Column:
        """What `most` of a queue is compared with: what is reserved below it, or used in the cluster."""
        below, used = self.reserved_below[queue], self.used[0] if not queue else [0] * len(self.total)
        return [
            below[resource] if resource in self.reservable else used[resource]
            for resource in range(len(used))
        ]

    def beyond(self, leaf: int, needs: Needs, limits: Sequence[Column]) -> LimitExceeded | None:
        """Find where the leaf or a queue above it would exceed a limit by using this much more."""
        for queue in self.paths[leaf]:
            used, limit = self.used[queue], limits[queue]
            for resource, amount in needs:
                if used[resource] + amount > limit[resource]:
                    return LimitExceeded(queue, resource, amount, max(0, limit[resource] - used[resource]))
        return None

    def gives_away(self, leaf: int, needs: Needs) -> LimitExceeded | None:
        """Find where using this much more would take what is reserved for a sibling.

        Where that raises what is reserved for a queue of the path, no more may be reserved for it and its
        siblings together than their parent's real capability.
        """
        for resource, amount in needs:
            if resource not in self.reservable:
                room = self.most[0][resource] - self.used[0][resource]
                if amount > room:
                    return LimitExceeded(0, resource, amount, max(0, room))
                continue
            exceeded = self._reservation(leaf, resource, amount)
            if exceeded is not None:
                return exceeded
        return None

    def takes_reserved(self, leaf: int, needs: Needs) -> bool:
        """Whether using this much more of guaranteed resources would take what is reserved for a sibling."""
        for resource, amount in needs:
            if resource in self.reservable and self._reservation(leaf, resource, amount) is not None:
                return True
        return False

    def _reservation(self, leaf: int, resource: int, amount: int) -> LimitExceeded | None:
        """Find the reservation of a sibling that using this much more of a guaranteed resource would take."""
        more = (
            max(self.taken(leaf, resource) + amount, self.guarantee[leaf][resource])
            - self.reserved[leaf][resource]
        )
        if leaf in self.held:  # what is reserved now may be used by the group that holds room
            more = amount
        queue = leaf
        while more > 0 and queue:
            queue = self.parent[queue]
            together, room = self.reserved_below[queue][resource] + more, self.most[queue][resource]
            if together > room:
                return LimitExceeded(queue, resource, amount, max(0, amount - (together - room)))
            if queue not in self.held:
                more = max(self.own[queue][resource], together) - self.reserved[queue][resource]
        return None

    def gives_away_since(self, leaf: int, needs: Needs, reserved_before: Mapping[int, Column]) -> list[int]:
        """The resources of which using this much more would take what is reserved for a sibling.

        A raise is one above what was reserved before, so that victims under the same queue count as room.
        """
        broken = []
        for resource, amount in needs:
            if resource not in self.reservable:  # reserved for the children together is what they use
                parents = (*self.paths[leaf][1:], 0)
                if any(self.used[one][resource] + amount > self.most[one][resource] for one in parents):
                    broken.append(resource)
                continue
            queue = leaf
            now = max(self.taken(leaf, resource) + amount, self.guarantee[leaf][resource])
            while queue:
                parent = self.parent[queue]
                together = self.reserved_below[parent][resource] + now - self.reserved[queue][resource]
                if now > reserved_before[queue][resource] and together > self.most[parent][resource]:
                    broken.append(resource)
                    break
                now, queue = max(self.own[parent][resource], together), parent
        return broken

    def share(self, queue: int, used: Column | None = None, resources: Sequence[int] | None = None) -> float:
        """Used of deserved on the resource where that is largest."""
        largest, deserved = 0.0, self.deserved[queue]
        column = self.used[queue] if used is None else used
        for resource in range(len(column)) if resources is None else resources:
            if column[resource]:
                part = column[resource] / deserved[resource] if deserved[resource] else inf
                largest = max(largest, part)
        return largest

    def dominant(self, used: Column, weight: float = 1) -> float:
        """Used of the cluster's total on the resource where that is largest, per weight."""
        return largest_part(used, self.whole(weight))

    def whole(self, weight: float = 1) -> Whole:
        """The cluster's total, as many times as a weight."""
        whole = self._wholes.get(weight)
        if whole is None:
            whole = self._wholes[weight] = whole_of(self.total, weight)
        return whole


def whole_of(column: Column, weight: float = 1) -> Whole:
    """A column, as many times as a weight, to take parts of: of nothing, any use is infinitely much."""
    return [(row, amount * weight or _ALMOST_NOTHING) for row, amount in enumerate(column)]


def largest_part(used: Column, whole: Whole) -> float:
    """Used of the whole, on the resource where that is largest."""
    largest = 0.0
    for row, amount in whole:
        part = used[row] / amount
        if part > largest:  # noqa: PLR1730 (the call would take longer than all the rest)
            largest = part
    return largest


def is_beyond(used: Column, needs: Needs, limit: Column) -> bool:
    """Whether using this much more exceeds a limit."""
    for resource, amount in needs:  # noqa: SIM110 (it is asked for every kind of group that waits)
        if used[resource] + amount > limit[resource]:
            return True
    return False


def larger_cluster(tables: Tables, leaves_use: Sequence[Column] | None = None) -> QueueLedger:
    """The ledger as it would be with any number of nodes more."""
    return QueueLedger(tables, [LARGEST_AMOUNT // 2] * len(tables.axis.names), leaves_use)


def _claims(tables: Tables, total: Column) -> DemandColumns:
    """What the queues claim now: the declared request of a leaf, or what its groups ask for."""
    fixed, rows = tables.fixed_demand, tables.rows
    if fixed is None or total != tables.total:
        fixed = demand_of(tables.tree, tables.axis, total)
    asked = np.array([row.asked for row in rows], np.int64).T  # [R, Q]
    is_asked = [row.is_leaf and row.queue.spec.request is None for row in rows]
    request = np.where(is_asked, asked, fixed.request)
    for row in rows:
        declared = row.queue.spec.request
        if row.is_leaf and declared is not None and PODS not in declared:
            request[PODS_ROW, row.index] = row.asked[PODS_ROW]  # the number of pods is not declared
    return replace(fixed, request=request)
