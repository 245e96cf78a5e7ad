"""How much work queues have: pod groups by phase and unfinished jobs, of their own and of all queues below.

The status of a queue counts its whole subtree, and a queue closes with those above it. Summing all
of this up for every change would cost as much as the cluster has pod groups. So the sums are kept:
what is added to a queue is added along its path to the root, and where a queue gets another parent,
it and the queues below it are taken out along their old paths and added along their new ones.

A queue whose parents do not lead to the root, because one is missing or they form a circle, is
alone on its path. What is in queues that do not exist is remembered, and counts when they come.
"""

from collections import Counter, defaultdict

from maar.core.controllers.index import Index
from maar.core.model.queue import ROOT

JOBS = "jobs"  # beside the phases of pod groups
_COMPLETED = "completed"

_Path = tuple[str, ...]  # a queue and those above it, the root last


class QueueCounts:
    """Parents, children and sums of queues, kept change by change."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}  # of every queue that exists, but the root
        self._children = Index()
        self._own = defaultdict[str, Counter[str]](Counter)  # also of queues that do not exist
        self._sums = defaultdict[str, Counter[str]](Counter)  # `_own` of each queue and all below it

    def path(self, name: str) -> _Path:
        """A queue and those above it; itself where they do not lead to the root; empty for a missing one."""
        path = [name]
        while path[-1] != ROOT:
            parent = self._parents.get(path[-1])
            if parent is None or parent in path:
                return (name,) if name in self._parents else ()
            path.append(parent)
        return tuple(path)

    def below(self, name: str) -> list[str]:
        """A queue and all queues below it."""
        queues = {name: None}
        waiting = [name]
        while waiting:
            new = [child for child in self._children.keys(waiting.pop()) if child not in queues]
            queues |= dict.fromkeys(new)
            waiting += new
        return list(queues)

    def counted(self, name: str) -> Counter[str]:
        """The pod groups of a queue and of those below it, by phase, and their unfinished jobs."""
        return self._sums.get(name, Counter())

    def unfinished(self, name: str) -> int:
        """How many pod groups and jobs keep a queue from being Closed."""
        counts = self.counted(name)
        return counts.total() - counts[_COMPLETED]

    def place(self, name: str, parent: str | None) -> None:
        """Know the parent of a queue; None where the queue is gone."""
        if name == ROOT or self._parents.get(name) == parent:
            return
        moved = [queue for queue in self.below(name) if queue in self._own]
        for queue in moved:
            self._sum(queue, self._own[queue], -1)
        self._children.move(name, self._parents.pop(name, None), parent)
        if parent is None:
            self._sums.pop(name, None)
        else:
            self._parents[name] = parent
        for queue in moved:
            self._sum(queue, self._own[queue], 1)

    def add(self, queue: str, what: str, amount: int) -> None:
        """Count pod groups in a phase, or jobs, that a queue has more or, below 0, less."""
        own = self._own[queue]
        own[what] += amount
        if not own[what]:
            del own[what]
        if not own:
            del self._own[queue]
        self._sum(queue, {what: amount}, 1)

    def _sum(self, queue: str, amounts: dict[str, int], sign: int) -> None:
        for name in self.path(queue):
            sums = self._sums[name]
            for what, amount in amounts.items():
                sums[what] += sign * amount
