"""Whose turn it is: the neediest queue, its neediest namespace, its best job, after every turn anew.

Heaps are nested as the order is: queues under their parent, namespaces under their leaf, jobs under their
namespace. A turn changes the keys on its own path only, so the next one costs a few heap operations.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Generic, Literal, TypeVar

from maar.core.cycle.state import GroupState, State
from maar.core.policy.opinions import GroupView

ItemT = TypeVar("ItemT")
Key = tuple[object, ...]
Phase = Literal["fair", "lent"]


class LazyHeap(Generic[ItemT]):
    """A heap whose items may change their key or leave at any time; keys never tie."""

    def __init__(self) -> None:
        self._heap: list[tuple[Key, ItemT]] = []
        self._keys: dict[ItemT, Key] = {}

    def put(self, item: ItemT, key: Key) -> None:
        """Add an item, or give it another key."""
        if self._keys.get(item) != key:
            self._keys[item] = key
            heappush(self._heap, (key, item))

    def drop(self, item: ItemT) -> None:
        """Let an item leave."""
        self._keys.pop(item, None)

    def first(self) -> ItemT | None:
        """The item with the smallest key."""
        while self._heap:
            key, item = self._heap[0]
            if self._keys.get(item) is key:
                return item
            heappop(self._heap)
        return None

    def first_key(self) -> Key | None:
        """The smallest key."""
        return self._heap[0][0] if self.first() is not None else None

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, item: ItemT) -> bool:
        return item in self._keys


class _Namespace:
    """The jobs of a namespace in a leaf, best first, and the oldest of them."""

    def __init__(self) -> None:
        self.jobs: LazyHeap[str] = LazyHeap()
        self.ages: list[tuple[float, str]] = []  # of all its groups, the oldest last

    def oldest(self) -> float | None:
        """When the oldest group that still waits was made."""
        while self.ages and self.ages[-1][1] not in self.jobs:
            self.ages.pop()
        return self.ages[-1][0] if self.ages else None


class Turns:
    """The order of turns among groups that wait."""

    def __init__(self, state: State, phase: Phase, groups: Iterable[GroupState]) -> None:
        self.state, self.phase = state, phase
        self._groups: dict[str, GroupState] = {}
        self._queues: dict[int, LazyHeap[int]] = {}  # children with work, by parent
        self._leaves: dict[int, LazyHeap[str]] = {}  # namespaces with work, by leaf
        self._namespaces: dict[tuple[int, str], _Namespace] = {}
        self._job_key = job_key(state)
        self._queue_key = _queue_key(state, phase)
        asks = state.configuration.asks
        self._by_namespace = asks("drf", "enableJobOrder")
        for group in groups:
            self._put(group)
            one = self._namespaces[group.leaf, group.row.namespace]
            one.ages.append((group.row.created, group.row.key))
        for (leaf, namespace), one in self._namespaces.items():
            one.ages.sort(reverse=True)
            self._put_namespace(leaf, namespace)
        for leaf in self._leaves:
            self._put_path(leaf)

    def next(self) -> GroupState | None:
        """The group whose turn it is; None when nobody is left."""
        queue = 0
        while queue in self._queues or queue == 0:
            child = self._queues[queue].first() if queue in self._queues else None
            if child is None:
                return None
            queue = child
        namespace = self._leaves[queue].first()
        job = self._namespaces[queue, namespace].jobs.first() if namespace is not None else None
        return self._groups[job] if job is not None else None

    def again(self, group: GroupState) -> None:
        """A group has had a turn and waits for another."""
        self._put(group)
        self.refresh(group.leaf, group.row.namespace)

    def done(self, group: GroupState) -> None:
        """A group waits no longer, or cannot be helped for now."""
        one = self._namespaces[group.leaf, group.row.namespace]
        one.jobs.drop(group.row.key)
        self.refresh(group.leaf, group.row.namespace)

    def stop(self, leaf: int) -> list[GroupState]:
        """Nobody in a leaf gets another turn; say who is left behind."""
        left = [group for group in self._groups.values() if group.leaf == leaf and self._waits(group)]
        for group in left:
            self.done(group)
        return left

    def refresh(self, leaf: int, namespace: str) -> None:
        """What a namespace of a leaf uses has changed."""
        if leaf in self._leaves:
            self._put_namespace(leaf, namespace)
            self._put_path(leaf)

    def refresh_group(self, group: GroupState) -> None:
        """What a group uses has changed in somebody else's turn."""
        if group.row.key in self._groups and self._waits(group):
            self._put(group)
        self.refresh(group.leaf, group.row.namespace)

    def _waits(self, group: GroupState) -> bool:
        one = self._namespaces.get((group.leaf, group.row.namespace))
        return one is not None and group.row.key in one.jobs

    def _put(self, group: GroupState) -> None:
        row = group.row
        self._groups[row.key] = group
        self._leaves.setdefault(group.leaf, LazyHeap())
        one = self._namespaces.get((group.leaf, row.namespace))
        if one is None:
            one = self._namespaces[group.leaf, row.namespace] = _Namespace()
        one.jobs.put(row.key, self._job_key(group))

    def _put_namespace(self, leaf: int, namespace: str) -> None:
        one = self._namespaces.get((leaf, namespace))
        oldest = one.oldest() if one is not None else None
        if oldest is None:
            self._leaves[leaf].drop(namespace)
            return
        share = self.state.namespace_share(leaf, namespace) if self._by_namespace else 0.0
        self._leaves[leaf].put(namespace, (share, oldest, namespace))

    def _put_path(self, leaf: int) -> None:
        """Let every queue from a leaf upwards stand where it belongs among its siblings."""
        books, has_work = self.state.books, len(self._leaves[leaf]) > 0
        for queue in books.paths[leaf]:
            siblings = self._queues.setdefault(books.parent[queue], LazyHeap())
            if has_work:
                siblings.put(queue, self._queue_key(queue))
            else:
                siblings.drop(queue)
            has_work = len(siblings) > 0


def job_key(state: State) -> Callable[[GroupState], Key]:
    """The order of jobs: third parties' keys, priority, not ready first, smallest share, age."""
    configuration, books = state.configuration, state.books
    by_priority = configuration.asks("priority", "enableJobOrder")
    by_readiness = configuration.asks("gang", "enableJobOrder")
    by_share = configuration.asks("drf", "enableJobOrder")
    others = configuration.job_orders()

    def key(group: GroupState) -> Key:
        row = group.row
        first: Key = ()
        if others:
            view = GroupView(row.key, row.namespace, row.queue_name, row.priority, row.created)
            first = tuple(order(view) for order in others)
        return (
            *first,
            -row.priority if by_priority else 0,
            group.is_ready if by_readiness else False,
            books.dominant(group.used) if by_share else 0.0,
            row.created,
            row.key,
        )

    return key


def _queue_key(state: State, phase: Phase) -> Callable[[int], Key]:
    """The order of siblings: priority, then the smallest share (or use per weight, to borrow), then age."""
    books, rows = state.books, state.books.rows
    asked = state.configuration.asks("proportion", "enableQueueOrder")
    ages = [claim.created for claim in books.tree.claims]

    def key(queue: int) -> Key:
        row = rows[queue]
        if not asked:
            return (0, 0.0, ages[queue], row.name)
        need = (
            books.share(queue) if phase == "fair" else books.dominant(books.used[queue], books.weight[queue])
        )
        return (-row.queue.spec.priority, need, ages[queue], row.name)

    return key
