"""What groups that were just let in have yet to take: surplus of others must not take it before.

Controllers make the pods of a group once it is let in. Until its minimum of pods exists, and for
ten seconds at most, what it needs to start counts as used for turns of groups that are ready, as
far as that is within what its queue deserves. Jobs that are let in by one decision then all start,
whose pods ever come first.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from maar.core.cycle.queue_ledger import QueueLedger
from maar.core.tables.axis import Needs
from maar.core.tables.rows import Column, GroupRow

SECONDS: Final = 10.0


class JustLetIn:
    """What counts as used in each queue, and in the cluster, for turns of groups that are ready."""

    def __init__(self, ledger: QueueLedger, rows: Iterable[GroupRow]) -> None:
        self.ledger = ledger
        self._more: dict[int, Column] = {}  # by queue
        for row in sorted(rows, key=lambda row: (row.order, row.key)):
            if row.leaf is not None:
                self._count(row.leaf.index, row.to_start or ())

    def _count(self, leaf: int, needs: Needs) -> None:
        used, deserved = self.ledger.used[leaf], self.ledger.deserved[leaf]
        known = self._more.get(leaf, [0] * len(used))
        parts = [
            (resource, min(amount, deserved[resource] - used[resource] - known[resource]))
            for resource, amount in needs
        ]
        for queue in (*self.ledger.paths[leaf], 0):
            column = self._more.setdefault(queue, [0] * len(used))
            for resource, amount in parts:
                column[resource] += max(0, amount)

    def leaves_room(self, leaf: int, needs: Needs, limits: Sequence[Column]) -> bool:
        """Whether using this much more keeps a queue, those above and the cluster within limits beside it."""
        for queue in (*self.ledger.paths[leaf], 0):
            more = self._more.get(queue)
            if more is None:
                continue
            used, most = self.ledger.used[queue], limits[queue] if queue else self.ledger.total
            for resource, amount in needs:
                if more[resource] and used[resource] + more[resource] + amount > most[resource]:
                    return False
        return True
