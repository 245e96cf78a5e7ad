"""Minimum run times: until when pods are protected from an action, and from which beneficiaries.

A queue's `preemptMinRuntime` and `reclaimMinRuntime` protect a pod from that action for so long
after it has started and its group has become ready. When that was is read from the start times of
the group's pods, as they were when the cycle began; nothing is stored. A pod that is bound and has
no start time yet has just started. The rule protects no starving group (`units.py`), and no pod
from a beneficiary that is not ready and has itself waited for that long. So it divides
beneficiaries by the longest of the minimum run times in force that they have waited for (`waited`):
for equal ones the same pods are protected.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Final, Literal

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.state import State
from maar.core.tables.groups import is_ready
from maar.core.tables.rows import GroupRow, MinRuntime, PodRow

_NO_ENDS: Final[dict[str, float]] = {}


class MinRuntimes:
    """The minimum run times that protect pods from one action."""

    def __init__(self, state: State, action: Literal["reclaim", "preempt"]) -> None:
        self.state, self.now = state, state.now
        self._of_leaf: dict[int, MinRuntime] = {}
        for row in state.ledger.rows:
            found = row.min_runtimes.get(action)
            if found is not None and found.seconds and row.is_leaf:
                self._of_leaf[row.index] = found
        self.lengths: Sequence[float] = sorted({one.seconds for one in self._of_leaf.values()})
        self._ends: dict[str, Mapping[str, float]] = {}  # by the key of the group

    def of(self, leaf: int) -> MinRuntime | None:
        """What protects the pods of a leaf, if anything."""
        return self._of_leaf.get(leaf)

    def waited(self, group: GroupState) -> float:
        """The longest minimum run time that a beneficiary has waited for; 0 where there is none."""
        since = group.row.unschedulable_since
        if not self.lengths or since is None or group.is_ready:
            return 0.0
        passed = bisect_right(self.lengths, self.now, key=lambda length: since + length)
        return self.lengths[passed - 1] if passed else 0.0

    def holds(self, leaf: int, waited: float) -> bool:
        """Whether pods of a leaf are protected from a beneficiary that has waited for so long."""
        found = self._of_leaf.get(leaf)
        return found is not None and found.seconds > waited

    def ends(self, row: GroupRow) -> Mapping[str, float]:
        """By the keys of a group's pods that are protected now: until when."""
        found = None if row.leaf is None else self._of_leaf.get(row.leaf.index)
        if found is None:
            return _NO_ENDS
        if row.key not in self._ends:
            self._ends[row.key] = self._ends_of(row, found.seconds)
        return self._ends[row.key]

    def _ends_of(self, row: GroupRow, length: float) -> Mapping[str, float]:
        holders = [
            pod for pod in row.pods.values() if pod.node_name and pod.is_live and not pod.is_terminating
        ]
        now, ready = self.now, self._ready_since(row, holders)
        self.state.counts_from_now |= any(pod.started is None for pod in holders) or ready == now
        ends = [max(now if pod.started is None else pod.started, ready) + length for pod in holders]
        return {pod.key: end for pod, end in zip(holders, ends, strict=True) if end > now}

    def _ready_since(self, row: GroupRow, holders: Sequence[PodRow]) -> float:
        """Since when enough of its pods have been running, those that have succeeded included."""
        least = row.min_member if is_ready(row) else row.standing_minimum
        members = [*holders, *(pod for pod in row.pods.values() if pod.has_succeeded)]
        times = [self._nth_start(members, least)]
        if least >= row.min_member:
            for task, least_of_task in row.min_task_member.items():
                times.append(self._nth_start([pod for pod in members if pod.task == task], least_of_task))
        return max(times)

    def _nth_start(self, pods: Iterable[PodRow], count: int) -> float:
        """When so many of the pods had started; now, where there are not as many."""
        if count <= 0:
            return -inf
        starts = sorted(map(self._started, pods))
        return starts[count - 1] if count <= len(starts) else self.now

    def _started(self, pod: PodRow) -> float:
        if pod.started is not None:
            return pod.started
        return self.now if pod.is_live else -inf
