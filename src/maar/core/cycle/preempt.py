"""Preempt: inside one queue, from jobs of lower priority or of namespaces and jobs that use more."""

from collections.abc import Hashable, Sequence
from typing import ClassVar, Literal

from maar.core.cycle.evicting.attempt import Attempt
from maar.core.cycle.evicting.evict import evict
from maar.core.cycle.evicting.loans import would_run_on_loan
from maar.core.cycle.evicting.strategies import (
    OwnPriority,
    ShareBefore,
    ShareLeft,
    VictimPriority,
    is_less_important,
    is_no_more_important,
    stays_better_off,
)
from maar.core.cycle.evicting.units import Rank, Unit
from maar.core.cycle.evicting.victim_search import VictimSearch
from maar.core.cycle.group_class import Block
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.queue_ledger import largest_part
from maar.core.cycle.state import State
from maar.core.tables.axis import Needs


def _failure_key(group: GroupState, waited: float, moment: float) -> Hashable:
    return (group.leaf, group.row.namespace, group.row.priority, group.is_ready, waited, moment)


def preempt(state: State) -> None:
    """Make room for groups that are not ready, or one more pod of a more important group."""
    evict(state, Preempt)


class Preempt(Attempt):
    """One try inside the beneficiary's own queue."""

    action: ClassVar[Literal["reclaim", "preempt"]] = "preempt"

    def __init__(self, search: VictimSearch, group: GroupState) -> None:
        super().__init__(search, group)
        self.was_ready = group.is_ready
        self.job_before = ShareBefore(0.0 if group.is_idle else self.ledger.dominant(group.used))
        self.namespace_before = ShareBefore(self.state.namespace_share(self.leaf, group.row.namespace))
        self.by_priority = ("priority", "enablePreemptable") in self.state.configuration.enabled
        self.by_fairness = ("drf", "enablePreemptable") in self.state.configuration.enabled

    @classmethod
    def _is_refused(cls, search: VictimSearch, group: GroupState, needs: Needs) -> bool:
        """Whether it would run on loan, or no unit may be taken for it, now or later."""
        waited = search.min_runtimes.waited(group)
        key = _failure_key(group, waited, search.state.now)
        if search.failures.includes_all(key) and not search.min_runtimes.holds(group.leaf, waited):
            return True
        return would_run_on_loan(needs, search.state.ledger.deserved[group.leaf])

    @classmethod
    def cannot_succeed(cls, search: VictimSearch, group: GroupState) -> bool:
        """The same; nor can it if a request for no more has failed."""
        if super().cannot_succeed(search, group):
            return True
        one, waited = group.of_class, search.min_runtimes.waited(group)
        if one is None or not (one.turn and group.is_idle) or search.min_runtimes.holds(group.leaf, waited):
            return False
        return search.failures.include(_failure_key(group, waited, search.state.now), one.turn)

    @classmethod
    def all_fail(cls, search: VictimSearch, block: Block) -> bool:
        """The same; a search for one class tells whether there is any unit to take for the others."""
        if super().all_fail(search, block):
            return True
        for one in block.classes if block.summary.is_known else ():
            group = search.state.groups.of(one.rows[0])
            if not cls.cannot_succeed(search, group):
                attempt = cls(search, group)
                is_found = attempt.failure_key() is None or attempt.find() is not None
                return not is_found and cls._is_refused(search, group, ())
        return block.summary.is_known

    def failure_key(self) -> Hashable | None:
        """What the victims of a group depend on that holds nothing: not on what its pods need."""
        if not (self.group.is_idle and self.is_like_others()):
            return None
        return _failure_key(self.group, self.waited, self.moment)

    def equivalence_key(self) -> object:
        """Its own unit, which it leaves out, is no victim for equal groups either: they use as much as it."""
        row, job = self.group.row, None if self.was_ready else self.job_before
        return (super().equivalence_key(), row.namespace, row.priority, job)

    def is_worthwhile(self) -> bool:
        """Never for what would run on loan: the next that is entitled would take it back."""
        return super().is_worthwhile() and not would_run_on_loan(
            self._started_together(), self.ledger.deserved[self.leaf]
        )

    def _started_together(self) -> Needs:
        """What the gang uses once it is ready, of the resources that the next turn asks for."""
        if self.group.is_idle:
            return self.request
        amounts = dict.fromkeys((resource for resource, _ in self.request), 0)
        for pod in self.state.users(self.group)[: self.group.row.min_member]:
            for resource, amount in pod.shape.needs:
                if resource in amounts:
                    amounts[resource] += amount
        if self.was_ready:
            return tuple((resource, max(amount, amounts[resource])) for resource, amount in self.request)
        return tuple((resource, amount + amounts[resource]) for resource, amount in self.request)

    def leaves(self) -> Sequence[int]:
        """Only its own queue has victims."""
        return (self.leaf,)

    def may_be_victim(self, rank: Rank, namespace: str, share: float) -> bool:
        """No unit of higher priority, of a namespace that uses no more, or a whole job of equal priority."""
        mine = self.group.row
        if rank.priority > mine.priority or (self.was_ready and rank.priority == mine.priority):
            return False
        if namespace != mine.namespace:
            return self.by_fairness and stays_better_off(ShareLeft(share), self.namespace_before)
        if rank.priority < mine.priority:
            return self.by_priority
        return self.by_fairness and not rank.is_whole

    def may_take(self, unit: Unit) -> bool:
        """Lower priority in its own namespace; else what stays strictly above where the beneficiary was."""
        namespace, is_own = unit.row.namespace, unit.row.namespace == self.group.row.namespace
        victim, mine = VictimPriority(unit.row.priority), OwnPriority(self.group.row.priority)
        is_lower = is_less_important(victim, mine)
        if self.was_ready and not is_lower:
            return False
        if is_own and is_lower and self.by_priority:
            return True
        if not self.by_fairness or not is_no_more_important(victim, mine):
            return False
        if is_own:
            job_left = ShareLeft(self.ledger.dominant(unit.left_of(unit.group.used)))
            return not is_lower and stays_better_off(job_left, self.job_before)
        used = unit.left_of(self.state.namespace_used(self.leaf, namespace))
        left = ShareLeft(largest_part(used, self.state.namespace_whole(self.leaf, namespace)))
        return stays_better_off(left, self.namespace_before)

    def allows(self) -> bool:
        """Within real capability, and nothing reserved is given away."""
        ledger = self.ledger
        within = ledger.beyond(self.leaf, self.request, ledger.real) is None
        return within and not ledger.gives_away_since(self.leaf, self.request, self.reserved_before)

    def refusal(self, unit: Unit) -> object:
        """What is refused to one job of its own namespace may be lawful to take from another."""
        row, needs = unit.row, super().refusal(unit)
        return (row.key if row.namespace == self.group.row.namespace else row.namespace, row.priority, needs)
