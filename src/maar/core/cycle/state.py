"""The state of a cycle: the tables as decisions see them, and what has been decided so far.

Terminating pods count as gone and nominated pods as placed. Every step is written down, so that a trial can
be undone; the tables themselves are never changed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from maar.core.cycle.group_state import GroupState, UsagePath
from maar.core.cycle.node_chooser import NodeChooser
from maar.core.cycle.protection import Budgets
from maar.core.cycle.queue_ledger import QueueLedger, Whole, largest_part
from maar.core.cycle.room import NOWHERE, Room
from maar.core.model.writes import EvictingAction
from maar.core.policy.configuration import Configuration
from maar.core.tables.axis import Needs, times
from maar.core.tables.counting import add_needs
from maar.core.tables.groups import ADMITTED_PHASES
from maar.core.tables.rows import NO_TASKS, Column, GroupRow, PodRow
from maar.core.tables.tables import Tables

Step = Literal["bind", "promise", "evict"]


@dataclass(frozen=True, slots=True)
class Eviction:
    """A victim, for whom, and by which action."""

    pod: PodRow
    beneficiary: GroupRow | None
    action: EvictingAction


@dataclass(slots=True)
class Trial:
    """A point to go back to."""

    start: int
    is_kept: bool = False

    def keep(self) -> None:
        """Let what was tried stand."""
        self.is_kept = True


class State:
    """Everything one cycle decides with."""

    def __init__(self, tables: Tables, configuration: Configuration, now: float) -> None:
        self.tables, self.configuration, self.now = tables, configuration, now
        self.ledger = QueueLedger(tables)
        self.room = Room(tables.node_list, len(tables.axis.names))
        self.places = NodeChooser(tables, self.room, configuration)
        self.budgets = Budgets(tables)
        self._by_pod_priority = configuration.is_enabled("priority", "enableTaskOrder")
        self.bound: dict[str, int] = {}  # nodes by the key of the pod
        self.promised: dict[str, int] = {}
        self.gone: set[str] = set()
        self.selections: dict[str, None] = {}  # claims that are to get their volumes now, in order
        self.evictions: list[Eviction] = []
        self.victims: dict[str, list[str]] = {}  # by the key of the group they are evicted for
        self._groups: dict[str, GroupState] = {}
        self._waiting: list[GroupState] | None = None
        self._usage_paths: dict[tuple[int, str], UsagePath] = {}
        self._steps: list[tuple[Step, PodRow, int]] = []
        for group in tables.waiting.values():
            for pod in group.pods.values():
                if pod.counted is not None and not pod.counted.is_now:
                    self.promised[pod.key] = pod.counted.node.index
                    if pod.shape.claims:
                        self.places.claims.moved(pod, pod.counted.node.index, 1)

    # --- reading

    def pod_order(self, pod: PodRow) -> tuple[object, ...]:
        """Which pod of a group is placed first and evicted last; by priority where that plugin is asked."""
        return pod.order if self._by_pod_priority else pod.order[1:]

    def group(self, row: GroupRow) -> GroupState:
        """The state of a group; made when first asked for."""
        state = self._groups.get(row.key)
        if state is None:
            state = self._groups[row.key] = self._read(row)
        return state

    def waiting(self) -> list[GroupState]:
        """The groups of leaf queues that had pods without a place when the cycle began."""
        if self._waiting is None:
            rows = self.tables.waiting.values()
            self._waiting = [self.group(row) for row in rows if row.leaf is not None]
        return self._waiting

    def short(self) -> list[GroupState]:
        """The groups of leaf queues that held nodes, and fewer than minMember, when the cycle began."""
        return [self.group(row) for row in self.tables.short.values() if row.leaf is not None]

    def touched(self) -> dict[str, GroupState]:
        """All groups that the cycle has looked at, and all that wait, by key."""
        self.waiting()
        for row in self.tables.waiting.values():
            if row.leaf is None:
                self.group(row)
        return self._groups

    def _read(self, row: GroupRow) -> GroupState:
        leaf = row.leaf.index if row.leaf is not None else NOWHERE
        usage_path = self._usage_paths.get((leaf, row.namespace)) or self._usage_path(leaf, row.namespace)
        tasks = dict(row.tasks) if row.tasks else NO_TASKS
        pending = row.pending if self._by_pod_priority else sorted(row.pending, key=self.pod_order)
        return GroupState(row, leaf, usage_path, row.phase, pending, row.placed, tasks)

    def is_admitted(self, group: GroupState) -> bool:
        """Whether the group has been let in."""
        return group.phase in ADMITTED_PHASES

    def holders(self, group: GroupState) -> list[PodRow]:
        """The pods of a group that hold a node and could be victims."""
        return [
            pod
            for pod in group.row.pods.values()
            if pod.node_name and pod.is_live and not pod.is_terminating and pod.key not in self.gone
        ]

    def without_place(self, pods: Sequence[PodRow]) -> list[PodRow]:
        """Those of the pods that are neither bound nor promised a node."""
        bound, promised = self.bound, self.promised
        return [pod for pod in pods if pod.key not in bound and pod.key not in promised]

    def newly_bound(self, group: GroupState) -> list[PodRow]:
        """The pods of a group that this cycle has put on nodes."""
        return [pod for pod in group.row.pods.values() if pod.key in self.bound]

    def breaks_promise(self, pods: Sequence[PodRow]) -> bool:
        """Whether somebody has been promised room near these pods, and could not be there without them."""
        if not self.places.any_has_affinity:
            return False
        known = self.tables.pods
        leaning = [key for key in self.promised if known[key].shape.affinity and self._may_stay(key)]
        if not leaning:
            return False
        with self.trial():
            for pod in pods:
                self.evict(pod)
            return not all(map(self._may_stay, leaning))

    def _may_stay(self, promised: str) -> bool:
        return self.places.may_stay(self.tables.pods[promised], self.promised[promised])

    def namespace_used(self, leaf: int, namespace: str) -> Column:
        """What a namespace uses in a leaf."""
        return (self._usage_paths.get((leaf, namespace)) or self._usage_path(leaf, namespace)).columns[0]

    def _usage_path(self, leaf: int, namespace: str) -> UsagePath:
        used, above = self.tables.axis.zeros(), list[Column]()
        if leaf != NOWHERE:
            used = list(self.ledger.rows[leaf].namespaces.get(namespace) or used)
            above = self.ledger.usage_path(leaf)
        usage_path = self._usage_paths[leaf, namespace] = UsagePath(leaf, [used, *above])
        return usage_path

    def namespace_share(self, leaf: int, namespace: str) -> float:
        """The dominant share of the cluster that a namespace uses in this leaf, per weight."""
        return largest_part(self.namespace_used(leaf, namespace), self.namespace_whole(namespace))

    def namespace_whole(self, namespace: str) -> Whole:
        """What the use of a namespace is a part of: the cluster's total, as many times as its weight."""
        return self.ledger.whole(self.tables.namespace_weights.get(namespace, 1))

    def use(self, usage_path: UsagePath, needs: Needs) -> None:
        """Let a namespace, its queue and all above use more, or less where amounts are negative."""
        for column in usage_path.columns:
            for resource, amount in needs:
                column[resource] += amount
        self.ledger.reserve(usage_path.leaf, needs)

    # --- deciding

    def bind(self, pod: PodRow, node: int) -> None:
        """Put a pod on a node now."""
        self._do("bind", pod, node)

    def bind_together(
        self, group: GroupState, pods: Sequence[PodRow], nodes: dict[str, int], needs: Needs
    ) -> None:
        """Put pods of one group on nodes; their room is taken already, and what they need together charged.

        This is for good: it is no step of a trial.
        """
        self.bound.update(nodes)
        group.placed += len(pods)
        if group.tasks or self.places.any_has_affinity:
            for pod in pods:
                self.places.moved(pod, nodes[pod.key], 1)
                if pod.task in group.tasks:
                    group.tasks[pod.task] += 1
        group.more += needs

    def promise(self, pod: PodRow, node: int) -> None:
        """Promise a pod the room that is being freed on a node."""
        self._do("promise", pod, node)

    def unbind(self, pod: PodRow) -> int:
        """Take a bind back, and say which node it was."""
        node = self.bound[pod.key]
        self._turn("bind", pod, node, -1)
        return node

    def break_promise(self, pod: PodRow) -> int:
        """Take a promise back, and say which node it was."""
        node = self.promised[pod.key]
        self._turn("promise", pod, node, -1)
        return node

    def evict(self, pod: PodRow) -> None:
        """Let a pod count as gone."""
        self._do("evict", pod, pod.counted.node.index if pod.counted is not None else -1)

    def record(self, eviction: Eviction) -> None:
        """Write an eviction down for good."""
        self.evictions.append(eviction)
        if eviction.beneficiary is not None:
            self.victims.setdefault(eviction.beneficiary.key, []).append(eviction.pod.key)

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """Try something: leaving without `keep()` leaves no trace."""
        trial = Trial(len(self._steps))
        try:
            yield trial
        finally:
            if not trial.is_kept:
                self.undo_to(trial.start)

    @property
    def steps(self) -> int:
        """How many steps have been taken."""
        return len(self._steps)

    def undo_to(self, start: int) -> None:
        """Undo all steps after the first `start`."""
        while len(self._steps) > start:
            self._turn(*self._steps.pop(), -1)

    def _do(self, step: Step, pod: PodRow, node: int) -> None:
        self._steps.append((step, pod, node))
        self._turn(step, pod, node, 1)

    def _turn(self, step: Step, pod: PodRow, node: int, sign: int) -> None:
        """Take a step (+1) or take it back (-1)."""
        needs = pod.shape.needs
        if step == "evict":
            self._turn_eviction(pod, node, sign)
            return
        decided = self.bound if step == "bind" else self.promised
        if sign > 0:
            decided[pod.key] = node
        else:
            del decided[pod.key]
        self.room.change(node, needs, sign if step == "bind" else 0, sign)
        self.places.moved(pod, node, sign)
        if pod.shape.claims:
            self.places.claims.moved(pod, node, sign)
        self._count(pod, needs, sign)
        if pod.group is not None:
            self._place(self.group(pod.group), pod, sign)

    def _turn_eviction(self, pod: PodRow, node: int, sign: int) -> None:
        if sign > 0:
            self.gone.add(pod.key)
        else:
            self.gone.discard(pod.key)
        if node >= 0:
            self.room.change(node, pod.shape.needs, 0, -sign)
            self.places.left(pod, node, sign)
        if pod.counted is not None and pod.counted.is_used:
            self._count(pod, pod.shape.needs, -sign)
        if pod.group is not None:
            self._place(self.group(pod.group), pod, -sign)

    def _count(self, pod: PodRow, needs: Needs, sign: int) -> None:
        if pod.group is not None and pod.group.leaf is not None:
            group = self.group(pod.group)
            add_needs(group.used, needs, sign)
            self.use(group.usage_path, times(needs, sign))

    @staticmethod
    def _place(group: GroupState, pod: PodRow, sign: int) -> None:
        group.placed += sign
        if pod.task in group.tasks:
            group.tasks[pod.task] += sign
