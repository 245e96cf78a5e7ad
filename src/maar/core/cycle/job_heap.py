"""The jobs of a namespace in the order of turns; see `turn_order.py`."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush, heapreplace

from maar.core.cycle.group_state import GroupState
from maar.core.tables.rows import GroupOrder

Key = tuple[object, ...]
Job = tuple[Key, int, bool, float, GroupOrder, GroupState]  # see `job_entry` of `turn_order.py`


class JobHeap:
    """The jobs of a namespace by key, which may change their key or leave at any time; keys never tie.

    Those that are there from the beginning are sorted once; the heap is for those that come or change later.
    The first entry of both is always current.
    """

    def __init__(self, entries: Iterable[Job]) -> None:
        self._sorted = sorted(entries, reverse=True)  # the first last
        self._heap: list[Job] = []
        self._entries = {entry[-1]: entry for entry in self._sorted}
        self._is_tidy = True  # no entry is out of date

    def put(self, entry: Job) -> None:
        """Add a job, or give it another key."""
        heap, known = self._heap, self._entries.get(entry[-1])
        if known == entry:
            return
        self._entries[entry[-1]] = entry
        if heap and heap[0] is known:
            heapreplace(heap, entry)
        else:
            heappush(heap, entry)
        if known is not None:
            self._is_tidy = False
            self._tidy()

    def advance(self, group: GroupState) -> None:
        """The state of a class is that of its next member, which differs in its age and name alone."""
        self.replace(group, (*self._entries[group][:4], group.row.order, group))

    def replace(self, group: GroupState, entry: Job) -> None:
        """Put a job in the place of one that is removed."""
        known = self._entries.pop(group)
        self._entries[entry[-1]] = entry
        if self._heap and self._heap[0] is known:
            heapreplace(self._heap, entry)
        elif self._is_tidy and self._sorted and self._sorted[-1] is known:
            self._sorted.pop()
            heappush(self._heap, entry)
            return
        else:
            heappush(self._heap, entry)
        self._is_tidy = False
        self._tidy()

    def drop(self, group: GroupState) -> None:
        """Remove a job."""
        entry = self._entries.pop(group, None)
        if self._is_tidy and self._sorted and self._sorted[-1] is entry:
            self._sorted.pop()
        elif entry is not None:
            self._is_tidy = False
            self._tidy()

    def first(self) -> Job | None:
        """The entry with the smallest key."""
        if not self._heap:
            return self._sorted[-1] if self._sorted else None
        return min(self._heap[0], self._sorted[-1]) if self._sorted else self._heap[0]

    def _tidy(self) -> None:
        first, heap, entries = self._sorted, self._heap, self._entries
        while first and entries.get(first[-1][-1]) is not first[-1]:
            first.pop()
        while heap and entries.get(heap[0][-1]) is not heap[0]:
            heappop(heap)

    def entry(self, group: GroupState) -> Job:
        """The entry of a job."""
        return self._entries[group]

    def __iter__(self) -> Iterator[GroupState]:
        return iter(self._entries)

    def __contains__(self, group: GroupState) -> bool:
        return group in self._entries
