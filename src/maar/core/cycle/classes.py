"""Classes of equal groups: what a cycle works on.

Thousands of groups may wait, and they are of few classes. Until something is done for one of a
class, what cannot be done for its first member cannot be done for any other, and all wait for the
same reason. So a cycle costs as much as there are classes, and as much more as it does, however
many groups wait.

A class has members in order; `group_states.py` has its state and its cursor. The signature of a
group is all that decisions read of it except its place in the order:

| part of the signature | who reads it |
|---|---|
| leaf, namespace, priority | the order of turns, limits, who may be whose victim |
| phase, minResources and what it needs to start | the gate |
| minMember, minTaskMember, standing minimum | what has to be placed together |
| shapes of its pods, in the order of placing | where they can go, what they use, whether filters suit |
| tasks of its pods, which of them may preempt | what a turn takes, for whom others are evicted |
| `sla-waiting-time`, the lengths that it has waited for | held room; which young pods it may evict |
| orders of third parties | its place among jobs |

A group of which more is read is like no other. It is a class of one, and nothing is known of it
beforehand: pods of it have places or promises, others' terms or plugins concern its pods, it mounts
volumes or claims devices, it may hold room, or Volcano's scheduling gate is on one of its pods.
That concerns this group alone: no other leaves its class for it.

A block is the classes of one leaf, namespace, priority and phase, which differ only in what they
ask for. Where even the least of that is too much, none of its classes has a turn (`BlockSummary`).

Classes are kept between decisions (`memory.py`), and only groups that have changed are read again.
What sets groups apart besides their rows (`Distinctions`, `Waits`) is compared with the last
decision.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple, Protocol

from maar.core.cycle.group_class import Block, BlockKey, GroupClass
from maar.core.tables.axis import times
from maar.core.tables.rows import GroupRow, QueueRow
from maar.core.tables.shapes import Shape
from maar.core.tables.tables import Tables

_PHASES: Final = ("Pending", "Inqueue")  # of groups that hold nothing


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
class Classes:
    """The classes of all groups that wait and hold nothing, and the other groups with pods that wait."""

    others: dict[str, GroupRow] = field(default_factory=dict)  # each is a class of one
    _of: dict[str, GroupClass] = field(default_factory=dict)  # by the key of the group
    _members: dict[str, GroupRow] = field(default_factory=dict)  # the rows in these classes
    _classes: dict[object, GroupClass] = field(default_factory=dict)  # by signature
    blocks: dict[BlockKey, Block] = field(default_factory=dict)  # those that have classes
    _seen: int = 0  # of the changes of groups
    _waits: Waits = _NO_WAITS  # as in the last decision
    _distinctions: Distinctions = NO_DISTINCTIONS  # likewise

    def __iter__(self) -> Iterator[GroupClass]:
        return iter(self._classes.values())

    def of(self, key: str) -> GroupClass | None:
        """The class of a group that waits and holds nothing; None where it is like no other."""
        return self._of.get(key)

    def like_no_other(self, rows: Mapping[str, GroupRow]) -> list[GroupRow]:
        """Those of some groups by key that are in no larger class."""
        return [rows[key] for key in sorted(rows.keys() - self._members.keys())]

    def update(self, tables: Tables, distinctions: Distinctions, waits: Waits) -> None:
        """Read the groups that have changed since the last decision, or are set apart by something else."""
        changed = tables.changed_groups.since(self._seen)
        again = dict.fromkeys(tables.groups if changed is None else changed)
        if changed is None or waits.now < self._waits.now or waits[1:] != self._waits[1:]:
            again = dict.fromkeys((*self._members, *self.others, *tables.groups))
        else:
            again.update(dict.fromkeys(self._of_other_waits(waits)))
            again.update(dict.fromkeys(self._distinguished(tables, distinctions)))
        self._seen, self._waits, self._distinctions = tables.changed_groups.number, waits, distinctions
        if self._members or self.others:
            self._remove(again)
        for key in again:
            row = tables.groups.get(key)
            if row is not None:
                self._put(row, has_waiting_pods=key in tables.waiting)

    def _of_other_waits(self, waits: Waits) -> Iterator[str]:
        """The groups that have waited long enough to be of another class."""
        for one in [one for one in self if one.differs_from <= waits.now] if waits.matter else ():
            for row in one.rows:
                if waits.may_hold_room(row) or waits.passed(row) != self._waits.passed(row):
                    yield row.key
            one.differs_from = min(map(waits.differs_from, one.rows), default=inf)

    def _distinguished(self, tables: Tables, distinctions: Distinctions) -> Iterator[str]:
        """The groups that are set apart by something else than in the last decision."""
        before = self._distinctions
        if distinctions.follow_from == before.follow_from:
            return
        for key in (*self._members, *self.others):
            row = tables.groups.get(key)
            if row is not None and distinctions.of(row) != before.of(row):
                yield key

    def _remove(self, keys: Iterable[str]) -> None:
        gone = dict[GroupClass, list[GroupRow]]()
        for key in keys:
            one = self._of.pop(key, None)
            if one is None:
                self.others.pop(key, None)
            else:
                gone.setdefault(one, []).append(self._members.pop(key))
        for one, rows in gone.items():
            one.remove(rows)
            one.block.changes += 1
            if not one.rows:
                del self._classes[one.signature], one.block.classes[one]
                if not one.block.classes:
                    del self.blocks[one.block.key]

    def _put(self, row: GroupRow, *, has_waiting_pods: bool) -> None:
        if row.leaf is not None and row.phase in _PHASES:
            apart, waits = self._distinctions.of(row) if self._distinctions.are_made else (), self._waits
            if apart is not None and not (waits.holds_room and waits.may_hold_room(row)):
                passed = waits.passed(row) if waits.lengths else 0
                signature = signature_of(row, apart, passed)
                if signature is not None:
                    one = self._classes.get(signature)
                    if one is None:
                        is_ready = row.min_member <= 0 and max(row.min_task_member.values(), default=0) <= 0
                        key = BlockKey(
                            row.leaf, row.namespace, row.priority, row.phase, is_ready, passed, apart
                        )
                        one = self._add(signature, self.blocks.setdefault(key, Block(key)), row)
                    self._join(row, one)
                    return
        if has_waiting_pods:
            self.others[row.key] = row

    def _join(self, row: GroupRow, one: GroupClass) -> None:
        self._of[row.key], self._members[row.key] = one, row
        one.block.changes += 1
        if self._waits.holds_room or self._waits.lengths:
            one.differs_from = min(one.differs_from, self._waits.differs_from(row))
        one.add(row)

    def _add(self, signature: object, block: Block, row: GroupRow) -> GroupClass:
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
        found = GroupClass(signature, block, shape, turn if is_known else None, tuple(needs.items()), never)
        self._classes[signature] = found
        block.classes[found] = None
        return found


def signature_of(row: GroupRow, apart: object, passed: int) -> object | None:
    """What decisions read of a group, other than its place in the order; None where it is like no other."""
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
