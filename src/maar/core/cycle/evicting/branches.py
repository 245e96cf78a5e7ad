"""Where the leaves of victims part from that of a beneficiary; the same for all attempts of one leaf."""

from functools import cached_property

from maar.core.cycle.queue_ledger import QueueLedger


class Branches:
    """The branches of the tree beside one leaf."""

    def __init__(self, ledger: QueueLedger, leaf: int) -> None:
        self._ledger, self._leaf = ledger, leaf
        self._path = frozenset(ledger.paths[leaf])
        self._branches: dict[int, list[int]] = {}  # by leaf
        self._near: dict[int, list[int]] = {}  # by leaf
        self._own: dict[int, int] = {}  # by leaf

    @cached_property
    def leaves(self) -> list[int]:
        """The leaves that may have victims while they use more than they deserve."""
        return [
            row.index
            for row in self._ledger.rows
            if row.is_leaf and row.index != self._leaf and row.queue.spec.reclaimable
        ]

    def of(self, leaf: int) -> list[int]:
        """A victim's leaf and the queues above it, up to where its branch meets the beneficiary's."""
        branch = self._branches.get(leaf)
        if branch is None:
            branch = [queue for queue in self._ledger.paths[leaf] if queue not in self._path]
            self._branches[leaf] = branch
        return branch

    def own(self, leaf: int) -> int:
        """The queue of the beneficiary's branch that is a sibling of the first one of a victim's."""
        own = self._own.get(leaf)
        if own is None:
            paths = self._ledger.paths
            own = next(queue for queue in reversed(paths[self._leaf]) if queue not in paths[leaf])
            self._own[leaf] = own
        return own

    def near(self, leaf: int) -> list[int]:
        """The reclaimable leaves of which a queue of the branch is on the path of a leaf."""
        near = self._near.get(leaf)
        if near is None:
            path = frozenset(self._ledger.paths[leaf])
            near = self._near[leaf] = [one for one in self.leaves if not path.isdisjoint(self.of(one))]
        return near
