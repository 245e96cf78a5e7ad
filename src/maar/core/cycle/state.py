"""The state of a cycle: the tables as decisions see them, and what has been decided so far.

Terminating pods count as gone and nominated pods as placed. The tables themselves are never
changed.

There is one way to place a pod, which allocate, promises, evictions and everything tentative share:

- `charge` lets a group use more: its namespace, its leaf queue and all queues above count it;
- `place` puts a pod on a node, now or later (bound, or nominated until room there is freed), and
  takes the room; `unplace` takes it off again;
- `evict` lets a pod count as gone, and `put_back` as there again.

A turn charges its queue once for all its pods and then places each of them; `take` does both for
one pod. Every step is recorded. Leaving a `trial` without `keep()` undoes the steps taken in it,
the last first, so that the state is exactly what it was; trials can be nested. What a search tried
costs as many steps as it took, however large the cluster is. Once the outermost trial is kept
nothing can undo its steps, and the record of them is dropped.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Self

from maar.core.cycle.evicting.protection import Budgets
from maar.core.cycle.gate.just_let_in import JustLetIn
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.group_states import GroupStates
from maar.core.cycle.holding.held_room import HeldRoom
from maar.core.cycle.memory import Memory
from maar.core.cycle.placing.node_chooser import NodeChooser
from maar.core.cycle.placing.room import NOWHERE, Room, When
from maar.core.cycle.queue_ledger import QueueLedger, Whole, largest_part
from maar.core.fairshare.weight_factors import ONE, PartOfUse
from maar.core.model.writes import EvictingAction, RemoveGate, Resume, Selection
from maar.core.policy.configuration import Configuration
from maar.core.tables.axis import Needs, times
from maar.core.tables.rows import Column, GroupRow, PodRow
from maar.core.tables.run_times import RunTimes
from maar.core.tables.tables import Tables

# A step: what was done ("place", "unplace", "evict", "put back" or "charge"), and to which group or pod.
Placed = tuple[str, GroupState, Sequence[PodRow], int, When]
Evicted = tuple[str, PodRow]
Charged = tuple[str, GroupState, Needs, Needs]
Step = Placed | Evicted | Charged


@dataclass(frozen=True, slots=True)
class Eviction:
    """A victim, the group it is evicted for, and the action."""

    pod: PodRow
    beneficiary: GroupRow | None
    action: EvictingAction


class Trial:
    """A point to go back to; leaving it without `keep()` undoes what was done since."""

    __slots__ = ("_start", "_state", "is_kept")

    def __init__(self, state: "State") -> None:
        self._state, self.is_kept = state, False

    def keep(self) -> None:
        """Keep the steps of this trial."""
        self.is_kept = True

    def __enter__(self) -> Self:
        self._start = len(self._state.steps)
        self._state.open_trials += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state = self._state
        state.open_trials -= 1
        if not self.is_kept:
            state.undo_to(self._start)
        elif not state.open_trials:
            state.steps.clear()  # no trial is left that could undo them


class State:
    """Everything one cycle decides with."""

    def __init__(
        self, tables: Tables, configuration: Configuration, now: float, memory: Memory | None = None
    ) -> None:
        self.tables, self.configuration, self.now = tables, configuration, now
        self.memory = memory or Memory()
        self.ledger = QueueLedger(tables)
        self.room = Room(tables.node_list, len(tables.axis.names))
        self.held_room = HeldRoom(self.room, self.ledger)
        self.places = NodeChooser(tables, self.room, configuration)
        self.groups = GroupStates(tables, configuration, self.ledger, self.places, now, self.memory.classes)
        self.group, self.pod_order = self.groups.of, self.groups.pod_order
        self.bound: dict[str, int] = {}  # nodes by the key of the pod
        self.promised: dict[str, int] = {}
        self.gone: set[str] = set()
        self.selections: dict[str, None] = {}  # claims that are to get their volumes now, in order
        self.evictions: list[Eviction] = []
        self.victims: dict[str, list[str]] = {}  # by the key of the group they are evicted for
        # What follows for Jobs, gates and volumes, once all actions have been taken.
        self.suspended_jobs: Collection[str] = ()  # uids
        self.resumptions: Sequence[Resume] = ()
        self.gate_removals: Sequence[RemoveGate] = ()
        self.volume_selections: Sequence[Selection] = ()
        # From which a decision may differ with nothing else changed.
        self.times_to_come = list(tables.batch_jobs.promised_until.values())
        # Whether something that is not stored yet counts as of now, so that a later decision may differ.
        self.counts_from_now = False
        self.let_in: list[GroupRow] = []  # by this cycle
        self.just_let_in: JustLetIn | None = None  # for turns of groups that are ready, where there is any
        # Half gangs that wait for each other: their keys and when cleanup acts, by the key of each.
        self.circles: dict[str, tuple[tuple[str, ...], float]] = {}
        self._parts_of_use: dict[int, dict[str, PartOfUse]] = {}  # by leaf
        self.steps: list[Step] = []  # that a trial can undo
        self.open_trials = 0
        self._change_room, self._counts_moves = self.room.change, self.places.counts_moves
        for row in self.groups.classes.others.values():  # no group of a larger class is promised anything
            for pod in _promised_pods(row) if row.placed else ():
                node = self.promised[pod.key] = self.tables.nodes[pod.promised].index
                if pod.shape.claims:
                    self.places.claims.moved(pod, node, 1)

    # --- reading

    @property
    def waiting(self) -> list[GroupState]:
        """The groups of leaf queues that had pods without a place when the cycle began; see `groups`."""
        return self.groups.waiting

    @cached_property
    def budgets(self) -> Budgets:
        """The disruption budgets; computed when an action first looks for victims."""
        return Budgets(self.tables)

    @cached_property
    def run_times(self) -> RunTimes:
        """The expected run times of pods; computed when they are first needed."""
        return RunTimes(self.tables)

    def holders(self, group: GroupState) -> list[PodRow]:
        """The pods of a group that hold a node and could be victims."""
        return [
            pod
            for pod in group.row.pods.values()
            if pod.node_name and pod.is_live and not pod.is_terminating and pod.key not in self.gone
        ]

    def users(self, group: GroupState) -> list[PodRow]:
        """The pods of a group that count as using what they ask for, in the order of placing."""
        pods = [
            pod
            for key, pod in group.row.pods.items()
            if key in self.bound
            or key in self.promised
            or (
                pod.counted is not None
                and pod.counted.is_used
                and pod.counted.is_now
                and key not in self.gone
            )
        ]
        return sorted(pods, key=self.pod_order)

    def without_place(self, pods: Sequence[PodRow]) -> list[PodRow]:
        """Those of the pods that are neither bound nor promised a node."""
        bound, promised = self.bound, self.promised
        return [pod for pod in pods if pod.key not in bound and pod.key not in promised]

    def newly_bound(self, group: GroupState) -> list[PodRow]:
        """The pods of a group that this cycle has put on nodes."""
        return [pod for pod in group.row.pods.values() if pod.key in self.bound]

    @property
    def are_promises_dependent(self) -> bool:
        """Whether where other pods are may decide whether a pod can stay on the node that it is promised."""
        known = self.tables.pods
        return self.places.any_has_affinity and any(known[key].shape.affinity for key in self.promised)

    def breaks_promise(self, pods: Sequence[PodRow]) -> bool:
        """Whether the affinity of a pod with a promised node forbids it to run there without these pods."""
        if not self.places.any_has_affinity:
            return False
        known = self.tables.pods
        dependent = [key for key in self.promised if known[key].shape.affinity and self._may_stay(key)]
        if not dependent:
            return False
        with self.trial():
            for pod in pods:
                self.evict(pod)
            return not all(map(self._may_stay, dependent))

    def _may_stay(self, promised: str) -> bool:
        return self.places.may_stay(self.tables.pods[promised], self.promised[promised])

    def namespace_used(self, leaf: int, namespace: str) -> Column:
        """What a namespace uses in a leaf."""
        return self.groups.usage_path(leaf, namespace).columns[0]

    def namespace_share(self, leaf: int, namespace: str) -> float:
        """The dominant share of the cluster that a namespace uses in this leaf, per weight."""
        return largest_part(self.namespace_used(leaf, namespace), self.namespace_whole(leaf, namespace))

    def namespace_whole(self, leaf: int, namespace: str) -> Whole:
        """What the use of a namespace is a part of: the cluster's total, as many times as its weight."""
        weight: float = self.tables.namespace_weights.get(namespace, 1)
        if self.tables.past_use.factors is not None and leaf != NOWHERE:
            part = self.parts_of_use(leaf).get(namespace)
            if part is not None and part.factor != ONE:
                weight = weight * part.factor / ONE
        return self.ledger.whole(weight)

    def parts_of_use(self, leaf: int) -> dict[str, PartOfUse]:
        """The parts of past use, and the factors, of the namespaces of a leaf."""
        if leaf not in self._parts_of_use:
            tables = self.tables
            self._parts_of_use[leaf] = tables.past_use.inside(tables.rows[leaf], tables.namespace_weights)
        return self._parts_of_use[leaf]

    # --- deciding

    def charge(self, group: GroupState, needs: Needs) -> None:
        """Let a group of a leaf queue use this much more, or less where amounts are negative."""
        if group.leaf != NOWHERE:
            self._use(group, needs)
            self.steps.append(("charge", group, needs, group.more))
            group.use(needs)

    def place(self, group: GroupState, pod: PodRow, node: int, when: When = "now") -> None:
        """Put a pod of a group on a node that has been charged for it; later: nominate it."""
        self.place_equal(group, (pod,), node, when)

    def place_equal(self, group: GroupState, pods: Sequence[PodRow], node: int, when: When = "now") -> None:
        """Put pods of one shape on a node, as `place` does."""
        self.steps.append(("place", group, pods, node, when))
        shape, is_now = pods[0].shape, when == "now"
        nodes = self.bound if is_now else self.promised
        for pod in pods:
            nodes[pod.key] = node
        needs = shape.needs if len(pods) == 1 else times(shape.needs, len(pods))
        self._change_room(node, needs, 1 if is_now else 0, 1)
        group.placed += len(pods)
        if self._counts_moves or shape.claims or group.tasks:
            self._count_neighbours(group, pods, node, 1)

    def take(self, pod: PodRow, node: int, when: When) -> None:
        """Charge a pod's group for it, and put it on a node."""
        group = self.group_of(pod)
        self.charge(group, pod.shape.needs)
        self.place(group, pod, node, when)

    def unplace(self, pod: PodRow, when: When) -> int:
        """Take a pod off the node that this cycle gave or left it, and return the node; it stays charged."""
        group, node = self.group_of(pod), (self.bound if when == "now" else self.promised)[pod.key]
        self._take_off(group, (pod,), node, when)
        self.steps.append(("unplace", group, (pod,), node, when))
        return node

    def evict(self, pod: PodRow) -> None:
        """Let a pod count as gone."""
        self._leave(pod, 1)
        self.steps.append(("evict", pod))

    def put_back(self, pod: PodRow) -> None:
        """Let a pod that counts as gone count as there again."""
        self._leave(pod, -1)
        self.steps.append(("put back", pod))

    def record(self, eviction: Eviction) -> None:
        """Record an eviction for the plan."""
        self.evictions.append(eviction)
        if eviction.beneficiary is not None:
            self.victims.setdefault(eviction.beneficiary.key, []).append(eviction.pod.key)

    # --- trying

    def trial(self) -> Trial:
        """Try something: leaving without `keep()` leaves no trace."""
        return Trial(self)

    def undo_to(self, start: int) -> None:
        """Undo all steps after the first `start`, the last first."""
        while len(self.steps) > start:
            self._undo(self.steps.pop())

    def _undo(self, step: Step) -> None:
        match step:
            case "evict", pod:  # first: searches for victims undo many of them
                self._leave(pod, -1)
            case "put back", pod:
                self._leave(pod, 1)
            case "place", group, pods, node, when:
                self._take_off(group, pods, node, when)
            case "unplace", group, pods, node, when:
                self.place_equal(group, pods, node, when)
                self.steps.pop()
            case "charge", group, needs, before:
                self._use(group, times(needs, -1))
                group.more = before

    # --- steps

    def _take_off(self, group: GroupState, pods: Sequence[PodRow], node: int, when: When) -> None:
        shape, is_now = pods[0].shape, when == "now"
        nodes = self.bound if is_now else self.promised
        for pod in pods:
            del nodes[pod.key]
        self._change_room(node, times(shape.needs, len(pods)), -1 if is_now else 0, -1)
        group.placed -= len(pods)
        if self._counts_moves or shape.claims or group.tasks:
            self._count_neighbours(group, pods, node, -1)

    def _count_neighbours(self, group: GroupState, pods: Sequence[PodRow], node: int, sign: int) -> None:
        """Count what concerns few pods: constraints of other pods, plugins, volumes, minima of tasks."""
        if self._counts_moves:
            self.places.moved(pods, node, sign)
        if pods[0].shape.claims:
            for pod in pods:
                self.places.claims.moved(pod, node, sign)
        if group.tasks:
            for pod in pods:
                if pod.task in group.tasks:
                    group.tasks[pod.task] += sign

    def _leave(self, pod: PodRow, sign: int) -> None:
        """Count a pod as gone (+1), or no longer (-1)."""
        needs = pod.shape.needs
        (self.gone.add if sign > 0 else self.gone.discard)(pod.key)
        if pod.counted is not None:
            self.room.change(pod.counted.node.index, needs, 0, -sign)
            self.places.left(pod, pod.counted.node.index, sign)
            if self.held_room.holds:
                self.held_room.left(pod, pod.counted.node.index, sign)
        if pod.group is None:
            return
        group = self.group(pod.group)
        if group.leaf != NOWHERE and pod.counted is not None and pod.counted.is_used:
            less = times(needs, -sign)
            group.use(less)
            self._use(group, less)
        group.lose(pod.task, sign)

    def _use(self, group: GroupState, needs: Needs) -> None:
        """Let a namespace, its queue and all above use more, or less where amounts are negative."""
        for column in group.usage_path.columns:
            for resource, amount in needs:
                column[resource] += amount
        self.ledger.reserve(group.leaf, needs)

    def group_of(self, pod: PodRow) -> GroupState:
        """The group of a pod that is placed, or about to be."""
        if pod.group is None:
            raise ValueError(f"pod {pod.key} has no pod group; only pods of groups are placed")
        return self.group(pod.group)


def _promised_pods(group: GroupRow) -> list[PodRow]:
    """The pods of a group that are nominated to a node."""
    return [pod for pod in group.pods.values() if pod.counted is not None and not pod.counted.is_now]
