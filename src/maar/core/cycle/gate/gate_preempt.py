"""Preempt at the gate: whether it would make room for a group, by amounts alone.

The problem. A group waits at the gate of a full queue, and inside preempt would evict others for
it. It is let in where, with everything gone that preempt may take for it, what the queue uses, what
the group needs and what groups need that were let in and have not been tried stay within the real
capability of every queue of the path, and within the cluster's total.

How it works. The order of victims and what may be taken are those of preempt itself
(`_AmountsOnly`). They depend on the leaf, the namespace and the priority of the beneficiary, and
not on how much it needs. So for each of these combinations there is one sequence of units, and what
matters of it is how much all of it frees (`_Victims`). Many thousand groups may wait at the gate,
in every cycle:

- what pods of the leaf hold together that may be victims at all is an upper bound, from sums over
  groups; in most full queues it is nothing, and no unit is looked at;
- a sequence is followed only until twice as much is freed as is wanted, and continued when more is
  wanted;
- what is not possible on one node for some amounts is not possible for larger ones.

Invariants. Enqueue changes nothing that pods use. What is wanted beside a group only grows.
Therefore what a sequence frees holds for the whole action, and nothing is computed twice.
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from maar.core.cycle.evicting.loans import would_run_on_loan
from maar.core.cycle.evicting.protected_until import ProtectedUntil
from maar.core.cycle.evicting.single_nodes import nodes_with_units
from maar.core.cycle.evicting.units import Rank, Unit
from maar.core.cycle.evicting.victim_search import VictimSearch
from maar.core.cycle.gate.enqueue_gate import has_pods
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.placing.turn_pods import for_eviction
from maar.core.cycle.preempt import Preempt
from maar.core.cycle.state import State
from maar.core.tables.axis import Needs
from maar.core.tables.counting import add, add_needs
from maar.core.tables.rows import Column

# The leaf, the namespace, the priority, whether one more pod is wanted, and the minimum run time waited for.
Kind = tuple[int, str, int, bool, float]
HeldByRank = dict[tuple[Rank, str], Column]  # what groups of a rank and a namespace hold


class GatePreempt:
    """What preempt would do for groups at the gate."""

    def __init__(self, state: State, inside: list[GroupState]) -> None:
        """With the groups that were let in before and hold nothing."""
        self.state = state
        self._is_configured = "preempt" in state.configuration.actions
        self._not_tried: dict[int, Column] = {}  # by leaf: what groups need that were let in
        self._left_of_limits: dict[int, Column] = {}  # by leaf: how much more it may use, and the cluster has
        self._held: dict[int, HeldByRank] = {}
        self._victims: dict[Kind, _Victims] = {}
        for group in inside:
            if not has_pods(group):
                self.let_in(group, len(group.keys))

    def let_in(self, group: GroupState, count: int = 1) -> None:
        """Count a group, or as many that are alike, that is let in and has not been tried."""
        if group.row.to_start:
            column = self._not_tried.setdefault(group.leaf, self.state.tables.axis.zeros())
            add_needs(column, group.row.to_start, count)

    def would_make_room(self, group: GroupState) -> bool:
        """Whether preempt would make room for a group that is not let in otherwise."""
        wanted, leaf = group.row.to_start, group.leaf
        if not self._is_configured or not wanted:
            return False
        if would_run_on_loan(wanted, self.state.ledger.deserved[leaf]):
            return False
        kind, to_free = self._kind(group), self._to_free(group, wanted)
        victims = self._victims.get(kind)
        if victims is None:
            attempt = _AmountsOnly(self._search, group)
            victims = self._victims[kind] = _Victims(attempt, self._held_in(leaf))
        return victims.may_free(to_free) and _may_preempt(group) and victims.free(to_free)

    def note_protection(self, groups: Iterable[GroupState]) -> None:
        """Give groups that are kept out the reason that their victims are protected, where it is that."""
        until = ProtectedUntil()
        for group in groups if self._is_configured else ():
            kind, wanted = self._kind(group), group.row.to_start
            victims = self._victims.get(kind)
            if wanted and victims is not None and self._search.min_runtimes.holds(group.leaf, kind[-1]):
                to_free = self._to_free(group, wanted)
                if victims.may_free(to_free) and _may_preempt(group):
                    one = _AmountsOnly(self._search, group, to_free)
                    if until.may_note(one, (kind, to_free)):
                        for each in self.state.groups.by_age_of_refusal(group):
                            until.note(one, (kind, to_free), each)

    def _kind(self, group: GroupState) -> Kind:
        row, waited = group.row, self._search.min_runtimes.waited(group)
        return (group.leaf, row.namespace, row.priority, group.is_ready, waited)

    def _to_free(self, group: GroupState, wanted: Needs) -> Needs:
        """What has to be freed for a group, and for those that were let in and have not been tried."""
        room, waiting = self._room(group.leaf), self._not_tried.get(group.leaf)
        return tuple((row, amount + (waiting[row] if waiting else 0) - room[row]) for row, amount in wanted)

    @cached_property
    def _search(self) -> VictimSearch:
        return VictimSearch(self.state, "preempt")

    def _room(self, leaf: int) -> Column:
        """How much more a leaf may use within every real capability of its path, and the cluster has."""
        room = self._left_of_limits.get(leaf)
        if room is None:
            ledger = self.state.ledger
            limits = [(ledger.real[queue], ledger.used[queue]) for queue in ledger.paths[leaf]]
            limits.append((ledger.total, ledger.used[0]))
            left = [[most - now for most, now in zip(*limit, strict=True)] for limit in limits]
            room = self._left_of_limits[leaf] = [min(column) for column in zip(*left, strict=True)]
        return room

    def _held_in(self, leaf: int) -> HeldByRank:
        """What the groups of a leaf hold, by rank and namespace."""
        held = self._held.get(leaf)
        if held is None:
            columns = dict[tuple[int, bool, str], Column]()
            for row in self.state.ledger.rows[leaf].groups.values():
                if row.admitted:  # pods of it hold something
                    key = (row.priority, row.placed == row.standing_minimum, row.namespace)
                    column = columns.get(key)
                    if column is None:
                        column = columns[key] = self.state.tables.axis.zeros()
                    add(column, row.used, 1)
            held = self._held[leaf] = {
                (Rank(True, priority, is_whole), namespace): column
                for (priority, is_whole, namespace), column in columns.items()
            }
        return held


def _may_preempt(group: GroupState) -> bool:
    """Whether pods of its first turn may preempt others; pods that do not exist yet may."""
    return not has_pods(group) or bool(for_eviction(group))


class _Victims:
    """What preempt may take for groups of one kind."""

    def __init__(self, attempt: "_AmountsOnly", held: HeldByRank) -> None:
        self._attempt = attempt
        shares = {name: attempt.state.namespace_share(attempt.leaf, name) for _, name in held}
        columns = [
            column for (rank, name), column in held.items() if attempt.may_be_victim(rank, name, shares[name])
        ]
        self._at_most = [sum(column) for column in zip(*columns, strict=True)]
        self._freed: Column = []  # by the part of the sequence that is known
        self._is_complete = False
        self._too_much: list[Needs] = []  # what no node alone frees

    def may_free(self, amounts: Needs) -> bool:
        """Whether all possible victims together hold these amounts; false where there are none."""
        return bool(self._at_most) and all(self._at_most[row] >= amount for row, amount in amounts)

    def free(self, amounts: Needs) -> bool:
        """Whether victims free these amounts, anywhere or on one node alone."""
        if not self._is_complete and not self._is_freed(amounts):
            twice = tuple((row, 2 * max(0, amount)) for row, amount in amounts)
            self._is_complete = not self._attempt.frees(twice)
            self._freed = self._attempt.freed
        if self._is_freed(amounts):
            return True
        if not self._freed or any(_is_at_least(amounts, known) for known in self._too_much):
            return False
        if any(self._attempt.frees(amounts, node) for node in self._attempt.nodes_that_may_free(amounts)):
            return True
        self._too_much.append(amounts)
        return False

    def _is_freed(self, amounts: Needs) -> bool:
        return bool(self._freed) and all(self._freed[row] >= amount for row, amount in amounts)


def _is_at_least(amounts: Needs, others: Needs) -> bool:
    """Whether amounts are at least others, on all that those name."""
    known = dict(amounts)
    return all(row in known and known[row] >= amount for row, amount in others)


class _AmountsOnly(Preempt):
    """A try inside a queue that asks how much it frees, and not where."""

    def __init__(self, search: VictimSearch, group: GroupState, amounts: Needs = ()) -> None:
        super().__init__(search, group)
        self._amounts = self._to_free = amounts

    def find(self) -> list[Unit] | None:
        """Units that free the amounts it was made with, anywhere or on one node."""
        if self.frees(self._amounts):
            return self._gathered
        nodes = self.nodes_that_may_free(self._amounts) if self.freed else []
        return self._gathered if any(self.frees(self._amounts, node) for node in nodes) else None

    def frees(self, amounts: Needs, node: int | None = None) -> bool:
        """Whether victims free these amounts, anywhere or on one node; `freed` is what they freed."""
        self.freed: Column = []
        self._to_free = amounts
        self._before = list(self.ledger.used[self.leaf])
        self._gone = len(self.state.gone)
        with self.state.trial():
            self._gathered = self._gather(node)
        self._put_back(self._gathered)
        return bool(self._gathered)

    def _fits(self) -> bool:
        if len(self.state.gone) == self._gone:
            return False  # what needs no victim is not for preempt
        used = self.ledger.used[self.leaf]
        self.freed = [before - now for before, now in zip(self._before, used, strict=True)]
        return all(self.freed[row] >= amount for row, amount in self._to_free)

    def nodes_that_may_free(self, amounts: Needs) -> list[int]:
        """The nodes where the leaf holds these amounts, and that have units which may be taken."""
        held = self.search.leaf_usage.of((self.leaf,))  # [R, N]
        possible = held.any(axis=0)  # [N]
        for row, amount in amounts:
            possible &= held[row] >= amount
        nodes = np.flatnonzero(possible).tolist()
        with_units = nodes_with_units(self) if nodes else ()
        return [node for node in nodes if self.state.room.nodes[node].name in with_units]
