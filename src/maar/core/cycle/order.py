"""Whose turn it is: the neediest queue, its neediest namespace, its best job, after every turn anew.

Heaps are nested as the order is: queues under their parent, namespaces under their leaf, jobs under their
namespace. A turn changes the keys on its own path only, and they stand at the top of their heaps.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush, heapreplace
from typing import Generic, Literal, TypeVar

from maar.core.cycle.books import divisors, largest_part
from maar.core.cycle.state import GroupState, State
from maar.core.policy.opinions import GroupView

ItemT = TypeVar("ItemT")
Key = tuple[object, ...]
Phase = Literal["fair", "lent"]


class LazyHeap(Generic[ItemT]):
    """A heap whose items may change their key or leave at any time; keys never tie."""

    def __init__(self, items: Iterable[tuple[Key, ItemT]] = ()) -> None:
        self._heap = sorted(items, key=lambda entry: entry[0])  # what is sorted is a heap
        self._keys: dict[ItemT, Key] = {item: key for key, item in self._heap}

    def put(self, item: ItemT, key: Key) -> None:
        """Add an item, or give it another key."""
        known = self._keys.get(item)
        if known == key:
            return
        self._keys[item] = key
        heap = self._heap
        if known is not None and heap[0][0] is known:
            heapreplace(heap, (key, item))
        else:
            heappush(heap, (key, item))

    def drop(self, item: ItemT) -> None:
        """Let an item leave."""
        self._keys.pop(item, None)

    def first(self) -> ItemT | None:
        """The item with the smallest key."""
        heap, keys = self._heap, self._keys
        while heap:
            key, item = heap[0]
            if keys.get(item) is key:
                return item
            heappop(heap)
        return None

    def first_key(self) -> Key | None:
        """The smallest key."""
        return self._heap[0][0] if self.first() is not None else None

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[ItemT]:
        return iter(self._keys)

    def __contains__(self, item: ItemT) -> bool:
        return item in self._keys


class _Branch:
    """A queue or a namespace with work: who waits below it, and its key among its siblings."""

    __slots__ = ("above", "below", "key")

    def __init__(self, above: "_Branch | None", key: Callable[[], Key]) -> None:
        self.above, self.key = above, key
        self.below: LazyHeap[_Branch | GroupState] = LazyHeap()

    def settle(self) -> None:
        """Stand where it belongs among its siblings, and let those above do so."""
        branch, above = self, self.above
        while above is not None:
            if branch.below:
                above.below.put(branch, branch.key())
            else:
                above.below.drop(branch)
            branch, above = above, above.above


class _Namespace(_Branch):
    """A namespace of a leaf: its jobs, and when the oldest of them were made."""

    __slots__ = ("_times", "_waiting")

    def __init__(self, above: _Branch, share: Callable[[], float], name: str) -> None:
        super().__init__(above, lambda: (share(), self._times[-1], name))
        self._waiting: Counter[float] = Counter()  # jobs by when they were made
        self._times: list[float] = []  # the oldest last

    def fill(self, jobs: list[tuple[Key, GroupState]]) -> None:
        """Let jobs wait."""
        self.below = LazyHeap(jobs)
        self._waiting.update(group.row.created for _, group in jobs)
        self._times = sorted(self._waiting, reverse=True)

    def drop(self, group: GroupState) -> None:
        """Let a job leave."""
        if group in self.below:
            self.below.drop(group)
            self._waiting[group.row.created] -= 1
            while self._times and not self._waiting[self._times[-1]]:
                self._times.pop()


class Turns:
    """The order of turns among groups that wait."""

    def __init__(self, state: State, phase: Phase, groups: Iterable[GroupState]) -> None:
        self.state = state
        self._job_key = job_key(state)
        self._queue_key = _queue_key(state, phase)
        self._by_share = state.configuration.asks("drf", "enableJobOrder")
        self._root = _Branch(None, tuple)
        self._queues: dict[int, _Branch] = {0: self._root}
        self._namespaces: dict[tuple[int, str], _Namespace] = {}
        jobs: dict[tuple[int, str], list[tuple[Key, GroupState]]] = {}
        for group in groups:
            jobs.setdefault((group.leaf, group.row.namespace), []).append((self._job_key(group), group))
        for (leaf, name), waiting in jobs.items():
            namespace = self._namespaces[leaf, name] = self._namespace(leaf, name)
            namespace.fill(waiting)
            namespace.settle()

    def next(self) -> GroupState | None:
        """The group whose turn it is; None when nobody is left."""
        first = self._root.below.first()
        while isinstance(first, _Branch):
            first = first.below.first()
        return first

    def again(self, group: GroupState) -> None:
        """A group has had a turn and waits for another."""
        namespace = self._namespaces[group.leaf, group.row.namespace]
        namespace.below.put(group, self._job_key(group))
        namespace.settle()

    def done(self, group: GroupState) -> None:
        """A group waits no longer, or cannot be helped for now."""
        namespace = self._namespaces[group.leaf, group.row.namespace]
        namespace.drop(group)
        namespace.settle()

    def stop(self, leaf: int) -> list[GroupState]:
        """Nobody in a leaf gets another turn; say who is left behind."""
        left = [
            group
            for (queue, _), namespace in self._namespaces.items()
            if queue == leaf
            for group in namespace.below
            if isinstance(group, GroupState)
        ]
        for group in left:
            self.done(group)
        return left

    def refresh_group(self, group: GroupState) -> None:
        """What a group uses, and its namespace and queue with it, has changed in somebody else's turn."""
        namespace = self._namespaces.get((group.leaf, group.row.namespace))
        if namespace is not None and group in namespace.below:
            self.again(group)
        elif namespace is not None:
            namespace.settle()
        elif group.leaf in self._queues:
            self._queues[group.leaf].settle()

    def _namespace(self, leaf: int, name: str) -> _Namespace:
        state, by_share = self.state, self._by_share
        used, whole = state.namespace_used(leaf, name), state.namespace_whole(name)
        return _Namespace(self._queue(leaf), lambda: largest_part(used, whole) if by_share else 0.0, name)

    def _queue(self, queue: int) -> _Branch:
        branch = self._queues.get(queue)
        if branch is None:
            above = self._queue(self.state.books.parent[queue])
            branch = self._queues[queue] = _Branch(above, self._queue_key(queue))
        return branch


