"""Pod groups that wait and are alike: equal to every decision but for their place in the order.

Thousands of groups may wait, and they are of few kinds. Those of one kind wait for the same reason, and
until one of them is placed, what cannot be done for the first of them cannot be done for any other. So a
cycle looks at a kind once, however many groups it has (`core/cycle/state.py`).

A group has a kind while it holds nothing and all its pods wait, and nothing but room and the filters decides
where they go. A group without pods has one until it is let in. What groups of a kind have in common:

- the leaf, the namespace, the priority and the phase, which turns and limits depend on;
- minMember, minTaskMember, the standing minimum and minResources: what starts together, and the gate;
- the shapes and tasks of their pods, in the order in which they are placed, and which of them may preempt;
- which of the minimum run times in force they have waited for, as pods are protected from other groups only;
- what third parties' orders of jobs say of them.

A group is like no other where terms of other pods select one of its pods, or a third party's filter or score
concerns it (`Distinctions`), where it has waited for long enough to hold room, and where Volcano's scheduling
gate is on one of its pods, or was.

To find the kind of a group takes about as long as to place it, and is in vain where it starts at once. So the
kinds of groups that have come or changed are found when they have waited through a decision, or when the
cluster is asked for more than it has, and most of them will wait. Until then a group is alone.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

from maar.core.tables.axis import times
from maar.core.tables.rows import GroupRow, Kind, QueueRow
from maar.core.tables.shapes import Shape

_PHASES: Final = ("Pending", "Inqueue")  # of groups that may have a kind
_order: Final = attrgetter("order", "key")  # names of owners may be equal


class Waits(NamedTuple):
    """The lengths of waiting that matter to decisions, and the time of one."""

    now: float
    lengths: tuple[float, ...] = ()  # of being unschedulable
    holds_room: bool = False  # for groups that have waited for so long since their admission
    room_after: float | None = None  # unless they say it themselves; None: never

    @property
    def matter(self) -> bool:
        """Whether it matters for how long any group has waited."""
        return self.holds_room or bool(self.lengths)

    def may_hold_room_from(self, row: GroupRow) -> float:
        """The time from which a group may hold room."""
        longest = self.room_after if row.sla_waiting_time is None else row.sla_waiting_time
        if not self.holds_room or longest is None or row.admitted_since is None:
            return inf
        return row.admitted_since + longest

    def may_hold_room(self, row: GroupRow) -> bool:
        """Whether a group may hold room now, or does."""
        return self.holds_room and (row.holds_since is not None or self.may_hold_room_from(row) <= self.now)

    def passed(self, row: GroupRow) -> int:
        """How many of the lengths a group has been unschedulable for."""
        since = row.unschedulable_since
        if since is None or not self.lengths:
            return 0
        return bisect_right(self.lengths, self.now, key=lambda length: since + length)

    def differs_from(self, row: GroupRow) -> float:
        """The time from which one more of these matters to a group, if it stays unschedulable."""
        passed, since = self.passed(row), row.unschedulable_since
        later = inf if since is None or passed == len(self.lengths) else since + self.lengths[passed]
        return min(later, self.may_hold_room_from(row))


def lengths_of_waiting(queues: Iterable[QueueRow]) -> tuple[float, ...]:
    """The minimum run times of leaf queues: pods are protected only from those that have waited less."""
    found = {
        one.seconds for row in queues if row.min_runtimes and row.is_leaf for one in row.min_runtimes.values()
    }
    return tuple(sorted(found - {0}))


class Distinctions(Protocol):
    """What sets groups apart besides what their rows say."""

    @property
    def follow_from(self) -> object:
        """What they follow from; equal where they are equal for all groups."""

    @property
    def are_made(self) -> bool:
        """Whether any group is set apart."""

    def of(self, row: GroupRow) -> object | None:
        """What a group has in common with others; None where it is like no other."""


@dataclass(frozen=True)
class NoDistinctions:
    """Nothing sets groups apart but what their rows say."""

    follow_from: object = None
    are_made: bool = False

    def of(self, row: GroupRow) -> object:  # noqa: ARG002 (of all rows)
        """The same of all."""
        return ()


_NO_WAITS: Final = Waits(-inf)
NO_DISTINCTIONS: Final = NoDistinctions()


@dataclass(eq=False)
class KindsOfGroups:
    """All kinds that have groups, and the groups with pods that wait and have no kind, or none yet."""

    alone: dict[str, GroupRow] = field(default_factory=dict)
    _kinds: dict[object, Kind] = field(default_factory=dict)
    _waits: Waits = _NO_WAITS  # as in the last decision
    _distinctions: Distinctions = NO_DISTINCTIONS  # likewise
    _new: dict[str, GroupRow] = field(default_factory=dict)  # have come or changed since the last decision
    _waited: dict[str, GroupRow] = field(default_factory=dict)  # and before it, without a kind yet

    def put(self, row: GroupRow, *, is_waiting: bool) -> None:
        """Take note of a group that was summed up; tells whether pods of it wait."""
        key = row.key
        if row.kind is not None or self._waited:
            self.remove(row)
        if is_waiting:
            self.alone[key] = row
        else:
            self.alone.pop(key, None)
        if row.leaf is not None and row.phase in _PHASES:
            self._new[key] = row
        else:
            self._new.pop(key, None)

    def remove(self, row: GroupRow) -> None:
        """Forget a group."""
        kind = row.kind
        if kind is None:
            for groups in (self.alone, self._new, self._waited):
                groups.pop(row.key, None)
            return
        row.kind = None
        place = bisect_left(kind.rows, _order(row), key=_order)
        del kind.rows[place], kind.keys[place]
        if not kind.rows:
            del self._kinds[kind.key]

    def find(self, distinctions: Distinctions, waits: Waits, *, of_new: bool) -> None:
        """Find the kinds of groups that have waited through a decision, or of the new ones too."""
        if waits.now < self._waits.now or waits[1:] != self._waits[1:]:
            self._again([row for kind in self for row in kind.rows])
            self._waited.update(
                {key: row for key, row in self.alone.items() if row.leaf is not None and row.phase in _PHASES}
            )
        elif waits.matter:
            for kind in [kind for kind in self if kind.differs_from <= waits.now]:
                self._again([row for row in kind.rows if self._differs(waits, row)])
                kind.differs_from = min(map(waits.differs_from, kind.rows), default=inf)
        self._waits = waits
        if distinctions.follow_from != self._distinctions.follow_from:
            self._distinguish(distinctions)
        self._distinctions = distinctions
        due, self._waited, self._new = self._waited, self._new, {}
        if of_new:
            due, self._waited = due | self._waited, {}
        for row in due.values():
            self._find(row)

    def _differs(self, waits: Waits, row: GroupRow) -> bool:
        return waits.may_hold_room(row) or waits.passed(row) != self._waits.passed(row)

    def _again(self, rows: Iterable[GroupRow]) -> None:
        """Find the kinds of groups again."""
        for row in rows:
            self.remove(row)
            self._waited[row.key] = row
            if row.pending:
                self.alone[row.key] = row

    def _distinguish(self, distinctions: Distinctions) -> None:
        """Find the kinds of groups again that are set apart by something else than before."""
        before = self._distinctions
        self._again([row for kind in self for row in kind.rows if distinctions.of(row) != before.of(row)])
        for row in self.alone.values():
            if row.leaf is not None and row.phase in _PHASES and before.of(row) is None:
                self._waited[row.key] = row

    def _find(self, row: GroupRow) -> None:
        apart, waits = self._distinctions.of(row) if self._distinctions.are_made else (), self._waits
        is_alone = apart is None or waits.may_hold_room(row)
        key = None if is_alone else _kind_key(row, apart, waits.passed(row) if waits.lengths else 0)
        if key is None:
            return
        self.alone.pop(row.key, None)
        kind = row.kind = self._kinds.get(key) or self._add(key, row)
        if waits.matter:
            kind.differs_from = min(kind.differs_from, waits.differs_from(row))
        rows = kind.rows
        if not rows or rows[-1].order < row.order:  # most come in order
            rows.append(row)
            kind.keys.append(row.key)
        else:
            place = bisect_left(rows, _order(row), key=_order)
            rows.insert(place, row)
            kind.keys.insert(place, row.key)

    def _add(self, key: object, row: GroupRow) -> Kind:
        pods, wanted, shape, turn = row.pending, max(row.min_member, 1), None, Counter[Shape]()
        is_known = len(pods) <= wanted
        if pods and not row.min_task_member and all(pod.shape is pods[0].shape for pod in pods):
            shape, is_known = pods[0].shape, True
        if is_known and len(pods) >= wanted:
            turn.update(pod.shape for pod in pods[:wanted])
        needs = Counter[int]()
        for one, count in turn.items():
            needs.update(dict(times(one.needs, count)))
        never = bool(pods) and all(pod.never_preempts for pod in pods)
        kind = Kind(key, shape, turn if is_known else None, tuple(needs.items()), never)
        self._kinds[key] = kind
        return kind

    @property
    def is_empty(self) -> bool:
        """Whether no group has a kind."""
        return not self._kinds

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())


def _kind_key(row: GroupRow, apart: object, passed: int) -> object | None:
    """What decisions read of a group, other than its place in the order; None where it has no kind."""
    pods, phase, shape, never_preempts = row.pending, row.phase, None, False
    if row.to_come or row.has_queue_gate or len(pods) < len(row.pods) or not (pods or phase == "Pending"):
        return None  # others of its pods have places, are leaving, or must not be placed yet
    several: object = None
    if pods:
        shape, never_preempts = pods[0].shape, pods[0].never_preempts
        if shape.claims or shape.has_resource_claims:
            return None  # more than room decides where they go
        are_equal = not row.min_task_member
        for pod in pods:
            if pod.shape is not shape or pod.never_preempts != never_preempts:
                if pod.shape.claims or pod.shape.has_resource_claims:
                    return None
                are_equal = False
            if pod.nominated or pod.promised_with_job:
                return None
        if not are_equal:
            several = _several(row)
            if several is None:
                return None
    return (
        row.leaf,
        row.namespace,
        row.priority,
        phase,
        row.min_member,
        row.standing_minimum,
        row.to_start,
        row.sla_waiting_time,
        len(pods),
        shape,
        never_preempts,
        several,
        apart,
        passed,
    )


def _several(row: GroupRow) -> object | None:
    """The same of pods that differ, in the order of placing; None where the configuration decides on that."""
    if len({pod.priority for pod in row.pending}) > 1:
        return None
    pods = [(pod.shape, pod.never_preempts, pod.task) for pod in row.pending]
    return tuple(row.min_task_member.items()), tuple(pods)
