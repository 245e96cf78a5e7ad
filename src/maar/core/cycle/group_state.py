"""A class of equal pod groups while a cycle decides: what of each waits, and what it uses.

A class has members in order and a cursor (`classes.py`). Its state is that of each member from the
cursor on. Where a member has got all that it asked for, the state goes on to the next
(`GroupStates.finish`), and members that fare alike have one state behind the cursor. Before
anything else is done for the member at the cursor, that one gets a state of its own
(`GroupStates.advance`), which is then the state of a class of one. Most methods say `group` for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from maar.core.cycle.group_class import GroupClass
from maar.core.model.pod_group import PodGroupPhase
from maar.core.model.reasons import Refusal
from maar.core.tables.axis import Needs
from maar.core.tables.rows import NO_TASKS, Column, GroupRow, PodRow

_MANY: Final = 32  # amounts that are summed up together


@dataclass(slots=True, eq=False)
class UsagePath:
    """Where the use of a group counts: in its namespace, its queue and all above."""

    leaf: int
    columns: Sequence[Column]


@dataclass(slots=True, eq=False)
class GroupState:
    """The members of a class from the cursor on, as the cycle has them; mostly one group."""

    row: GroupRow
    leaf: int
    usage_path: UsagePath
    phase: PodGroupPhase
    pending: list[PodRow]  # without a place, in the order in which they are placed
    placed: int  # pods that count towards minMember
    tasks: dict[str, int]  # of each task that has a minimum
    refusal: Refusal | None = None
    was_unschedulable: bool = False
    more: Needs = ()  # what each uses more than when the cycle began; a resource may be there several times
    was_ready: bool = False  # before pods were evicted in this cycle, and no longer
    of_class: GroupClass | None = None  # None: it is like no other
    cursor: int = 0  # its place in its class
    end: int = 1  # that of the first member after it of which this is not the state
    finished: "GroupState | None" = None  # the state of those behind the cursor that have finished
    is_of_finished: bool = False  # of several members that have got all that they asked for

    @property
    def is_single(self) -> bool:
        """Whether this is the state of one group."""
        return self.end - self.cursor == 1

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the members of the class, from the cursor on."""
        one = self.of_class
        return (self.row.key,) if one is None or self.is_single else one.keys[self.cursor : self.end]

    @property
    def rows(self) -> Sequence[GroupRow]:
        """The members of the class, from the cursor on."""
        one = self.of_class
        return (self.row,) if one is None or self.is_single else one.rows[self.cursor : self.end]

    @property
    def used(self) -> Column:
        """What it uses."""
        counted = self.row.used
        used = [*counted, *([0] * (len(self.usage_path.columns[0]) - len(counted)))]
        for resource, amount in self.more:
            used[resource] += amount
        return used

    def use(self, needs: Needs) -> None:
        """Use this much more, or less where amounts are negative."""
        self.more += needs
        if len(self.more) > _MANY:
            together = dict.fromkeys([resource for resource, _ in self.more], 0)
            for resource, amount in self.more:
                together[resource] += amount
            self.more = tuple(together.items())

    @property
    def is_idle(self) -> bool:
        """Whether it certainly uses nothing."""
        return not (self.row.used or self.more)

    @property
    def is_ready(self) -> bool:
        """Whether enough pods of the group and of each task have a place."""
        row = self.row
        if self.placed < row.min_member or not row.min_task_member:
            return self.placed >= row.min_member
        return all(self.tasks[task] >= least for task, least in row.min_task_member.items())

    @property
    def standing_minimum(self) -> int:
        """The minMember that it was last ready with, in this cycle or before, where that is less than now."""
        standing, least = self.row.standing_minimum, self.row.min_member
        return least if standing < least and (self.was_ready or self.is_ready) else standing

    def lose(self, task: str, sign: int) -> None:
        """Count a pod of a task as gone (+1), or no longer (-1)."""
        is_raised = self.row.standing_minimum < self.row.min_member
        if is_raised and sign > 0 and self.is_ready:
            self.was_ready = True
        self.placed -= sign
        if task in self.tasks:
            self.tasks[task] -= sign
        if is_raised and sign < 0 and self.is_ready:
            self.was_ready = False

    @property
    def is_starving(self) -> bool:
        """Whether it has fewer pods than it was last ready with; minima of tasks go with minMember."""
        is_raised = self.standing_minimum < self.row.min_member
        return self.placed < self.standing_minimum if is_raised else not self.is_ready

    def missing(self) -> tuple[int, dict[str, int]]:
        """How many pods, and how many of each task, it lacks to be ready."""
        missing_pods, least = max(0, self.row.min_member - self.placed), self.row.min_task_member
        if not least:
            return missing_pods, NO_TASKS
        return missing_pods, {
            task: least[task] - have for task, have in self.tasks.items() if least[task] > have
        }
