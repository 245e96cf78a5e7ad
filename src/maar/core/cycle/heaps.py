"""Heaps whose items change: an entry that is out of date is dropped when it comes up."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush, heapreplace
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")
Key = tuple[object, ...]
Entry = tuple[*tuple[object, ...], ItemT]  # a key, then what it belongs to


class LazyHeap(Generic[ItemT]):
    """Items by key, which may change their key or leave at any time; keys never tie.

    Those that are there from the beginning are sorted once; the heap is for those that come or change later.
    The first of both is always good.
    """

    def __init__(self, entries: Iterable[Entry[ItemT]] = ()) -> None:
        self._sorted = sorted(entries, reverse=True)  # the first last
        self._heap: list[Entry[ItemT]] = []
        self._entries = {entry[-1]: entry for entry in self._sorted}
        self._is_tidy = True  # no entry is out of date

    def put(self, entry: Entry[ItemT]) -> None:
        """Add an item, or give it another key."""
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

    def drop(self, item: ItemT) -> None:
        """Let an item leave."""
        entry = self._entries.pop(item, None)
        if self._is_tidy and self._sorted and self._sorted[-1] is entry:
            self._sorted.pop()
        elif entry is not None:
            self._is_tidy = False
            self._tidy()

    def first(self) -> Entry[ItemT] | None:
        """The item with the smallest key, after its key."""
        if not self._heap:
            return self._sorted[-1] if self._sorted else None
        return min(self._heap[0], self._sorted[-1]) if self._sorted else self._heap[0]

    def _tidy(self) -> None:
        first, heap, entries = self._sorted, self._heap, self._entries
        while first and entries.get(first[-1][-1]) is not first[-1]:
            first.pop()
        while heap and entries.get(heap[0][-1]) is not heap[0]:
            heappop(heap)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[ItemT]:
        return iter(self._entries)

    def __contains__(self, item: ItemT) -> bool:
        return item in self._entries
