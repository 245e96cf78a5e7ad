"""One cycle, action by action: docs/specification/cycle.md, Actions."""

from datetime import timedelta
from typing import Final

from reference.amounts import Amounts
from reference.attempt import Attempt
from reference.gate import Gate
from reference.half_gangs import make_room_for_half_gangs
from reference.objects import PodGroup
from reference.preempt import Preempt
from reference.reclaim import Reclaim

GRACE_PERIOD: Final = timedelta(seconds=60)


class Cycle(Gate):
    """Actions run in the configured order."""

    def run(self) -> None:
        """The whole cycle."""
        actions = {"enqueue": self.enqueue, "allocate": self.allocate, "backfill": self.backfill}
        actions |= {
            "reclaim": lambda: self.evict_for_all(Reclaim),
            "preempt": lambda: self.evict_for_all(Preempt),
            "cleanup": self.cleanup,
        }
        for action in self.configuration.actions:
            actions[action]()

    def evict_for_all(self, kind: type[Attempt]) -> None:
        """Try for each waiting group, in allocate's order; again while that succeeds."""
        tried: set[str] = set()
        while group := self.next_group(
            self.queue_order,
            lambda group: self.admitted(group) and bool(self.pending(group)) and group.name not in tried,
        ):
            attempt = kind(self, group)
            if not attempt.succeeds():
                tried.add(group.name)
                self.note_until(attempt)

    def cleanup(self) -> None:
        """Evict, in overused queues, what has starved for longer than the grace period; then half gangs."""
        for leaf in self.leaves:
            for group in self.groups_in(leaf) if self.overused(leaf, self.used[leaf], Amounts()) else []:
                being_freed = any(pod.name in self.promised for pod in self.pods_of[group.name])
                if not self.ready(group) and not being_freed and self.has_waited(group):
                    self.evict(self.running(group), group.name, "cleanup")
        groups = self.cluster.groups.values()
        make_room_for_half_gangs(self, {group.name for group in groups if self.has_waited(group)})

    def has_waited(self, group: PodGroup) -> bool:
        """Whether a group has waited for longer than the grace period."""
        since = group.unschedulable_since
        return since is not None and self.now - since > GRACE_PERIOD
