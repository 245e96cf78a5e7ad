"""The nested heaps of the order of turns: queues, namespaces and jobs; `turn_order.py` has the theory."""

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush, heapreplace
from itertools import accumulate
from operator import neg

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.group_states import third_party_key
from maar.core.cycle.placing.room import NOWHERE
from maar.core.cycle.queue_ledger import Whole, largest_part
from maar.core.cycle.state import State
from maar.core.tables.rows import Column, GroupOrder

Key = tuple[object, ...]
Job = tuple[Key, int, bool, float, GroupOrder, GroupState]  # see `job_entry`
Standing = tuple[
    int, float, float, str, "QueueBranch"
]  # priority, share, age and name; the smallest goes first


def job_entry(state: State) -> Callable[[GroupState], Job]:
    """The order of jobs: third parties' keys, priority, not ready first, smallest share, age."""
    configuration, total = state.configuration, state.ledger.whole_total
    by_priority = ("priority", "enableJobOrder") in configuration.enabled
    by_readiness = ("gang", "enableJobOrder") in configuration.enabled
    by_share = ("drf", "enableJobOrder") in configuration.enabled
    others = configuration.job_orders

    def entry(group: GroupState) -> Job:
        row = group.row
        first: Key = ()
        if others:
            first = third_party_key(others, row)
        return (
            first,
            -row.priority if by_priority else 0,
            group.is_ready if by_readiness else False,
            largest_part(group.used, total) if by_share and not group.is_idle else 0.0,
            row.order,
            group,
        )

    return entry


class _Jobs:
    """The jobs of a namespace by key, which may change their key or leave at any time; keys never tie.

    The first entry of the heap is always current.
    """

    def __init__(self, entries: Iterable[Job]) -> None:
        self._heap = sorted(entries)
        self._entries = {entry[-1]: entry for entry in self._heap}

    def put(self, entry: Job) -> None:
        """Add a job, or give it another key."""
        known = self._entries.get(entry[-1])
        if known != entry:
            self._entries[entry[-1]] = entry
            self._put(entry, known)

    def replace(self, group: GroupState, entry: Job) -> None:
        """Put a job in the place of one that is removed."""
        known = self._entries.pop(group)
        self._entries[entry[-1]] = entry
        self._put(entry, known)

    def advance(self, group: GroupState, to: GroupOrder) -> GroupOrder:
        """Go on to the next member of a class, which differs in age and name alone; gives those before."""
        first, priority, is_ready, share, order, _ = known = self._entries[group]
        self._entries[group] = entry = (first, priority, is_ready, share, to, group)
        self._put(entry, known)
        return order

    def drop(self, group: GroupState) -> None:
        """Remove a job."""
        del self._entries[group]
        self._tidy()

    def first(self) -> Job | None:
        """The entry with the smallest key."""
        return self._heap[0] if self._heap else None

    def _put(self, entry: Job, known: Job | None) -> None:
        heap = self._heap
        if heap and heap[0] is known:
            heapreplace(heap, entry)
        else:
            heappush(heap, entry)
        if heap[0] is not entry:
            self._tidy()

    def _tidy(self) -> None:
        heap, entries = self._heap, self._entries
        while heap and entries.get(heap[0][-1]) is not heap[0]:
            heappop(heap)

    def entry(self, group: GroupState) -> Job:
        """The entry of a job."""
        return self._entries[group]

    def __iter__(self) -> Iterator[GroupState]:
        return iter(self._entries)

    def __contains__(self, group: GroupState) -> bool:
        return group in self._entries


