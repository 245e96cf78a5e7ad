"""A class of equal pod groups while a cycle decides: what of each waits, and what it uses.

A class has members in order and a cursor (`classes.py`). Its state is that of each member from the cursor on.
Before something is done for the member at the cursor, that one gets a state of its own
(`GroupStates.advance`), which is then the state of a class of one. Most methods say `group` for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from maar.core.cycle.group_class import GroupClass
from maar.core.model.pod_group import PodGroupPhase
from maar.core.model.reasons import Refusal
from maar.core.tables.axis import Needs
from maar.core.tables.rows import NO_TASKS, Column, GroupRow, PodRow


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
    more: Needs = ()  # what it uses more than when the cycle began, unless it is summed up
    of_class: GroupClass | None = None  # None: it is like no other
    cursor: int = 0  # its place in its class
    end: int = 1  # that of the first member after it of which this is not the state
    _used: Column | None = None
    _standing_minimum: int = -1

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
        """What it uses; it is needed rarely, so it is summed up when it is first read."""
        if self._used is None:
            counted = self.row.used
            self._used = [*counted, *([0] * (len(self.usage_path.columns[0]) - len(counted)))]
        for resource, amount in self.more:
            self._used[resource] += amount
        self.more = ()
        return self._used

    def uncharge(self, needs: Needs, before: Needs) -> None:
        """Take back a charge; where what it uses has been summed up since, from the sum."""
        if len(self.more) == len(before) + len(needs):
            self.more = before
        else:
            for resource, amount in needs:
                self.used[resource] -= amount

    @property
    def is_idle(self) -> bool:
        """Whether it certainly uses nothing."""
        return not (self.row.used or self.more or self._used)

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
        least = self.row.min_member
        if self._standing_minimum < 0:
            self._standing_minimum = self.row.standing_minimum
        if self._standing_minimum < least and self.is_ready:
            self._standing_minimum = least
        return self._standing_minimum

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
