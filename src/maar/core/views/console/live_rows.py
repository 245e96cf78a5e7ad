"""The rows of a cluster, worked out again only for what has changed.

The problem. 10,000 jobs change 200 times a second, and pages want rows that are sums over pods.
Working all rows out anew costs a second of a core each time.

How it works. `feed` takes events of watches and keeps the objects. An event marks the rows that it
bears on: a pod those of its group and its node, a job those of its groups, a queue its own and,
where its parent is new, all that stand aside or no longer do. Sums over pods are kept by adding and
taking away (`pod_tallies`). `changes` works out the marked rows, as JSON, and gives those whose
bytes are others than before: a heartbeat of a node marks its row and changes nothing. An event
costs the same whatever the size of the cluster.

Invariant. After `changes` has given nothing more, the rows are those of the objects fed, whatever
the order.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeVar, cast, get_args

import msgspec

from maar.core.model.events import Deleted, Event
from maar.core.model.job import Job
from maar.core.model.metadata import Object
from maar.core.model.node import Node, Taint
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import ROOT, Queue, QueueMetadata
from maar.core.model.resources import PODS
from maar.core.views.console.job_rows import ConsoleJob, group_row, job_row, owner_of
from maar.core.views.console.pod_tallies import GroupPods, NodePods, PodFacts
from maar.core.views.console.queue_rows import ConsoleQueue, queue_row, set_aside

_LABELS: Final = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/arch",
    "nvidia.com/gpu.product",
)


class ConsoleNode(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node as the console shows it."""

    name: str
    ready: bool
    schedulable: bool
    allocatable: dict[str, int]
    used: dict[str, int]
    pods: int
    taints: tuple[str, ...]
    labels: dict[str, str]
    by_queue: dict[str, dict[str, int]]  # pods that are in no queue are under the empty name


def node_row(node: Node, pods: NodePods) -> ConsoleNode:
    """The row of a node."""
    return ConsoleNode(
        name=node.key,
        ready=node.is_ready,
        schedulable=not node.spec.unschedulable,
        allocatable={name: units for name, units in node.status.allocatable.items() if units},
        used=_amounts(pods.used),
        pods=pods.pods,
        taints=tuple(_text(one) for one in node.spec.taints),
        labels={name: node.metadata.labels[name] for name in _LABELS if name in node.metadata.labels},
        by_queue={queue: _amounts(pods.by_queue[queue]) for queue in sorted(pods.by_queue)},
    )


def _amounts(sums: Mapping[str, int]) -> dict[str, int]:
    return {name: units for name, units in sums.items() if units and name != PODS}


