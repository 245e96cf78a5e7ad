"""Reclaim: across queues, for one that stays within what it deserves, from the nearest that use more."""

from bisect import bisect_left, insort
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Final, Literal

from maar.core.cycle.evicting.attempt import Attempt
from maar.core.cycle.evicting.evict import evict
from maar.core.cycle.evicting.loans import LoanedPods
from maar.core.cycle.evicting.strategies import (
    ShareBefore,
    ShareLeft,
    is_overused,
    keeps_guarantee,
    stays_better_off,
)
from maar.core.cycle.evicting.units import Unit
from maar.core.cycle.evicting.victim_search import VictimSearch
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.queue_ledger import is_beyond
from maar.core.cycle.state import State
from maar.core.model.reasons import Reason, Refusal
from maar.core.tables.axis import Needs
from maar.core.tables.counting import add_needs
from maar.core.tables.rows import Column

_FEW: Final = 5  # names in one message
_NOTHING: Final[Mapping[int, Column]] = {}

# How far the branch is, then for every queue of it priority, weight, share, age and order.
_BranchKey = tuple[int, list[tuple[int, int, float, float, str]]]
_Key = tuple[_BranchKey, int]


def reclaim(state: State) -> None:
    """Take back for queues below their deserved what others use beyond theirs."""
    evict(state, Reclaim)


