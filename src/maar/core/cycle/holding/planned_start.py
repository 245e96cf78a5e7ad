"""The planned start of a group that waits for room: the earliest time at which enough of it is free.

The problem. A group is allowed to start by its queue and finds no nodes. When, and where, will it?
Others are not placed on room that is held for it unless they end before, so only the ends of pods
on nodes matter.

How it works. In a trial of the state the pods that are expected to end are taken away, in the order
of their ends, until the group may be placed. Groups that have held room for longer start before it,
and end, too: otherwise their starts would become earlier, elsewhere, as soon as they run. By
amounts alone a first time is found before which that is not possible (`_first_possible`, a search
in columns); from there on every end is tried with all constraints.

Where pods have to go whose ends are not known, the start is not known either. Then those nodes are
taken from which the fewest such pods have to go, one pod of the group after the other
(`_with_fewest_leaving`).

Invariant. With true run times, and others placed as above, the nodes and the time that were found
stay possible, so that a start that is found again later is never a later one.
"""

from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

import numpy as np

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.holding.held_room import PlannedStart
from maar.core.cycle.limits import Limits
from maar.core.cycle.placing.room import NOWHERE
from maar.core.cycle.state import State
from maar.core.fairshare.water_fill import Ints
from maar.core.tables.axis import times
from maar.core.tables.counting import together
from maar.core.tables.rows import NodeRow, PodRow
from maar.core.tables.run_times import RunTimes, time_after
from maar.core.tables.shapes import Shape