def _text(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    return f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"


Topic = Literal["queues", "jobs", "nodes"]
TOPICS: Final[tuple[Topic, ...]] = get_args(Topic)

T = TypeVar("T", bound=Object)

_NO_PODS: Final = NodePods()
_ENCODER: Final = msgspec.json.Encoder()


class RowChanges(NamedTuple):
    """What is new of a topic: rows as JSON, and the keys of rows that are gone."""

    rows: list[bytes]
    gone: list[str]


class LiveRows:
    """The objects that one viewer may read, and their rows."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, Object]] = {}
        self._pods: dict[str, PodFacts] = {}
        self._groups: dict[str, GroupPods] = {}
        self._nodes: dict[str, NodePods] = {}
        self._groups_of_job: dict[str, set[str]] = {}
        self._places: Mapping[str, int] = {}
        self._set_aside: Mapping[str, str] = {}
        self._tree_changed = False
        self._marked: dict[Topic, dict[str, None]] = {"queues": {ROOT: None}, "jobs": {}, "nodes": {}}
        self._rows: dict[Topic, dict[str, bytes]] = {topic: {} for topic in TOPICS}

    def of(self, kind: type[T]) -> Mapping[str, T]:
        """The objects of a kind by key, as they are now."""
        return cast("dict[str, T]", self._objects.setdefault(kind.kind_name(), {}))

    def get(self, kind: str, key: str) -> Object | None:
        """An object by the name of its kind and its key."""
        return self._objects.get(kind, {}).get(key)

    def all(self) -> Iterator[Object]:
        """All objects."""
        for kept in self._objects.values():
            yield from kept.values()

    def rows(self, topic: Topic) -> Iterable[bytes]:
        """All rows of a topic as JSON."""
        return self._rows[topic].values()

    def feed(self, events: Iterable[Event]) -> None:
        """Learn what has happened."""
        for event in events:
            if isinstance(event, Deleted):
                before = self._objects.setdefault(event.kind, {}).pop(event.key, None)
                self._mark(event.key, before, None)
            else:
                name, key = event.object.kind_name(), event.object.key
                kept = self._objects.setdefault(name, {})
                before, kept[key] = kept.get(key), event.object
                self._mark(key, before, event.object)

    def set_places(self, places: Mapping[str, int]) -> None:
        """Learn the places of waiting groups in the order of their queues."""
        before, self._places = self._places, places
        for key in {*before, *places}:
            if before.get(key) != places.get(key):
                self._marked["jobs"][key] = None

    @property
    def has_changes(self) -> bool:
        """Whether rows are marked."""
        return any(self._marked.values())

    def changes(self, most: int = 1_000) -> dict[Topic, RowChanges]:
        """Work out marked rows, so many of a topic at most, and give those that are others than before."""
        if self._tree_changed:
            self._arrange()
        found: dict[Topic, RowChanges] = {}
        for topic, marked in self._marked.items():
            changes, rows = RowChanges([], []), self._rows[topic]
            for key in list(marked)[:most]:
                del marked[key]
                row = self._row(topic, key)
                if row is None:
                    if rows.pop(key, None) is not None:
                        changes.gone.append(key)
                    continue
                encoded = _ENCODER.encode(row)
                if rows.get(key) != encoded:
                    rows[key] = encoded
                    changes.rows.append(encoded)
            if changes.rows or changes.gone:
                found[topic] = changes
        return found

    def _row(self, topic: Topic, key: str) -> ConsoleQueue | ConsoleJob | ConsoleNode | None:
        if topic == "queues":
            return self._queue_row(key)
        if topic == "nodes":
            node = self.of(Node).get(key)
            return None if node is None else node_row(node, self._nodes.get(key, _NO_PODS))
        return self._job_row(key)

    def _queue_row(self, key: str) -> ConsoleQueue | None:
        queues = self.of(Queue)
        queue = queues.get(key) or (_ROOT if key == ROOT else None)
        if queue is None:
            return None
        return queue_row(queue, queues.get(ROOT, _ROOT).status.deserved, self._set_aside.get(key, ""))

    def _job_row(self, key: str) -> ConsoleJob | None:
        group = self.of(PodGroup).get(key)
        if group is not None:
            pods, job = self._groups.get(key), self.of(Job).get(owner_of(group))
            priority = self._priority(group.spec.priority_class_name, pods)
            return group_row(group, job, pods, priority, self._places.get(key))
        job = self.of(Job).get(key)
        if job is None or self._groups_of_job.get(key):
            return None
        return job_row(job, self._priority(job.spec.priority_class_name, None))

    def _priority(self, name: str, pods: GroupPods | None) -> int:
        known = self.of(PriorityClass).get(name)
        if known is not None:
            return known.value
        return 0 if pods is None else pods.priority

    def _mark(self, key: str, before: Object | None, after: Object | None) -> None:
        match after or before:
            case Queue():
                self._mark_queue(key, cast("Queue | None", before), cast("Queue | None", after))
            case Pod():
                self._count_pod(key, PodFacts.of(after) if isinstance(after, Pod) else None)
            case PodGroup():
                self._mark_group(key, cast("PodGroup | None", before), cast("PodGroup | None", after))
            case PriorityClass():
                groups = self.of(PodGroup).values()
                self._marked["jobs"].update(
                    {one.key: None for one in groups if one.spec.priority_class_name == key}
                )
            case Node():
                self._marked["nodes"][key] = None
            case Job():
                self._marked["jobs"][key] = None
                self._marked["jobs"].update(dict.fromkeys(self._groups_of_job.get(key, ())))

    def _mark_queue(self, key: str, before: Queue | None, after: Queue | None) -> None:
        self._marked["queues"][key] = None
        if before is None or after is None or before.parent != after.parent:
            self._tree_changed = True
        total = None if before is None else before.status.deserved
        if key == ROOT and (after or _ROOT).status.deserved != total:
            shared = (one.key for one in self.of(Queue).values() if one.spec.guarantee.percentage)
            self._marked["queues"].update(dict.fromkeys(shared))

    def _mark_group(self, key: str, before: PodGroup | None, after: PodGroup | None) -> None:
        marked = self._marked["jobs"]
        marked[key] = None
        for group, is_there in ((before, False), (after, True)):
            if group is not None and (job := owner_of(group)):
                of_job = self._groups_of_job.setdefault(job, set())
                (of_job.add if is_there else of_job.discard)(key)
                if not of_job:
                    del self._groups_of_job[job]
                marked[job] = None
        queue = "" if after is None else after.spec.queue
        if key in self._groups and queue != ("" if before is None else before.spec.queue):
            for pod in self._groups[key].keys:
                self._count_on_node(self._pods[pod], -1)
                self._pods[pod] = self._pods[pod]._replace(queue=queue)
                self._count_on_node(self._pods[pod], 1)

    def _count_pod(self, key: str, after: PodFacts | None) -> None:
        before = self._pods.pop(key, None)
        if before is not None:
            self._count(key, before, -1)
        if after is not None:
            group = self.of(PodGroup).get(after.group)
            self._pods[key] = after = after._replace(queue=group.spec.queue if group is not None else "")
            self._count(key, after, 1)

    def _count(self, key: str, pod: PodFacts, sign: int) -> None:
        self._count_on_node(pod, sign)
        if pod.group:
            tally = self._groups.setdefault(pod.group, GroupPods())
            (tally.add if sign > 0 else tally.remove)(key, pod)
            if not tally.keys:
                del self._groups[pod.group]
            self._marked["jobs"][pod.group] = None

    def _count_on_node(self, pod: PodFacts, sign: int) -> None:
        if pod.node:
            tally = self._nodes.setdefault(pod.node, NodePods())
            tally.count(pod, sign)
            if not tally.pods:
                del self._nodes[pod.node]
            self._marked["nodes"][pod.node] = None

    def _arrange(self) -> None:
        before, self._set_aside = self._set_aside, set_aside(self.of(Queue))
        self._tree_changed = False
        for key in {*before, *self._set_aside}:
            if before.get(key) != self._set_aside.get(key):
                self._marked["queues"][key] = None


_ROOT: Final = Queue(metadata=QueueMetadata(name=ROOT))
