"""The order of turns in an action that evicts: which members of failed classes have turns after a success.

The problem. By definition every group has a turn of its own, in order, and one that has failed has
no other. A turn that fails changes nothing, so until one succeeds all members of a class fail as
its first member does. Which of them would have had their turn before the success, and which come
after it and may succeed now?

How it works. A class that fails leaves the order and is noted. When a turn succeeds, each class
that has failed since the last success is divided: the members whose turn would have come before
have failed, and the others are put back into the order. Between two successes no share changes.
Therefore

- a leaf has all its turns before the next leaf has one: classes that failed in another leaf have
  failed;
- in the namespace of the group that succeeded, members before it in the order have failed;
- a namespace that uses less per weight has had all its turns;
- of namespaces that use the same the one with the oldest waiting group goes first. The groups of a
  namespace have their turns in their order, each at the age of the oldest that has not had its
  turn. That age only rises. So the turns of two namespaces are merged by it, and a member has
  failed if its turn comes at an earlier age than the success.

The classes of a leaf are read when its turn comes. Where one look at each of its blocks tells that
none of them can succeed, and no other group of the leaf waits, all have failed.

Complexity. A failure costs O(1), a success a search in each class that failed since the last one.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from operator import attrgetter

from maar.core.cycle.evicting.attempt import Attempt
from maar.core.cycle.evicting.units import Unit
from maar.core.cycle.evicting.victim_search import VictimSearch
from maar.core.cycle.group_class import Block
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.turn_heaps import Job, Standing
from maar.core.cycle.turn_order import TurnOrder
from maar.core.model.reasons import Refusal
from maar.core.tables.groups import ADMITTED_PHASES

_created = attrgetter("created")


@dataclass(frozen=True, slots=True)
class _Failure:
    """A class that has failed since the last success."""

    group: GroupState
    job: Job  # its place among the jobs of its namespace
    standing: Standing  # of its namespace, in its turn
    refusal: Refusal | None  # what it had been refused with before


class EvictionTurns:
    """The turns of groups that try to make room."""

    def __init__(self, search: VictimSearch, attempt: type[Attempt]) -> None:
        """Of all groups that were admitted and wait."""
        state = self._state = search.state
        self._search, self._attempt = search, attempt
        self._order = TurnOrder(state, "fair", ())
        self._groups = dict[int, list[GroupState]]()  # by leaf: those that no block tells of
        self._blocks = dict[int, list[Block]]()  # by leaf: those of groups that hold nothing
        for group in state.groups.read_waiting():
            if group.pending and group.phase in ADMITTED_PHASES and not _is_of_block(group):
                self._groups.setdefault(group.leaf, []).append(group)
        for block in state.groups.classes.blocks.values():
            if block.key.phase in ADMITTED_PHASES:
                self._blocks.setdefault(block.key.leaf.index, []).append(block)
        for leaf in {**self._groups, **self._blocks}:
            self._order.expect(leaf)
        self._failures = list[_Failure]()  # since the last success, in the leaf whose turn it is

    def next(self) -> GroupState | None:
        """The group whose turn it is; None when none is left."""
        while (leaf := self._order.unopened()) is not None:
            self._order.open(leaf, self._waiting_in(leaf))
        group = self._order.next()
        if group is not None and self._failures and self._failures[0].group.leaf != group.leaf:
            self._failures.clear()
        return group

    def _waiting_in(self, leaf: int) -> list[GroupState]:
        """The groups of a leaf that have turns; none where it is plain that all fail."""
        groups, blocks = self._groups.get(leaf, []), self._blocks.get(leaf, ())
        if groups or not all(self._attempt.all_fail(self._search, block) for block in blocks):
            states = [group for block in blocks for group in self._state.groups.of_block(block)]
            groups += [group for group in states if group.pending and _is_of_block(group)]
        return groups

    def failed(self, group: GroupState, blocked: Refusal | None = None) -> None:
        """A group whose turn it was, and all members of its class, have no turn until another succeeds."""
        if not group.is_single:
            job, standing = self._order.job_before(group), self._order.standing(group)
            self._failures.append(_Failure(group, job, standing, group.refusal))
        group.refusal = blocked or group.refusal
        self._order.failed(group)

    def succeeded(self, group: GroupState, victims: Iterable[Unit]) -> None:
        """A group has another turn if it still waits; so have the members of classes that come after it."""
        order, groups = self._order, self._state.groups
        job, standing = order.job_before(group), order.standing(group)
        order.add(groups.advance(group))
        failures, self._failures = self._failures, []
        for one in failures:
            place = one.group.cursor + self._failed_members(one, failures, job, standing)
            rest = groups.divide(one.group, place)
            if rest is not None:
                rest.refusal = one.refusal
                order.add(rest)
        if group.pending:
            order.again(group)
        else:
            order.done(group)
        for victim in {unit.group.row.key: unit.group for unit in victims}.values():
            order.refresh_group(victim)

    def _failed_members(
        self, failure: _Failure, failures: Sequence[_Failure], job: Job, standing: Standing
    ) -> int:
        """How many members of a class would have had their turn before a job succeeded."""
        group, rows = failure.group, failure.group.rows
        if group.row.namespace == job[-1].row.namespace:
            is_before = failure.job[:-2] < job[:-2]  # without age and name, in which alone they differ
            return len(rows) if is_before else bisect_right(rows, job[-2], key=attrgetter("order"))
        share, age, order = standing[1:4]
        if failure.standing[1] < share:
            return len(rows)
        is_first_of_equals = failure.standing[3] < order
        oldest_after = min(
            self._order.oldest_after(group, failure.job[:-2]),
            min((one.group.row.created for one in failures if _comes_after(one, failure)), default=inf),
        )
        if oldest_after < age or (oldest_after == age and is_first_of_equals):
            return len(rows)
        return (bisect_right if is_first_of_equals else bisect_left)(rows, age, key=_created)


def _is_of_block(group: GroupState) -> bool:
    """Whether what is known of its block is true of a group: it was admitted before, and holds nothing."""
    one = group.of_class
    return one is not None and one.block.key.phase in ADMITTED_PHASES and group.is_idle


def _comes_after(one: _Failure, other: _Failure) -> bool:
    """Whether a class is in the same namespace as another, and has its turns after it."""
    is_near = one.group.row.namespace == other.group.row.namespace
    return is_near and one.job[:-2] > other.job[:-2]
