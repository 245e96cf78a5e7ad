"""Preempt: inside one queue, from jobs of lower priority or of namespaces and jobs that use more."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from maar.core.cycle.evict import Attempt, Hunt
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.state import State
from maar.core.cycle.units import Unit


def preempt(state: State) -> None:
    """Make room for groups that are not ready, or one more pod of a more important group."""
    Hunt(state, "preempt").run(Preempt)


class Preempt(Attempt):
    """One try inside the beneficiary's own queue."""

    action: ClassVar[Literal["reclaim", "preempt"]] = "preempt"

    def __init__(self, hunt: Hunt, group: GroupState) -> None:
        super().__init__(hunt, group)
        self.was_ready = group.is_ready
        self.job_before = self.books.dominant(group.used)
        self.namespace_before = self.state.namespace_share(self.leaf, group.row.namespace)
        self.by_priority = self.state.configuration.asks("priority", "enablePreemptable")
        self.by_fairness = self.state.configuration.asks("drf", "enablePreemptable")

    def leaves(self) -> Sequence[int]:
        """Only its own queue pays."""
        return (self.leaf,)

    def may_take(self, unit: Unit) -> bool:
        """Lower priority in its own namespace; else who stays strictly above where the beneficiary was."""
        victim, mine = unit.group.row, self.group.row
        is_lower = victim.priority < mine.priority
        if self.was_ready and not is_lower:
            return False
        if victim.namespace == mine.namespace and is_lower and self.by_priority:
            return True
        if not self.by_fairness:
            return False
        with self.state.trial():
            for pod in unit.pods:
                self.state.evict(pod)
            if victim.namespace != mine.namespace:
                left = self.state.namespace_share(self.leaf, victim.namespace)
                return victim.priority <= mine.priority and left > self.namespace_before
            return victim.priority == mine.priority and self.books.dominant(unit.group.used) > self.job_before

    def allows(self) -> bool:
        """Within real capability, and nothing reserved is given away."""
        books = self.books
        within = books.beyond(self.leaf, self.request, books.real) is None
        return within and not books.gives_away_since(self.leaf, self.request, self.held_before)

    def refusal(self, unit: Unit) -> object:
        """What is refused to one job may be lawful to take from another."""
        return (unit.group.row.key, super().refusal(unit))
