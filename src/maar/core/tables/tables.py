"""The tables: everything decisions read, kept up to date event by event.

Sums are never taken over all pods again: a pod that appears, changes or vanishes is taken out of the few
places it was counted in and counted anew. What hangs on the queue tree is settled before a decision.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from maar.core.fairshare import QueueTree
from maar.core.fairshare.share_out import DemandColumns
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.metadata import Object
from maar.core.model.names import natural
from maar.core.model.node import Node
from maar.core.model.past_use import Usage
from maar.core.model.plan import QueueStanding
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import DEFAULT, ROOT, Queue, QueueMetadata
from maar.core.tables.alike import KindsOfGroups
from maar.core.tables.axis import ResourceAxis
from maar.core.tables.counting import add, count, is_waiting, uncount
from maar.core.tables.groups import is_not_started, is_short, keep, sum_up
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.past_use import PastUse
from maar.core.tables.plain_objects import PlainObjects
from maar.core.tables.queues import NewTree, build_tree, share_fields
from maar.core.tables.reading import read_group, read_node, read_pod
from maar.core.tables.rows import Column, GroupRow, NodeRow, PodRow, QueueRow
from maar.core.tables.shapes import Shapes
from maar.core.tables.tolerated import Tolerated


@dataclass(eq=False)
class Tables(PlainObjects):
    """The cluster as rows and columns; `feed` keeps it current, `settle` makes it ready for a decision."""

    scheduler_name: str = "volcano"
    axis: ResourceAxis = field(default_factory=ResourceAxis)
    nodes: dict[str, NodeRow] = field(default_factory=dict)
    pods: dict[str, PodRow] = field(default_factory=dict)
    groups: dict[str, GroupRow] = field(default_factory=dict)
    queues: dict[str, QueueRow] = field(default_factory=dict)
    waiting: dict[str, GroupRow] = field(default_factory=dict)  # groups with pods that have no place
    short: dict[str, GroupRow] = field(default_factory=dict)  # groups with fewer pods on nodes than minMember
    leaving: dict[str, PodRow] = field(default_factory=dict)  # victims that have not gone yet
    budget: Column = field(default_factory=list)  # [R] what pods add to and take from the nodes' allocatable
    node_list: NodeColumns = field(default_factory=NodeColumns)  # by name
    capacity: Column = field(default_factory=list)  # [R] what nodes have together that count in the budget
    tolerated: Tolerated = field(default_factory=Tolerated)
    tree: QueueTree = field(default_factory=lambda: QueueTree.of([]))
    not_enqueued: dict[str, GroupRow] = field(default_factory=dict)  # groups that wait for admission
    not_started: dict[str, GroupRow] = field(default_factory=dict)  # groups that were let in and hold nothing
    kinds: KindsOfGroups = field(default_factory=KindsOfGroups)  # of those that wait and hold nothing
    orphans: dict[str, PodRow] = field(default_factory=dict)  # pods of ours whose group is missing
    with_affinity: dict[str, PodRow] = field(default_factory=dict)  # pods with affinity, spread or host ports
    set_aside: dict[str, str] = field(default_factory=dict)  # queues that take no part, and why
    rows: list[QueueRow] = field(default_factory=list)  # [Q] the queues of the tree in its order
    paths: list[tuple[int, ...]] = field(default_factory=list)  # [Q] from a queue up to below the root
    shown: dict[str, tuple[object, QueueStanding]] = field(default_factory=dict)  # inputs and result
    shown_on: object = None  # the inputs that all standings share
    past_use: PastUse = field(default_factory=PastUse)
    kept_between_cycles: object = None  # by core/cycle/known_outcomes.py

    def __post_init__(self) -> None:
        self.shapes = Shapes(self.axis)
        self.budget = self.axis.zeros()
        self._without_group: dict[str, dict[str, PodRow]] = {}  # pods, by the key of the group they name
        self._stale_groups: dict[str, GroupRow] = {}
        self._has_new_queues = self._has_new_nodes = True
        self._tainted: list[NodeRow] = []
        self._has_new_priorities = False
        self._claimed: DemandColumns | None = None  # good until the tree, the axis or the total changes

    # --- events

    def feed(self, events: Iterable[Event]) -> None:
        """Take events in."""
        for event in events:
            match event:
                case Upserted(object=one):
                    self._upsert(one)
                case Deleted(kind=kind, key=key):
                    self._delete(kind, key)

    def _upsert(self, one: Object) -> None:
        match one:
            case Pod():
                row = read_pod(one, self.shapes, self.scheduler_name)
                known = self.pods.get(row.key)
                if known is None or not known.decides_like(row):  # most updates change nothing
                    self._grow()
                    self.put_pod(row)
            case PodGroup():
                group = read_group(one, self.axis)
                is_of_spec = group.key in self.groups and self.groups[group.key].is_of_spec(group)
                (self._put_status if is_of_spec else self._put_group)(group)
            case Node():
                self._put_node(read_node(one, self.axis))
            case Queue():
                self._put_queue(one)
            case _:
                self.put(one)
                self._has_new_priorities |= isinstance(one, PriorityClass)

    def _delete(self, kind: str, key: str) -> None:
        if kind == "Pod":
            self._remove_pod(key)
        elif kind == "PodGroup":
            self._remove_group(key)
        elif kind == "Node":
            self._remove_node(key)
        elif kind == "Queue":
            self._remove_queue(key)
        else:
            self._has_new_priorities |= isinstance(self.remove(kind, key), PriorityClass)

    # --- pods

    def put_pod(self, row: PodRow) -> None:
        """Take a row for what is known of its pod."""
        self._remove_pod(row.key)
        self._add_pod(row)

    def _add_pod(self, pod: PodRow) -> None:
        self.pods[pod.key] = pod
        if pod.group_key:
            self._join(pod, self.groups.get(pod.group_key))
        self._prioritise(pod)
        if is_waiting(pod) and pod.group is None and (pod.names_us or (pod.is_ours and pod.group_key)):
            self.orphans[pod.key] = pod
        if pod.shape.has_affinity:
            self.with_affinity[pod.key] = pod
        if pod.node_name in self.nodes:
            self.nodes[pod.node_name].pods[pod.key] = pod
        if pod.is_terminating and pod.evicted_for:
            self.leaving[pod.key] = pod
        if self.rows:  # before there is a tree all will be counted with it
            count(pod, self.nodes, self.budget)  # its group is settled again anyway: it has just joined

    def _remove_pod(self, key: str) -> None:
        pod = self.pods.pop(key, None)
        if pod is None:
            return
        self._uncount(pod)
        self._leave(pod)
        self.leaving.pop(key, None)
        self.with_affinity.pop(key, None)
        self.orphans.pop(key, None)
        if pod.node_name in self.nodes:
            self.nodes[pod.node_name].pods.pop(key, None)

    def _join(self, pod: PodRow, group: GroupRow | None) -> None:
        """Add a pod to its group, or keep it until the group exists; only pods of our scheduler."""
        pod.group = group if pod.is_ours else None
        if pod.group is not None:
            pod.group.pods[pod.key] = pod
            self._stale_groups[pod.group.key] = pod.group
        else:
            self._without_group.setdefault(pod.group_key, {})[pod.key] = pod

    def _leave(self, pod: PodRow) -> None:
        """Take a pod out of its group, or from among those that wait for it."""
        if pod.group is not None:
            pod.group.pods.pop(pod.key, None)
            self._stale_groups[pod.group.key] = pod.group
            pod.group = None
        elif pod.group_key:
            companions = self._without_group[pod.group_key]
            del companions[pod.key]
            if not companions:
                del self._without_group[pod.group_key]

    def _prioritise(self, pod: PodRow) -> None:
        default = pod.group.priority if pod.group else 0
        stated = pod.stated_priority
        pod.priority = self.priority_of(pod.priority_class, default) if stated is None else stated
        pod.order = (-pod.priority, pod.number, not pod.is_lead, pod.created, natural(pod.key))

    def _count(self, pod: PodRow) -> None:
        count(pod, self.nodes, self.budget)
        if pod.group is not None:
            self._stale_groups[pod.group.key] = pod.group

    def _uncount(self, pod: PodRow) -> None:
        if pod.counted is not None:
            uncount(pod, self.budget)
            if pod.group is not None:
                self._stale_groups[pod.group.key] = pod.group

    # --- groups

    def _put_group(self, group: GroupRow) -> None:
        self._grow()
        self._remove_group(group.key)
        group.priority = self.priority_of(group.priority_class, 0)
        self.groups[group.key] = group
        self._attach(group)
        for pod in self._without_group.pop(group.key, {}).values():
            self._uncount(pod)
            self._join(pod, group)
            self._prioritise(pod)
            self._count(pod)
            self.orphans.pop(pod.key, None)
        self._stale_groups[group.key] = group

    def _put_status(self, group: GroupRow) -> None:
        """Take a row for what is known of a group of which the status alone has changed: its pods stay."""
        self.kinds.remove(self.groups[group.key])
        group.take_over(self.groups[group.key])
        self.groups[group.key] = self._stale_groups[group.key] = group
        if group.leaf is not None:
            group.leaf.groups[group.key] = group

    def _remove_group(self, key: str) -> None:
        group = self.groups.pop(key, None)
        if group is None:
            return
        for pod in list(group.pods.values()):
            self._uncount(pod)
            self._leave(pod)
            self._join(pod, None)
            self._prioritise(pod)
            self._count(pod)
            if is_waiting(pod):
                self.orphans[pod.key] = pod
        self._withdraw(group)
        self.kinds.remove(group)
        for groups in (self.waiting, self.short, self.not_enqueued, self.not_started, self._stale_groups):
            groups.pop(key, None)
        if group.leaf is not None and group.leaf.groups.pop(key, None) is not None:
            group.leaf.members[group.namespace] -= 1
            group.leaf.changes += 1

    def _attach(self, group: GroupRow) -> None:
        """Count a group in its leaf queue, if it names one."""
        queue = self.queues.get(group.queue_name)
        group.leaf = queue if queue is not None and queue.is_leaf else None
        if group.leaf is not None:
            group.leaf.groups[group.key] = group
            group.leaf.members[group.namespace] += 1
            group.leaf.changes += 1

    def _withdraw(self, group: GroupRow) -> None:
        """Subtract what a group requests and was admitted with from its leaf."""
        if group.counted_in is not None:
            add(group.counted_in.asked, group.asked, -1)
            add(group.counted_in.admitted, group.admitted, -1)
            self.tolerated.add(group.tolerations, -1)
            group.counted_in = None

    def _refresh(self, group: GroupRow) -> None:
        """Count a group again whose pods have changed."""
        if group.counted_in is not None:
            self._withdraw(group)
        sum_up(group, self.axis)
        is_now_short = is_short(group)
        if group.leaf is not None:
            add(group.leaf.asked, group.asked, 1)
            add(group.leaf.admitted, group.admitted, 1)
            self.tolerated.add(group.tolerations, 1)
            group.counted_in = group.leaf
        is_there = bool(group.pending) or any(map(is_waiting, group.pods.values()))
        keep(group, (self.waiting, is_there), (self.short, is_now_short))
        keep(group, (self.not_enqueued, group.phase == "Pending"), (self.not_started, is_not_started(group)))
        self.kinds.put(group, is_waiting=is_there)

    # --- queues

    def _put_queue(self, queue: Queue) -> None:
        row = self.queues.get(queue.key)
        self.past_use.learn(queue)
        if row is not None:
            before, row.queue = row.queue, queue
            if share_fields(before) == share_fields(queue):
                return  # only its status has changed
        else:
            self._grow()
            zeros = self.axis.zeros
            self.queues[queue.key] = QueueRow(
                queue, natural(queue.key), used=zeros(), status_used=zeros(), asked=zeros(), admitted=zeros()
            )
        self._has_new_queues = True

    def _remove_queue(self, name: str) -> None:
        row = self.queues.pop(name, None)
        self.past_use.forget(name)
        for group in list(row.groups.values()) if row else ():
            self._put_group(group)  # it has no leaf queue now
        self._has_new_queues |= row is not None

    # --- nodes

    def _put_node(self, node: NodeRow) -> None:
        self._grow()
        old = self.nodes.get(node.name)
        if old is not None and old.looks == node.looks:
            return  # a heartbeat
        pods = [pod for pod in (old or self).pods.values() if pod.node_name == node.name]
        promised = [pod for pod in self.pods.values() if pod.nominated == node.name and not pod.node_name]
        for pod in (*pods, *promised):
            self._uncount(pod)
        self.nodes[node.name] = node
        node.pods = {pod.key: pod for pod in pods}
        for pod in (*pods, *promised):
            self._count(pod)
        self._has_new_nodes = True

    def _remove_node(self, name: str) -> None:
        node = self.nodes.pop(name, None)
        if node is not None:
            promised = [pod for pod in self.pods.values() if pod.nominated == name and not pod.node_name]
            for pod in (*node.pods.values(), *promised):
                self._uncount(pod)
            self._has_new_nodes = True

    # --- before a decision

    def fixed_demand(self, total: Column) -> DemandColumns:
        """What the queues claim of a total, whatever their groups ask for."""
        names = self.axis.names
        if self._claimed is None or self._claimed.total.tolist() != total:
            named = dict(zip(names, total, strict=True))
            self._claimed = DemandColumns.of(self.tree, named, order=names)
        return self._claimed

    def settle(self, *, heeds_taints: bool = True, usage: Usage | None = None) -> None:
        """Update everything that depends on the tree, on priorities, or on whole groups."""
        self.tolerated.heed(taints=heeds_taints)
        if self._has_new_priorities:
            self._settle_priorities()
        if self._has_new_queues:
            self._settle_queues()
        if usage is not None or self.past_use.factors is not None:
            self.past_use.settle(self.tree, usage)
        for group in self._stale_groups.values():
            self._refresh(group)
        self._stale_groups.clear()
        self._settle_nodes()

    def _settle_nodes(self) -> None:
        is_new, self._has_new_nodes = self._has_new_nodes, False
        if is_new:
            self.node_list = NodeColumns([self.nodes[name] for name in sorted(self.nodes)])
            for index, node in enumerate(self.node_list):
                node.index = index
            self._tainted = [node for node in self.node_list if node.taints]
        is_asked = is_new or self.tolerated.has_changed
        if (is_asked and self.tolerated.settle(self._tainted, self.nodes, self.budget)) or is_new:
            shared = [node.allocatable for node in self.node_list if node.is_shared]
            self.capacity = [sum(amounts) for amounts in zip(*shared, strict=True)] or self.axis.zeros()

    def _settle_priorities(self) -> None:
        for group in self.groups.values():
            group.priority = self.priority_of(group.priority_class, 0)
        for pod in self.pods.values():
            self._prioritise(pod)
        self._stale_groups.update(self.groups)
        self._has_new_priorities = False

    def _settle_queues(self) -> None:
        for name in (ROOT, DEFAULT):
            if name not in self.queues:
                self._put_queue(Queue(metadata=QueueMetadata(name=name)))
        planted: NewTree = build_tree(self.queues, self.axis)
        self._grow()
        self.tree, self.rows, self.paths = planted.tree, planted.rows, planted.paths
        self.set_aside, self._claimed, self.shown = planted.set_aside, None, {}
        if planted.has_new_leaves:
            self._recount()
        self._has_new_queues = False

    def _recount(self) -> None:
        """Count every group in its leaf again; leaves were added or removed."""
        placed = [pod for pod in self.pods.values() if pod.node_name or pod.nominated]
        for pod in placed:
            self._uncount(pod)
        for group in self.groups.values():
            self._withdraw(group)
        for queue in self.queues.values():
            queue.groups, queue.namespaces, queue.members = {}, {}, Counter()
            queue.changes += 1
        for group in self.groups.values():
            self._attach(group)
            self._stale_groups[group.key] = group
        for pod in placed:
            self._count(pod)

    def _grow(self) -> None:
        """Give every column a place for resources that have been seen for the first time."""
        more = [0] * (len(self.axis.names) - len(self.budget))
        if not more:
            return
        rows: tuple[NodeRow | QueueRow, ...] = (*self.nodes.values(), *self.queues.values())
        for column in (self.budget, self.capacity, *(column for row in rows for column in row.columns)):
            column.extend(more)
        self._claimed = None
