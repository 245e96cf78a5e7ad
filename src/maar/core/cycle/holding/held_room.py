"""Room that is held for groups which have waited long, so that small ones do not go on in front of them.

A hold keeps the room of a planned start (`planned_start.py`): nothing is placed that would be in
the way then. It adds to what is counted the part of what is counted at the planned start that is
not counted already:

- on its nodes, of what is held there;
- in its leaf and the queues above, of what they use (victims are not chosen by that);
- of the queues above its leaf and of the whole cluster, of what is reserved below them, or used.

A pod that runs on beyond that time adds to both alike, so that these parts need not be computed
again. While somebody is placed who ends before the planned start, they are taken away (`lifted`).

Two holds may share a node. The planned start of the later one is computed with the pods of the
earlier one placed, so whoever is placed in lifted room takes it from the earlier one first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import add
from typing import TypeVar

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.placing.room import Room
from maar.core.cycle.queue_ledger import QueueLedger
from maar.core.tables.axis import Needs, times
from maar.core.tables.counting import add_needs
from maar.core.tables.rows import Column, PodRow

T = TypeVar("T")


@dataclass(frozen=True)
class PlannedStart:
    """When and where a group can start, and how things are then."""

    start: float | None  # None: it depends on pods whose ends are not known
    nodes: dict[str, int]  # by the key of the pod
    leaving: frozenset[str]  # the pods that are gone then, wherever they are
    needs: Needs  # of the group's pods together
    held_then: dict[int, Column]  # by node: all that is held there then, the group's pods included
    used_then: dict[int, Column]  # by queue of its path: what it uses, the group's pods included
    counted_then: dict[int, Column]  # by queue above its leaf: what is reserved, or used, below it


@dataclass(eq=False)
class Hold:
    """The room that is held for a group: what is added for it, by node and by queue."""

    group: GroupState
    planned: PlannedStart
    now: dict[int, Column]
    later: dict[int, Column]
    used: dict[int, Column]  # of the queues of its path
    below: dict[int, Column]  # of the queues above its leaf
    number: int  # the earlier the smaller


class HeldRoom:
    """All holds of a cycle, the earliest first."""

    def __init__(self, room: Room, ledger: QueueLedger) -> None:
        self.room, self.ledger = room, ledger
        self.holds: list[Hold] = []
        self._counted_holds: list[Hold] = []  # all but those that are lifted
        self._numbers = 0

    def of(self, group: GroupState) -> Hold | None:
        """The hold of a group."""
        for hold in self.holds:
            if hold.group is group:
                return hold
        return None

    def hold(self, group: GroupState, planned: PlannedStart) -> None:
        """Hold the room of a planned start."""
        room = self.room
        now = {node: _more(held, room.now[node]) for node, held in planned.held_then.items()}
        later = {node: _more(held, room.later[node]) for node, held in planned.held_then.items()}
        used = {queue: _more(then, self.ledger.used[queue]) for queue, then in planned.used_then.items()}
        self._numbers += 1
        below = self._below(group.leaf, planned)
        self.hold_again(Hold(group, planned, now, later, used, below, self._numbers))

    def hold_again(self, hold: Hold) -> None:
        """Hold what was released."""
        self._separate_limits(hold.below)
        self.holds.append(hold)
        self.holds.sort(key=lambda one: one.number)
        self._count(hold, 1)

    def release(self, hold: Hold) -> None:
        """Hold the room of a group no longer."""
        self.holds.remove(hold)
        self._count(hold, -1)

    def without_hold(self, group: GroupState, attempt: Callable[[], T | None]) -> T | None:
        """Try something for a group without the room that it holds, which it keeps where that fails."""
        hold = self.of(group)
        if hold is None:
            return attempt()
        self.release(hold)
        found = attempt()
        if found is None:
            self.hold_again(hold)
        return found

    @contextmanager
    def lifted(
        self, holds: Sequence[Hold], placed: Callable[[], Iterable[tuple[PodRow, int]]]
    ) -> Iterator[None]:
        """Let somebody who ends before be placed on held room; less of it is added afterwards for that."""
        for hold in holds:
            self._count(hold, -1)
        ledger = self.ledger
        used = {queue: list(ledger.used[queue]) for hold in holds for queue in hold.used}
        below = {queue: ledger.counted_below(queue) for hold in holds for queue in hold.below}
        yield
        for pod, node in placed():
            for parts in ([hold.now for hold in holds], [hold.later for hold in holds]):
                _take([part[node] for part in parts if node in part], pod.shape.needs)
        for queue, before in used.items():
            more = _needs(_more(ledger.used[queue], before))
            _take([hold.used[queue] for hold in holds if queue in hold.used], more)
        for queue, before in below.items():
            more = _needs(_more(ledger.counted_below(queue), before))
            _take([hold.below[queue] for hold in holds if queue in hold.below], more)
        for hold in holds:
            self._count(hold, 1)

    def left(self, pod: PodRow, node: int, sign: int) -> None:
        """A pod is evicted (+1), or no longer (-1); one gone at a planned start leaves no more room."""
        hold = next((one for one in self.holds if pod.key in one.planned.leaving), None)
        if hold is None:
            return
        needs = times(pod.shape.needs, sign)
        if node in hold.later:
            add_needs(hold.later[node], needs, 1)
            self.room.change(node, pod.shape.needs, 0, sign)
        leaf = pod.group.leaf if pod.group is not None else None
        for queue in (*(self.ledger.paths[leaf.index] if leaf is not None else ()), 0):
            if queue in hold.below:
                add_needs(hold.below[queue], needs, 1)
                add_needs(self.ledger.most[queue], needs, -1)
            if queue in hold.used:
                add_needs(hold.used[queue], needs, 1)
                add_needs(self.ledger.used[queue], needs, 1)
                add_needs(self.ledger.held[queue], needs, 1)

    @contextmanager
    def nothing_held(self) -> Iterator[Sequence[Hold]]:
        """Hold nothing for a while; gives the holds, which are put back at the end."""
        holds = tuple(self.holds)
        for hold in holds:
            self.release(hold)
        yield holds
        for hold in holds:
            self.hold_again(hold)

    def _below(self, leaf: int, planned: PlannedStart) -> dict[int, Column]:
        """By queue above a leaf: what is counted below it then, and not now.

        Guarantees that the group itself uses then are added: others who use them meanwhile raise what is
        reserved at that time, and not what is reserved now.
        """
        ledger, path, found = self.ledger, self.ledger.paths[leaf], dict[int, Column]()
        unused = [0] * len(ledger.total)
        for queue, above in zip(path, (*path[1:], 0), strict=True):
            for resource, amount in planned.needs:
                least, used = ledger.own[queue][resource], ledger.reserved_below[queue][resource]
                if queue == leaf:
                    least, used = ledger.guarantee[leaf][resource], ledger.taken(leaf, resource)
                unused[resource] += min(amount, max(0, least - used)) if resource in ledger.reservable else 0
            if above in planned.counted_then:
                more = _more(planned.counted_then[above], self._counted(above))
                found[above] = [sum(pair) for pair in zip(more, unused, strict=True)]
        return found

    def _counted(self, queue: int) -> Column:
        """What is counted below a queue, the parts of other holds included."""
        ledger = self.ledger
        limits = zip(ledger.counted_below(queue), ledger.real[queue], ledger.most[queue], strict=True)
        return [counted + real - most for counted, real, most in limits]

    def _count(self, hold: Hold, sign: int) -> None:
        """Count what is added on nodes and to queues (+1), or no longer (-1)."""
        ledger = self.ledger
        for node, column in hold.now.items():
            self.room.change(node, _needs(column), sign, 0)
        for node, column in hold.later.items():
            self.room.change(node, _needs(column), 0, sign)
        for queue, column in hold.below.items():
            add_needs(ledger.most[queue], _needs(column), -sign)
        for queue, column in hold.used.items():
            add_needs(ledger.used[queue], _needs(column), sign)
        (self._counted_holds.append if sign > 0 else self._counted_holds.remove)(hold)
        ledger.held = {}
        for one in self._counted_holds:
            for queue, column in one.used.items():
                ledger.held[queue] = list(map(add, ledger.held.get(queue, [0] * len(column)), column))

    def _separate_limits(self, queues: Iterable[int]) -> None:
        """Have limits of their own for queues, which a hold may lower."""
        ledger = self.ledger
        if ledger.most is ledger.real:
            ledger.most = list(ledger.real)
        for queue in queues:
            if ledger.most[queue] is ledger.real[queue]:
                ledger.most[queue] = list(ledger.real[queue])


def _more(then: Column, now: Column) -> Column:
    """What there is then and not now."""
    return [max(0, amount - before) for amount, before in zip(then, now, strict=True)]


def _needs(column: Column) -> Needs:
    return tuple([(row, amount) for row, amount in enumerate(column) if amount])


def _take(columns: Sequence[Column], needs: Needs) -> None:
    """Take an amount from columns, from the first as much as it has."""
    for resource, amount in needs:
        left = amount
        for column in columns:
            part = min(left, column[resource])
            column[resource] -= part
            left -= part
