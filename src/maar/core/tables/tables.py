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
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import DEFAULT, ROOT, Queue, QueueMetadata
from maar.core.model.workload import BatchJob
from maar.core.tables.axis import ResourceAxis
from maar.core.tables.batch_jobs import BatchJobs
from maar.core.tables.changed_groups import ChangedGroups
from maar.core.tables.counting import count, is_waiting, prioritise, uncount
from maar.core.tables.groups import attach, count_in, is_not_started, is_short, keep, sum_up
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.past_use import PastUse
from maar.core.tables.plain_objects import PlainObjects
from maar.core.tables.pod_index import PodIndex, PodsByNode
from maar.core.tables.queues import NewTree, build_tree, demand_of, share_fields
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
    total: Column = field(default_factory=list)  # [R] the root's budget
    tolerated: Tolerated = field(default_factory=Tolerated)
    tree: QueueTree = field(default_factory=lambda: QueueTree.of([]))
    not_enqueued: dict[str, GroupRow] = field(default_factory=dict)  # groups that wait for admission
    not_started: dict[str, GroupRow] = field(default_factory=dict)  # groups that were let in and hold nothing
    changed_groups: ChangedGroups = field(default_factory=ChangedGroups)
    orphans: dict[str, PodRow] = field(default_factory=dict)  # pods of ours whose group is missing
    with_affinity: dict[str, PodRow] = field(default_factory=dict)  # pods with affinity, spread or host ports
    set_aside: dict[str, str] = field(default_factory=dict)  # queues that take no part, and why
    rows: list[QueueRow] = field(default_factory=list)  # [Q] the queues of the tree in its order
    paths: list[tuple[int, ...]] = field(default_factory=list)  # [Q] from a queue up to below the root
    past_use: PastUse = field(default_factory=PastUse)

    def __post_init__(self) -> None:
        self.shapes = Shapes(self.axis)
        self.budget, self.batch_jobs = self.axis.zeros(), BatchJobs(self)
        self._without_group = PodIndex()  # pods by the key of the group that they name
        self._by_node = PodsByNode(self.nodes)
        self._stale_groups: dict[str, GroupRow] = {}
        self._has_new_queues, self._has_new_nodes, self._has_new_priorities = True, True, False
        self._tainted: list[NodeRow] = []
        # What the queues claim of the total, whatever their groups ask for; None until it is settled.
        self.fixed_demand: DemandColumns | None = None

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
                    self.put_pod(row)
            case PodGroup():
                group = read_group(one, self.axis)
                is_of_spec = group.key in self.groups and self.groups[group.key].is_of_spec(group)
                (self._put_status if is_of_spec else self._put_group)(group)
            case Node():
                self._put_node(read_node(one, self.axis))
            case Queue():
                self._put_queue(one)
            case BatchJob():
                self.batch_jobs.put(one)
            case _:
                self.put(one)
                self._has_new_priorities |= isinstance(one, PriorityClass)

    def _delete(self, kind: str, key: str) -> None:
        if kind == "Pod":
            self.remove_pod(key)
        elif kind == "PodGroup":
            self._remove_group(key)
        elif kind == "Node":
            self._remove_node(key)
        elif kind == "Queue":
            self._remove_queue(key)
        elif kind == BatchJob.kind_name():
            self.batch_jobs.remove(key)
        else:
            self._has_new_priorities |= isinstance(self.remove(kind, key), PriorityClass)

    # --- pods

    def put_pod(self, row: PodRow) -> None:
        """Take a row for what is known of its pod."""
        self.changes += 1
        self._grow()
        self.remove_pod(row.key)
        self._add_pod(row)

    def promise(self, pod: PodRow, node: str) -> None:
        """Promise a pod of a Job that is resumed a node, or with "" none."""
        self.changes += 1
        self._uncount(pod)
        self._by_node.remove(pod)
        pod.promised_with_job = node
        self._by_node.add(pod)
        self._count(pod)

    def _add_pod(self, pod: PodRow) -> None:
        self.pods[pod.key] = pod
        if pod.batch_job:
            self.batch_jobs.pod_changed(pod)
        if pod.group_key:
            self._join(pod, self.groups.get(pod.group_key))
        prioritise(pod, self.priority_of)
        if pod.group is None and is_waiting(pod) and (pod.names_us or (pod.is_ours and pod.group_key)):
            self.orphans[pod.key] = pod
        if pod.shape.has_affinity:
            self.with_affinity[pod.key] = pod
        if pod.node_name or pod.nominated or pod.promised_with_job:  # a pod that waits has none of them
            self._by_node.add(pod)
        if pod.is_terminating and pod.evicted_for:
            self.leaving[pod.key] = pod
        if self.rows:  # before there is a tree all will be counted with it
            count(pod, self.nodes, self.budget)  # its group is settled again anyway: it has just joined

    def remove_pod(self, key: str) -> None:
        """Forget a pod."""
        pod = self.pods.pop(key, None)
        if pod is None:
            return
        self.changes += 1
        if pod.batch_job:
            self.batch_jobs.pod_changed(pod)
        self._uncount(pod)
        self._leave(pod)
        self.leaving.pop(key, None)
        self.with_affinity.pop(key, None)
        self.orphans.pop(key, None)
        self._by_node.remove(pod)

    def _join(self, pod: PodRow, group: GroupRow | None) -> None:
        """Add a pod to its group, or keep it until the group exists; only pods of our scheduler."""
        pod.group = group if pod.is_ours else None
        if pod.group is not None:
            pod.group.pods[pod.key] = pod
            self._stale_groups[pod.group.key] = pod.group
        else:
            self._without_group.add(pod.group_key, pod)

    def _leave(self, pod: PodRow) -> None:
        """Take a pod out of its group, or from among those that wait for it."""
        if pod.group is not None:
            pod.group.pods.pop(pod.key, None)
            self._stale_groups[pod.group.key] = pod.group
            pod.group = None
        else:
            self._without_group.remove(pod.group_key, pod)

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
        attach(group, self.queues.get(group.queue_name))
        for pod in self._without_group.take(group.key):
            self._uncount(pod)
            self._join(pod, group)
            prioritise(pod, self.priority_of)
            self._count(pod)
            self.orphans.pop(pod.key, None)
        self._stale_groups[group.key] = group
        self.batch_jobs.group_changed(group.key, group.promised_room)

    def _put_status(self, group: GroupRow) -> None:
        """Take a row for what is known of a group of which the status alone has changed: its pods stay."""
        self.changes += 1
        group.take_over(self.groups[group.key])
        self.groups[group.key] = self._stale_groups[group.key] = group
        if group.leaf is not None:
            group.leaf.groups[group.key] = group
        self.batch_jobs.group_changed(group.key, group.promised_room)

    def _remove_group(self, key: str) -> None:
        self.changes += 1
        group = self.groups.pop(key, None)
        if group is None:
            return
        for pod in list(group.pods.values()):
            self._uncount(pod)
            self._leave(pod)
            self._join(pod, None)
            prioritise(pod, self.priority_of)
            self._count(pod)
            if is_waiting(pod):
                self.orphans[pod.key] = pod
        self.batch_jobs.group_changed(key, None)
        count_in(None, group, self.tolerated)
        self.changed_groups.note(key, len(self.groups))
        for groups in (self.waiting, self.short, self.not_enqueued, self.not_started, self._stale_groups):
            groups.pop(key, None)
        if group.leaf is not None and group.leaf.groups.pop(key, None) is not None:
            group.leaf.members[group.namespace] -= 1
            group.leaf.changes += 1

    def _refresh(self, group: GroupRow) -> None:
        """Count a group again whose pods have changed."""
        if group.counted_in is not None:
            count_in(None, group, self.tolerated)
        sum_up(group, self.axis)
        is_now_short = is_short(group)
        if group.leaf is not None:
            count_in(group.leaf, group, self.tolerated)
        is_there = bool(group.pending) or any(map(is_waiting, group.pods.values()))
        keep(group, (self.waiting, is_there), (self.short, is_now_short))
        keep(group, (self.not_enqueued, group.phase == "Pending"), (self.not_started, is_not_started(group)))
        self.changed_groups.note(group.key, len(self.groups))

    # --- queues

    def _put_queue(self, queue: Queue) -> None:
        self.changes += 1
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
        self.changes += 1
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
        self.changes += 1
        self._by_node.node_added(node, old)
        pods = (*node.pods.values(), *self._by_node.promised(node.name))
        for pod in pods:
            self._uncount(pod)
        self.nodes[node.name] = node
        for pod in pods:
            self._count(pod)
        self._has_new_nodes = True

    def _remove_node(self, name: str) -> None:
        node = self.nodes.pop(name, None)
        if node is not None:
            self.changes += 1
            for pod in (*node.pods.values(), *self._by_node.promised(name)):
                self._uncount(pod)
            self._by_node.node_removed(node)
            self._has_new_nodes = True

    # --- before a decision

    def settle(
        self, *, heeds_taints: bool = True, usage: Usage | None = None, now: float | None = None
    ) -> None:
        """Update everything that depends on the tree, on priorities, on the time, or on whole groups."""
        if self.batch_jobs.by_uid:
            self.batch_jobs.settle(now)
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
        self.total = [max(0, have + more) for have, more in zip(self.capacity, self.budget, strict=True)]
        if self.fixed_demand is None or self.fixed_demand.total.tolist() != self.total:
            self.fixed_demand = demand_of(self.tree, self.axis, self.total)

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
            prioritise(pod, self.priority_of)
        self._stale_groups.update(self.groups)
        self._has_new_priorities = False

    def _settle_queues(self) -> None:
        for name in (ROOT, DEFAULT):
            if name not in self.queues:
                self._put_queue(Queue(metadata=QueueMetadata(name=name)))
        planted: NewTree = build_tree(self.queues, self.axis)
        self._grow()
        self.tree, self.rows, self.paths = planted.tree, planted.rows, planted.paths
        self.set_aside, self.fixed_demand = planted.set_aside, None
        if planted.has_new_leaves:
            self._recount()
        self._has_new_queues = False

    def _recount(self) -> None:
        """Count every group in its leaf again; leaves were added or removed."""
        placed = [pod for pod in self.pods.values() if pod.node_name or pod.promised]
        for pod in placed:
            self._uncount(pod)
        for group in self.groups.values():
            count_in(None, group, self.tolerated)
        for queue in self.queues.values():
            queue.groups, queue.namespaces, queue.members = {}, {}, Counter()
            queue.changes += 1
        for group in self.groups.values():
            attach(group, self.queues.get(group.queue_name))
            self._stale_groups[group.key] = group
        for pod in placed:
            self._count(pod)

    def _grow(self) -> None:
        """Give every column a place for resources that have been seen for the first time."""
        if len(self.axis.names) == len(self.budget):
            return
        more = [0] * (len(self.axis.names) - len(self.budget))
        rows: tuple[NodeRow | QueueRow, ...] = (*self.nodes.values(), *self.queues.values())
        for column in (self.budget, self.capacity, *(column for row in rows for column in row.columns)):
            column.extend(more)
        self.fixed_demand = None