class Reclaim(Attempt):
    """One try across queues."""

    action: ClassVar[Literal["reclaim", "preempt"]] = "reclaim"

    def __init__(self, search: VictimSearch, group: GroupState) -> None:
        super().__init__(search, group)
        self.path = self.ledger.paths[self.leaf]
        self._branches = search.branches(self.leaf)
        self._keys: dict[int, _Key] = {}  # by leaf; those that are not overused have none
        self._in_order: list[_Key] = []
        self._changed: list[int] | None = None  # leaves whose keys may be others; None: all

    @classmethod
    def _is_refused(cls, search: VictimSearch, group: GroupState, needs: Needs) -> bool:
        """Whether its queue would use more than it deserves with it."""
        ledger = search.state.ledger
        return is_beyond(ledger.used[group.leaf], needs, ledger.deserved[group.leaf])

    def is_worthwhile(self) -> bool:
        """Its queue stays within deserved with it, and idle room is not enough."""
        used, deserved = self.ledger.used[self.leaf], self.ledger.deserved[self.leaf]
        if not self.pods or is_beyond(used, self.request, deserved):
            return False
        return bool(self._reserved) or not self._idle_is_enough()

    def _idle_is_enough(self) -> bool:
        return self.promises.are_possible()

    @cached_property
    def _reserved(self) -> frozenset[int]:
        """Resources of which the idle room is held for others."""
        return frozenset(self.ledger.gives_away_since(self.leaf, self.request, self.reserved_before))

    @cached_property
    def short(self) -> tuple[int, ...]:
        """Resources that it needs and cannot get; room that a reservation holds for others is not there."""
        short, idle, largest = set(self._reserved), self.search.idle_room, dict[int, int]()
        for shape in {pod.shape for pod in self.pods}:
            for resource, need in shape.needs:
                largest[resource] = max(need, largest.get(resource, 0))
        for resource, amount in self.request:
            if not idle.is_enough(resource, amount) or not idle.is_on_one_node(resource, largest[resource]):
                short.add(resource)
        return tuple(sorted(short or {resource for resource, _ in self.request}))

    @cached_property
    def is_reserved_first(self) -> bool:
        """Whether it stays within a guarantee that names everything it cannot get."""
        names, request = self.state.tables.axis.names, dict(self.request)
        if not self.ledger.reservable:
            return False
        for queue in self.path:
            spec = self.ledger.rows[queue].queue.spec.guarantee
            named = [row for row in request if names[row] in spec.resource or names[row] in spec.percentage]
            used, guarantee = self.ledger.used[queue], self.ledger.guarantee[queue]
            if set(self.short) <= set(named) and all(
                used[row] + request[row] <= guarantee[row] for row in named
            ):
                return True
        return False

    @cached_property
    def shares_before(self) -> dict[int, ShareBefore]:
        """The shares of its own branches, on what it cannot get, before the first eviction."""
        return {queue: ShareBefore(self.ledger.share(queue, resources=self.short)) for queue in self.path}

    @cached_property
    def loans(self) -> LoanedPods:
        """What was on loan, on what it cannot get, before the first eviction."""
        return self.search.loans.of(self.short)

    def _read_before(self) -> None:
        super()._read_before()
        _ = (self.short, self.is_reserved_first, self.shares_before, self.loans)

    def _fits_before(self) -> bool:
        return False  # idle room is not enough, or what is reserved would be given away

    def _note_failure(self) -> None:
        """A group within its guarantee that cannot start says which queues, pods and budgets stop it."""
        if not self.is_reserved_first:
            return
        blockers = []
        for row in self.ledger.rows:
            if not row.is_leaf or row.index == self.leaf or not self._is_overused(row.index):
                continue
            if not row.queue.spec.reclaimable:
                blockers.append(f"queue {row.name} (not reclaimable)")
                continue
            pods = [
                pod
                for group in row.groups.values()
                if group.placed
                for pod in self.state.holders(self.state.group(group))
            ]
            blockers += sorted(f"pod {pod.key}" for pod in pods if self.search.protection.covers(pod))
            blockers += [f"disruption budget {key}" for key in self.search.budgets.refusing(pods)]
        if blockers:
            reason, name = Reason.GUARANTEE_BLOCKED, self.group.row.queue_name
            self.blocked = Refusal(reason=reason, queue=name, others=tuple(blockers[:_FEW]))

    def leaves(self) -> Sequence[int]:
        """Reclaimable leaves, the nearest first; then branch against branch from where they part."""
        for leaf in self._branches.leaves if self._changed is None else self._changed:
            if self._is_overused(leaf):
                self._keys[leaf] = key = (self._branch_key(leaf), leaf)
                insort(self._in_order, key)
        self._changed = []
        return [leaf for _, leaf in self._in_order]

    def _take(self, unit: Unit) -> None:
        """Victims change the shares of their leaf, and of leaves that share a queue of its branch."""
        super()._take(unit)
        if self._changed is None:
            return
        for leaf in self._branches.near(unit.leaf):
            key = self._keys.pop(leaf, None)
            if key is not None:
                del self._in_order[bisect_left(self._in_order, key)]
            if leaf not in self._changed:
                self._changed.append(leaf)

    def _put_back(self, taken: Sequence[Unit]) -> None:
        super()._put_back(taken)
        self._keys.clear()
        self._in_order.clear()
        self._changed = None

    def _branch_key(self, leaf: int) -> _BranchKey:
        branch, ledger = self._branches.of(leaf), self.ledger
        keys = [
            (priority, weight, -ledger.share(queue), -created, order)
            for queue in reversed(branch)
            for priority, weight, created, order in (self.search.queue_order(queue),)
        ]
        return (len(branch) - len(ledger.paths[leaf]), keys)

    def _is_overused(self, leaf: int, without: Mapping[int, Column] = _NOTHING) -> bool:
        """Whether a leaf and every queue up to where the branches meet use more than they deserve."""
        ledger, short = self.ledger, self.short
        for queue in self._branches.of(leaf):
            used, deserved = ledger.used[queue], ledger.deserved[queue]
            if without or ledger.held:
                used = self._used(queue, without)
            if not is_overused(used, deserved=deserved, resources=short):
                return False
        return True

    def _used(self, queue: int, without: Mapping[int, Column]) -> Column:
        """What a queue uses, less something; nobody is evicted for room that is held."""
        used, less = self.ledger.used_now(queue), without.get(queue)
        return used if less is None else [amount - off for amount, off in zip(used, less, strict=True)]

    def refusal(self, unit: Unit) -> object:
        """Units on loan are refused for other reasons."""
        needs = super().refusal(unit)
        return (needs, "on loan") if self.loans.has(unit) else needs

    def refuses_all(self, leaf: int, refused: Collection[object]) -> bool:
        """Units are refused by what they need alone where none is on loan."""
        return not self.loans.are_any and all(needs in refused for needs, _ in self.units(leaf).sizes)

    def may_take(self, unit: Unit) -> bool:
        """Law 3: the victim's side is overused before, keeps its guarantees, and stays the better off.

        Of a unit on loan only overuse is asked. For all others, those on loan count as gone.
        """
        leaf = unit.leaf
        if unit.resources.isdisjoint(self.short):
            return False
        if self.loans.has(unit):
            return self._is_overused(leaf)
        return self._may_go_after(unit, self.loans.left())

    def _may_go_after(self, unit: Unit, gone: Mapping[int, Column]) -> bool:
        """Whether a unit that is not on loan may be taken once so much more of its queues is gone."""
        leaf, lost = unit.leaf, unit.resources
        if not self._is_overused(leaf, gone):
            return False
        branch = self._branches.of(leaf)
        for queue in branch if self.ledger.reservable else ():
            left = unit.left_of(self._used(queue, gone))
            if not keeps_guarantee(left, guarantee=self.ledger.guarantee[queue], lost=lost):
                return False
        if self.is_reserved_first:
            return True
        left = unit.left_of(self._used(branch[-1], gone))
        share_left = ShareLeft(self.ledger.share(branch[-1], left, self.short))
        return stays_better_off(share_left, self.shares_before[self._branches.own(leaf)])

    def units_at_most(self) -> list[Unit] | None:
        """The first units of each size of every namespace, as many as could be taken if no others were.

        What is taken only lowers what a queue uses, so no more of them can be taken beside others, and those
        that can are the first: nothing but their size and their order decides while no unit is on loan,
        surplus, or kept by a disruption budget or a promise.
        """
        if self.loans.are_any or self.search.budgets.are_any:
            return None
        if self.ledger.held or self.state.are_promises_dependent:
            return None
        found = list[Unit]()
        for leaf in self.leaves():
            found += self.units(leaf).first_of_each_size(self._most_like, self.may_be_victim)
        return None if any(unit.is_surplus for unit in found) else found

    def _most_like(self, unit: Unit) -> int:
        """How many units of the size of one may be taken from its leaf if no others are."""
        if unit.resources.isdisjoint(self.short):
            return 0
        leaf = unit.leaf
        branch, there = self._branches.of(leaf), self.units(leaf).count(self.may_be_victim)

        def is_too_many(others: int) -> bool:
            gone = self.state.tables.axis.zeros()
            add_needs(gone, unit.used, others)
            return not self._may_go_after(unit, dict.fromkeys(branch, gone))

        return bisect_left(range(there), True, key=is_too_many)

    def allows(self) -> bool:
        """Within deserved at every level, and nothing reserved is given away, with the victims gone."""
        ledger = self.ledger
        within = ledger.beyond(self.leaf, self.request, ledger.deserved) is None
        return within and not ledger.gives_away_since(self.leaf, self.request, self.reserved_before)