def job_key(state: State) -> Callable[[GroupState], Key]:
    """The order of jobs: third parties' keys, priority, not ready first, smallest share, age."""
    configuration, total = state.configuration, state.books.whole()
    by_priority = configuration.asks("priority", "enableJobOrder")
    by_readiness = configuration.asks("gang", "enableJobOrder")
    by_share = configuration.asks("drf", "enableJobOrder")
    others = configuration.job_orders()

    def key(group: GroupState) -> Key:
        row = group.row
        own = (
            -row.priority if by_priority else 0,
            group.is_ready if by_readiness else False,
            largest_part(group.used, total) if by_share else 0.0,
            row.created,
            row.key,
        )
        if not others:
            return own
        view = GroupView(row.key, row.namespace, row.queue_name, row.priority, row.created)
        return (*(order(view) for order in others), *own)

    return key


def _queue_key(state: State, phase: Phase) -> Callable[[int], Callable[[], Key]]:
    """The order of siblings: priority, then the smallest share (or use per weight, to borrow), then age."""
    books, asked = state.books, state.configuration.asks("proportion", "enableQueueOrder")

    def key_of(queue: int) -> Callable[[], Key]:
        row, age, used = books.rows[queue], books.tree.claims[queue].created, books.used[queue]
        if not asked:
            return lambda: (0, 0.0, age, row.name)
        priority, name = -row.queue.spec.priority, row.name
        whole = divisors(books.deserved[queue]) if phase == "fair" else books.whole(books.weight[queue])
        return lambda: (priority, largest_part(used, whole), age, name)

    return key_of