class StartSearch:
    """The search for one group."""

    def __init__(self, state: State, group: GroupState, pods: Sequence[PodRow], run_times: RunTimes) -> None:
        self.state, self.group, self.pods, self.run_times = state, group, pods, run_times
        self.needs = together(pods)
        self._limits = Limits(state, "lent")
        self._to_start = list[tuple[float, PodRow]]()  # when pods end for which room is held already

    def earliest(self) -> PlannedStart | None:
        """The planned start; None where its queue does not allow it, or no node could ever take its pods."""
        state = self.state
        if any(state.places.never_fits(shape) for shape in {pod.shape for pod in self.pods}):
            return None
        with state.held_room.nothing_held() as holds, state.trial():
            for hold in holds:  # they come first
                state.charge(hold.group, hold.planned.needs)
                for key, node in hold.planned.nodes.items():
                    state.place(hold.group, state.tables.pods[key], node, "later")
                    self._start_later(state.tables.pods[key], hold.planned.start)
            return None if self._is_limited() else self._earliest()

    def _start_later(self, pod: PodRow, start: float | None) -> None:
        """Note when a pod ends for which room is held already."""
        expected = self.run_times.expected(pod)
        if start is not None and expected is not None:
            self._to_start.append((time_after(start, expected), pod))

    def _is_limited(self) -> bool:
        """Whether limits of its queues keep the group from starting: ceilings, or capabilities in use.

        A group that holds room already may have been passed by others of its queue who end before.
        """
        ledger, is_new = self.state.ledger, self.group.row.holds_since is None
        return any(
            amount > ledger.real[queue][resource]
            or (is_new and ledger.used[queue][resource] + amount > ledger.claims.capability[resource, queue])
            for queue in ledger.paths[self.group.leaf]
            for resource, amount in self.needs
        )

    def _earliest(self) -> PlannedStart | None:
        """The earliest end after which the group finds room."""
        found = self._placed(())
        if found is not None:
            return replace(found, start=self.state.now)
        ends = self._ends()
        first = self._first_possible(ends)
        for place, (end, pod) in enumerate(ends, start=1):
            self._leave(pod)
            if place >= first and (place == len(ends) or ends[place][0] > end):
                found = self._placed([one for _, one in ends[:place]])
                if found is not None:
                    return replace(found, start=end)
        return self._with_fewest_leaving([pod for _, pod in ends])

    def _ends(self) -> list[tuple[float, PodRow]]:
        """The pods that are expected to end on usable nodes, in that order."""
        state = self.state
        running = [
            pod
            for node in state.room.nodes
            for pod in (node.pods.values() if node.is_usable else ())
            if self._may_leave(pod)
        ]
        running += [state.tables.pods[key] for key in state.bound]  # in this cycle
        ends = [(self.run_times.end(pod, state.now), pod) for pod in running]
        found = self._to_start + [(end, pod) for end, pod in ends if end is not None]
        return sorted(found, key=lambda one: (one[0], one[1].key))

    def _may_leave(self, pod: PodRow) -> bool:
        """Whether a pod may make room by its end; the group's own make none, it needs them too."""
        return pod.group is not self.group.row and _stays(self.state, pod)

    def _leave(self, pod: PodRow) -> None:
        """Let a pod count as gone that has ended."""
        state = self.state
        if pod.key in state.bound or pod.key in state.promised:
            state.unplace(pod, "now" if pod.key in state.bound else "later")
            state.charge(state.group_of(pod), times(pod.shape.needs, -1))
        else:
            state.evict(pod)

    def _node_of(self, pod: PodRow) -> int:
        if pod.counted is not None:
            return pod.counted.node.index
        return self.state.bound[pod.key] if pod.key in self.state.bound else self.state.promised[pod.key]

    def _first_possible(self, ends: Sequence[tuple[float, PodRow]]) -> int:
        """Of how many ends the group has room at least, by amounts alone."""
        allocatable, _, later = self.state.room.columns()
        idle = allocatable - later  # [R, N]
        nodes = np.array([self._node_of(pod) for _, pod in ends], np.int64)
        freed = np.zeros((len(ends), len(idle)), np.int64)  # [E, R]
        for place, (_, pod) in enumerate(ends):
            for resource, amount in pod.shape.needs:
                freed[place, resource] = amount
        low, high = 1, len(ends) + 1
        while low < high:
            middle = (low + high) // 2
            then = idle.T.copy()  # [N, R]
            np.add.at(then, nodes[:middle], freed[:middle])
            if self._has_room(then.T):
                high = middle
            else:
                low = middle + 1
        return low

    def _has_room(self, idle: Ints) -> bool:
        """Whether each kind of the pods, by itself, has room. [R, N]"""
        kinds: dict[Shape, int] = {}
        for pod in self.pods:
            kinds[pod.shape] = kinds.get(pod.shape, 0) + 1
        return all(
            int(self.state.places.pods_per_node(shape, idle, count).sum()) >= count
            for shape, count in kinds.items()
        )

    def _placed(self, gone: Sequence[PodRow]) -> PlannedStart | None:
        """Where the pods would go with others gone; None where they find no nodes, or may not use them."""
        state = self.state
        if not self._limits.allow(self.group.leaf, self.needs):
            return None
        for pods in state.places.tries(self.pods, len(self.pods), "later"):
            with state.trial():
                if all(self._try_take(pod) for pod in pods):
                    return self._then(gone)
        with state.trial():
            return self._then(gone) if self._are_packed() else None

    def _are_packed(self) -> bool:
        """Place pods that differ in the tightest room, the largest first.

        What scores choose may waste room, and then the nodes that are held already would not be found again.
        """
        if len({pod.shape for pod in self.pods}) == 1:
            return False  # scores cannot waste room for equal pods
        total = self.state.ledger.total

        def size(pod: PodRow) -> float:
            return max(amount / (total[resource] or 1) for resource, amount in pod.shape.needs)

        return all(
            self._try_take(pod, self._tightest(pod))
            for pod in sorted(self.pods, key=lambda pod: (-size(pod), pod.key))
        )

    def _tightest(self, pod: PodRow) -> int:
        """The node on which a pod leaves the least room."""
        idle, mask = self.state.places.idle("later"), self.state.places.would_take(pod)  # [R, N] [N]
        left = np.zeros(len(mask))
        for resource, amount in pod.shape.needs:
            mask = mask & (idle[resource] >= amount)
            left += (idle[resource] - amount) / (self.state.ledger.total[resource] or 1)
        return int(np.where(mask, left, np.inf).argmin()) if mask.any() else NOWHERE

    def _try_take(self, pod: PodRow, wanted: int | None = None) -> bool:
        """Place a pod on a node, where one is wanted on that one; not where it finds none."""
        node = self.state.places.best(pod, "later", NOWHERE if wanted is None else wanted)
        if node == NOWHERE or wanted not in (node, None):
            return False
        self.state.place(self.group, pod, node, "later")
        return True

    def _then(self, gone: Sequence[PodRow]) -> PlannedStart:
        """How things are with the group placed and its queue charged for it."""
        state, ledger = self.state, self.state.ledger
        state.charge(self.group, self.needs)
        nodes = {pod.key: state.promised[pod.key] for pod in self.pods}
        above = (*ledger.paths[self.group.leaf][1:], 0)
        return PlannedStart(
            start=None,
            nodes=nodes,
            leaving=frozenset(pod.key for pod in gone),
            needs=self.needs,
            held_then={node: list(state.room.later[node]) for node in nodes.values()},
            used_then={queue: list(ledger.used[queue]) for queue in ledger.paths[self.group.leaf]},
            counted_then={queue: ledger.counted_below(queue) for queue in above},
        )

    # --- where ends are not known

    def _with_fewest_leaving(self, gone: Sequence[PodRow]) -> PlannedStart | None:
        """With all gone whose ends are known: nodes from which the fewest other pods have to go."""
        state, leaving = self.state, list(gone)
        heaps: dict[Shape, list[tuple[int, int]]] = {}  # how many have to go, and the node
        for pod in self.pods:
            heap = heaps.get(pod.shape)
            if heap is None:
                heap = heaps[pod.shape] = self._counted(pod)
            while heap:
                count, node = heappop(heap)
                others = self._to_leave(pod, node)
                if others is None:
                    continue
                if len(others) > count:  # another kind of its pods has been placed there
                    heappush(heap, (len(others), node))
                    continue
                for other in others:
                    state.evict(other)
                if not self._try_take(pod, node):
                    continue
                leaving += others
                again = self._to_leave(pod, node)
                if again is not None:
                    heappush(heap, (len(again), node))
                break
            else:
                return None
        if not self._limits.allow(self.group.leaf, self.needs):
            return None  # room is not all that it lacks
        # More may leave than are needed here, so nothing is said about queues then.
        return replace(self._then(leaving), counted_then={})

    def _counted(self, pod: PodRow) -> list[tuple[int, int]]:
        mask = self.state.places.would_take(pod)
        counts = [(self._to_leave(pod, int(node)), int(node)) for node in np.flatnonzero(mask)]
        heap = [(len(others), node) for others, node in counts if others is not None]
        heapify(heap)
        return heap

    def _to_leave(self, pod: PodRow, node: int) -> list[PodRow] | None:
        """The pods that have to leave a node for a pod, the largest first; None where that is not enough."""
        state = self.state
        row: NodeRow = state.room.nodes[node]
        has, later = row.allocatable, state.room.later[node]
        short = {
            resource: amount - (has[resource] - later[resource])
            for resource, amount in pod.shape.needs
            if amount > has[resource] - later[resource]
        }
        leaving: list[PodRow] = []
        if not short:
            return leaving

        def relief(other: PodRow) -> float:
            return max(min(amount, short.get(resource, 0)) for resource, amount in other.shape.needs)

        others = [one for one in row.pods.values() if self._may_leave(one) and not one.is_daemon]
        for other in sorted(others, key=lambda one: (-relief(one), one.key)):
            leaving.append(other)
            for resource, amount in other.shape.needs:
                if resource in short:
                    short[resource] -= amount
            if all(amount <= 0 for amount in short.values()):
                return leaving
        return None


def _stays(state: State, pod: PodRow) -> bool:
    """Whether a pod is on a node and is not leaving it already."""
    counted = pod.counted
    return counted is not None and counted.is_now and counted.is_later and pod.key not in state.gone