class QueueBranch:
    """A queue or a namespace: its entry among its siblings while it has work, and what waits below it."""

    __slots__ = ("above", "age", "children", "entry", "leaf", "order", "priority", "used", "waiting", "whole")

    def __init__(
        self, above: "QueueBranch | None", used: Column, whole: Whole, age: float, order: str
    ) -> None:
        self.above, self.used, self.whole, self.age, self.order = above, used, whole, age, order
        self.priority = 0  # the smaller goes first
        self.entry: Standing | None = None
        self.children: list[Standing] = []  # a heap; its first entry is always current
        self.waiting = 0  # jobs of a namespace; of a leaf 1 while its groups have not been added
        self.leaf = NOWHERE  # of a queue

    def settle(self) -> None:
        """Renew its entry among its siblings, and those of all queues above it."""
        branch, above = self, self.above
        while above is not None:
            siblings, known, branch.entry = above.children, branch.entry, None
            if branch.waiting or branch.children:
                share, used = 0.0, branch.used
                for row, amount in branch.whole:  # as in largest_part; the call would take as long again
                    part = used[row] / amount
                    if part > share:  # noqa: PLR1730 (as there)
                        share = part
                branch.entry = entry = (branch.priority, share, branch.age, branch.order, branch)
                if siblings and siblings[0] is known:
                    heapreplace(siblings, entry)
                else:
                    heappush(siblings, entry)
            while siblings and siblings[0][-1].entry is not siblings[0]:
                heappop(siblings)
            branch, above = above, above.above


class NamespaceBranch(QueueBranch):
    """A namespace of a leaf, as old as the oldest of its jobs that wait."""

    __slots__ = ("_ages", "_by_age", "_oldest_turnless", "jobs", "turnless")

    def __init__(
        self,
        above: QueueBranch,
        used: Column,
        whole: Whole,
        order: str,
        jobs: Sequence[Job],
        turnless: Iterable[Job] = (),
    ) -> None:
        """With jobs that wait and need no turn, because it would fail."""
        self.jobs = _Jobs(jobs)
        self._by_age = dict(Counter([job[-2][0] for job in jobs]))
        self._ages = sorted(self._by_age, reverse=True)  # the oldest last
        super().__init__(above, used, whole, self._ages[-1], order)
        self.waiting = len(jobs)
        self.turnless = sorted(turnless, reverse=True)  # the first last
        ages = (job[-2][0] for job in self.turnless)
        self._oldest_turnless = list(accumulate(ages, min))  # of each and all that come after it
        if self.turnless:
            self._pass_turnless()

    def _pass_turnless(self) -> None:
        """Count jobs that need no turn no longer where they would have had it before the first."""
        first = self.jobs.first()
        if first is not None:
            while self.turnless and self.turnless[-1] < first:
                self.turnless.pop()
                self._oldest_turnless.pop()
            self.age = min([*self._ages[-1:], *self._oldest_turnless[-1:]], default=self.age)

    def add(self, job: Job) -> None:
        """Add a job."""
        self.waiting += 1
        self._count_age(job[-2][0])
        self.put(job)

    def put(self, job: Job) -> None:
        """Give a job that waits another key."""
        self.jobs.put(job)
        if self.turnless:
            self._pass_turnless()

    def replace(self, group: GroupState, job: Job) -> None:
        """Put a job that is not older in the place of one that waits no longer."""
        before = self.jobs.entry(group)[-2][0]
        self.jobs.replace(group, job)
        self._change_age(before, job[-2][0])

    def advance(self, group: GroupState, to: GroupOrder) -> None:
        """The next member of a class has its place, which differs in age and name alone."""
        before, _, _ = self.jobs.advance(group, to)
        if before != to[0] or self.turnless:
            self._change_age(before, to[0])

    def _change_age(self, before: float, now: float) -> None:
        if now != before:
            self._count_age(now)
            self._forget_age(before)
        elif self.turnless:
            self._pass_turnless()

    def _count_age(self, created: float) -> None:
        if created in self._by_age:
            self._by_age[created] += 1
        else:
            self._by_age[created] = 1
            insort(self._ages, created, key=neg)
        self._settle_age()

    def drop(self, group: GroupState) -> None:
        """Remove a job that waits no longer."""
        created = self.jobs.entry(group)[-2][0]
        self.jobs.drop(group)
        self.waiting -= 1
        self._forget_age(created)

    def _forget_age(self, created: float) -> None:
        self._by_age[created] -= 1
        self._settle_age()
        if self.turnless:
            self._pass_turnless()

    def _settle_age(self) -> None:
        """Be as old as the oldest job that waits."""
        while self._ages and not self._by_age[self._ages[-1]]:
            del self._by_age[self._ages.pop()]
        if self._ages:
            self.age = self._ages[-1]
