"""Whose turn it is: the neediest queue, its neediest namespace, its best job, after every turn anew.

Heaps are nested as the order is: queues under their parent, namespaces under their leaf, jobs under their
namespace. A turn changes the keys on its own path only, and they stand at the top of their heaps.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush, heapreplace
from typing import Literal

from maar.core.cycle.books import divisors, largest_part
from maar.core.cycle.heaps import Key, LazyHeap
from maar.core.cycle.state import GroupState, State
from maar.core.policy.opinions import GroupView

Job = tuple[Key, GroupState]
Phase = Literal["fair", "lent"]
Entry = tuple[Key, "_Branch"]


class _Branch:
    """A queue or a namespace that has had work: where it stands among its siblings, and who waits below it."""

    __slots__ = ("above", "children", "entry", "key")

    def __init__(self, above: "_Branch | None", key: Callable[[], Key]) -> None:
        self.above, self.key = above, key
        self.entry: Entry | None = None  # among its siblings, while it has work
        self.children: list[Entry] = []  # a heap, the first of which is always good

    @property
    def has_work(self) -> bool:
        """Whether anybody waits below it."""
        return bool(self.children)

    def settle(self) -> None:
        """Stand where it belongs among its siblings, and let those above do so."""
        branch, above = self, self.above
        while above is not None:
            siblings, known = above.children, branch.entry
            branch.entry = entry = (branch.key(), branch) if branch.has_work else None
            if entry is not None and known is not None and siblings[0] is known:
                heapreplace(siblings, entry)
            elif entry is not None:
                heappush(siblings, entry)
            while siblings and siblings[0][1].entry is not siblings[0]:
                heappop(siblings)
            branch, above = above, above.above


class _Namespace(_Branch):
    """A namespace of a leaf: its jobs, and when those that wait were made."""

    __slots__ = ("_times", "_waiting", "jobs")

    def __init__(self, above: _Branch, share: Callable[[], float], name: str, jobs: Sequence[Job]) -> None:
        super().__init__(above, lambda: (share(), self._times[-1], name))
        self.jobs = LazyHeap(jobs)
        self._waiting = dict(Counter([group.row.created for _, group in jobs]))
        self._times = sorted(self._waiting, reverse=True)  # the oldest last

    @property
    def has_work(self) -> bool:
        """Whether a job waits."""
        return len(self.jobs) > 0

    def drop(self, group: GroupState) -> None:
        """Let a job leave."""
        self.jobs.drop(group)
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
        jobs: dict[tuple[int, str], list[Job]] = {}
        for group in groups:
            jobs.setdefault((group.leaf, group.row.namespace), []).append((self._job_key(group), group))
        self._namespaces = {
            (leaf, name): self._namespace(leaf, name, waiting) for (leaf, name), waiting in jobs.items()
        }

    def next(self) -> GroupState | None:
        """The group whose turn it is; None when nobody is left."""
        branch = self._root
        while branch.children:
            branch = branch.children[0][1]
        return branch.jobs.first() if isinstance(branch, _Namespace) else None

    def again(self, group: GroupState) -> None:
        """A group has had a turn and waits for another."""
        namespace = self._namespaces[group.leaf, group.row.namespace]
        namespace.jobs.put(group, self._job_key(group))
        namespace.settle()

    def done(self, group: GroupState) -> None:
        """A group waits no longer, or cannot be helped for now."""
        namespace = self._namespaces[group.leaf, group.row.namespace]
        namespace.drop(group)
        namespace.settle()

    def stop(self, leaf: int) -> list[GroupState]:
        """Nobody in a leaf gets another turn; say who is left behind."""
        namespaces = [one for (queue, _), one in self._namespaces.items() if queue == leaf]
        left = [group for namespace in namespaces for group in namespace.jobs]
        for group in left:
            self.done(group)
        return left

    def refresh_group(self, group: GroupState) -> None:
        """What a group uses, and its namespace and queue with it, has changed in somebody else's turn."""
        namespace = self._namespaces.get((group.leaf, group.row.namespace))
        if namespace is None:
            if group.leaf in self._queues:
                self._queues[group.leaf].settle()
        elif group in namespace.jobs:
            self.again(group)
        else:
            namespace.settle()

    def _namespace(self, leaf: int, name: str, jobs: Sequence[Job]) -> _Namespace:
        state, by_share = self.state, self._by_share
        used, whole = state.namespace_used(leaf, name), state.namespace_whole(name)

        def share() -> float:
            return largest_part(used, whole) if by_share else 0.0

        namespace = _Namespace(self._queue(leaf), share, name, jobs)
        namespace.settle()
        return namespace

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
