"""The jobs of a namespace in the order of turns; see `turn_order.py`."""

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush, heapreplace

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.group_states import third_party_key
from maar.core.cycle.queue_ledger import largest_part
from maar.core.cycle.state import State
from maar.core.tables.rows import GroupOrder

Key = tuple[object, ...]
Job = tuple[Key, int, bool, float, GroupOrder, GroupState]  # see `job_entry`


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


class JobHeap:
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
