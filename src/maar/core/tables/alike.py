"""Pod groups that wait and are alike: equal to every decision but for their place in the order.

Thousands of groups may wait, and they are of few kinds. Those of one kind wait for the same reason, and
until one of them is placed, what cannot be done for the first of them cannot be done for any other. So a
cycle looks at a kind once, however many groups it has (`core/cycle/state.py`).

A group has a kind while it holds nothing and all its pods wait and are equal: of one shape, whose nodes
nothing but room and the filters decide, other pods least of all. A group without pods has one until it is
let in.

To find the kind of a group takes about as long as to place it, and is in vain where it starts at once. So the
kinds of groups that have come or changed are found when they have waited through a decision, or when the
cluster is asked for more than it has, and most of them will wait. Until then a group is alone.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

from maar.core.tables.axis import times
from maar.core.tables.rows import GroupRow, Kind, PodRow, QueueRow

_PHASES: Final = ("Pending", "Inqueue")  # of groups that may have a kind
_order: Final = attrgetter("order", "key")  # names of owners may be equal


class Waits(NamedTuple):
    """The lengths of waiting that matter to decisions, and the time of one."""

    now: float
    lengths: tuple[float, ...]

    def passed(self, row: GroupRow) -> int:
        """How many of the lengths a group has been unschedulable for."""
        since = row.unschedulable_since
        if since is None or not self.lengths:
            return 0
        return bisect_right(self.lengths, self.now, key=lambda length: since + length)

    def differs_from(self, row: GroupRow) -> float:
        """The time from which it will be one more, if the group stays unschedulable."""
        passed, since = self.passed(row), row.unschedulable_since
        return inf if since is None or passed == len(self.lengths) else since + self.lengths[passed]


def lengths_of_waiting(queues: Iterable[QueueRow]) -> tuple[float, ...]:
    """The minimum run times of leaf queues: pods are protected only from those that have waited less."""
    found = {
        one.seconds for row in queues if row.min_runtimes and row.is_leaf for one in row.min_runtimes.values()
    }
    return tuple(sorted(found - {0}))


class Concerned(Protocol):
    """Which pods may not, or prefer to, go to some nodes because of other pods."""

    @property
    def selectors(self) -> frozenset[object]:
        """What it follows from."""

    def includes(self, pod: PodRow) -> bool:
        """Whether a pod is one of them."""


@dataclass(frozen=True)
class _OwnConstraints:
    """Those that have constraints on other pods themselves."""

    selectors: frozenset[object] = frozenset()

    def includes(self, pod: PodRow) -> bool:
        return pod.shape.has_affinity


@dataclass(eq=False)
class KindsOfGroups:
    """All kinds that have groups, and the groups with pods that wait and have no kind, or none yet."""

    alone: dict[str, GroupRow] = field(default_factory=dict)
    _kinds: dict[object, Kind] = field(default_factory=dict)
    _waits: "Waits" = field(default_factory=lambda: Waits(-inf, ()))  # likewise
    _concerned: Concerned = field(default_factory=_OwnConstraints)  # as in the last decision
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

    def find(self, concerned: Concerned, waits: Waits, *, of_new: bool) -> None:
        """Find the kinds of groups that have waited through a decision, or of the new ones too."""
        if waits.now < self._waits.now or waits.lengths != self._waits.lengths:
            self._again([row for kind in self for row in kind.rows])
        elif waits.lengths:
            for kind in [kind for kind in self if kind.differs_from <= waits.now]:
                self._again([row for row in kind.rows if waits.passed(row) != self._waits.passed(row)])
                kind.differs_from = min(map(waits.differs_from, kind.rows), default=inf)
        self._waits = waits
        if concerned.selectors != self._concerned.selectors:
            self._concern(concerned)
        self._concerned = concerned
        due, self._waited, self._new = self._waited, self._new, {}
        if of_new:
            due, self._waited = due | self._waited, {}
        for row in due.values():
            self._find(row)

    def _again(self, rows: Iterable[GroupRow]) -> None:
        """Find the kinds of groups again."""
        for row in rows:
            self.remove(row)
            self._waited[row.key] = row
            if row.pending:
                self.alone[row.key] = row

    def _concern(self, concerned: Concerned) -> None:
        """Find kinds again where other pods than before concern those of groups."""
        self._again([row for kind in self for row in kind.rows if any(map(concerned.includes, row.pending))])
        before = self._concerned
        for row in self.alone.values():
            if row.leaf is not None and row.phase in _PHASES and any(map(before.includes, row.pending)):
                self._waited[row.key] = row

    def _find(self, row: GroupRow) -> None:
        key = None if any(map(self._concerned.includes, row.pending)) else _kind_key(row, self._waits)
        if key is None:
            return
        self.alone.pop(row.key, None)
        kind = row.kind = self._kinds.get(key) or self._add(key, row)
        if self._waits.lengths:
            kind.differs_from = min(kind.differs_from, self._waits.differs_from(row))
        rows = kind.rows
        if not rows or rows[-1].order < row.order:  # most come in order
            rows.append(row)
            kind.keys.append(row.key)
        else:
            place = bisect_left(rows, _order(row), key=_order)
            rows.insert(place, row)
            kind.keys.insert(place, row.key)

    def _add(self, key: object, row: GroupRow) -> Kind:
        if row.pending:
            pod, count = row.pending[0], max(row.min_member, 1)
            count = count if count <= len(row.pending) else 0
            kind = Kind(key, pod.shape, count, times(pod.shape.needs, count), pod.never_preempts)
        else:
            kind = Kind(key, None, 0, (), never_preempts=False)
        self._kinds[key] = kind
        return kind

    @property
    def is_empty(self) -> bool:
        """Whether no group has a kind."""
        return not self._kinds

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())


def _kind_key(row: GroupRow, waits: Waits) -> object | None:
    """All that decisions read of a group, other than its place in the order; None where it has no kind."""
    pods, phase, shape, never_preempts = row.pending, row.phase, None, False
    if row.min_task_member or row.to_come:
        return None
    if len(pods) < len(row.pods) or not (pods or phase == "Pending"):
        return None  # others of its pods have places, are leaving, or must not be placed yet
    if pods:
        shape, never_preempts = pods[0].shape, pods[0].never_preempts
        if shape.claims or shape.has_resource_claims:
            return None  # more than room decides where they go
        for pod in pods:
            if pod.shape is not shape or pod.never_preempts != never_preempts or pod.promised:
                return None
    return (
        row.leaf,
        row.namespace,
        row.priority,
        phase,
        row.min_member,
        row.standing_minimum,
        waits.passed(row),
        row.to_start,
        len(pods),
        shape,
        never_preempts,
    )
