"""One class of equal groups, and blocks of classes. See `classes.py`."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter
from typing import Final, NamedTuple, Self

from maar.core.model.pod_group import PodGroupPhase
from maar.core.tables.axis import Needs
from maar.core.tables.rows import GroupRow, PodRow, QueueRow
from maar.core.tables.shapes import Shape

_FEW: Final = 8
_order: Final = attrgetter("order", "key")  # names of owners may be equal


class BlockKey(NamedTuple):
    """What the classes of a block have in common."""

    leaf: QueueRow
    namespace: str
    priority: int
    phase: PodGroupPhase
    is_ready: bool  # with no pod placed
    passed: int  # how many of the lengths of waiting its groups have waited for
    apart: object  # what sets them apart besides


@dataclass(eq=False)
class Block:
    """Classes that differ only in what their groups ask for: one look may tell that none has a turn."""

    key: BlockKey
    classes: "dict[GroupClass, None]" = field(default_factory=dict)
    changes: int = 0  # counts changes of its classes and their members
    _summary: "tuple[int, BlockSummary] | None" = None  # after so many changes

    @property
    def summary(self) -> "BlockSummary":
        """What its classes ask for, summed up once after each change."""
        if self._summary is None or self._summary[0] != self.changes:
            self._summary = self.changes, BlockSummary.of(self.classes)
        return self._summary[1]


@dataclass(frozen=True, slots=True)
class BlockSummary:
    """What the classes of a block ask for."""

    is_known: bool  # the pods of the next turn of each class
    least: Needs  # what a turn of each class needs at least
    shapes: "tuple[Shape, ...]"  # of the pods of all turns
    pods: "tuple[PodRow, ...]"  # one of each of these shapes
    amounts: Mapping[int, Sequence[int]]  # by resource: what turns need, sorted
    any_may_preempt: bool
    any_asks_for_nothing: bool  # a pod that backfill places
    keys: tuple[str, ...]  # of all groups

    @classmethod
    def of(cls, classes: "Iterable[GroupClass]") -> Self:
        """Sum up classes."""
        is_known, any_may_preempt, turns, keys = True, False, list[dict[int, int]](), list[str]()
        pods = dict[Shape, PodRow]()
        for one in classes:
            keys += one.keys
            is_known &= one.turn is not None
            any_may_preempt |= not one.never_preempts
            if one.turn:
                turns.append(dict(one.needs))
            if one.shape is not None:
                pods.setdefault(one.shape, one.rows[0].pending[0])
            else:
                for pod in one.rows[0].pending:
                    pods.setdefault(pod.shape, pod)
        resources = sorted({resource for needs in turns for resource in needs})
        amounts = {row: sorted(needs[row] for needs in turns if row in needs) for row in resources}
        least = tuple((row, found[0]) for row, found in amounts.items() if len(found) == len(turns))
        return cls(
            is_known,
            least,
            tuple(pods),
            tuple(pods.values()),
            amounts,
            any_may_preempt,
            any(shape.asks_for_nothing for shape in pods),
            tuple(keys),
        )


@dataclass(slots=True, eq=False)
class GroupClass:
    """Equal groups, in order."""

    signature: object
    block: Block
    shape: Shape | None  # of all their pods, where they are equal and there are some
    turn: Counter[Shape] | None  # the pods of a turn; empty: too few to start; None: the turn chooses them
    needs: Needs  # of those together
    never_preempts: bool
    rows: list[GroupRow] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)  # of the rows
    differs_from: float = inf  # when some of them will have waited long enough to be of another class
    without_status: dict[str, None] = field(
        default_factory=dict
    )  # keys of those whose statuses do not say that they wait

    def add(self, row: GroupRow) -> None:
        """Add a group in its place."""
        if not _is_stated(row):
            self.without_status[row.key] = None
        rows = self.rows
        if not rows or rows[-1].order < row.order:  # most come in order
            rows.append(row)
            self.keys.append(row.key)
        else:
            place = bisect_left(rows, _order(row), key=_order)
            rows.insert(place, row)
            self.keys.insert(place, row.key)

    def remove(self, rows: Sequence[GroupRow]) -> None:
        """Remove groups; many are removed at once where a cycle has placed many."""
        for row in rows if self.without_status else ():
            self.without_status.pop(row.key, None)
        if len(rows) > _FEW:
            gone = {row.key for row in rows}
            self.rows = [row for row in self.rows if row.key not in gone]
            self.keys = [key for key in self.keys if key not in gone]
            return
        for row in rows:
            place = bisect_left(self.rows, _order(row), key=_order)
            del self.rows[place], self.keys[place]


def _is_stated(row: GroupRow) -> bool:
    """Whether its status says that it was let in and waits, without room held for it."""
    is_let_in = row.stored_phase == "Inqueue" and row.admitted_since is not None
    return is_let_in and row.unschedulable_since is not None and row.holds_since is None
