"""What rules need to know of the cluster, kept up to date by events, so that a look-up is cheap."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from maar.core.admission.reservations import Reservations
from maar.core.admission.total import Total
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.job import Job
from maar.core.model.namespace import Namespace
from maar.core.model.node import Node
from maar.core.model.pod import QUEUE_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import DEFAULT, ROOT, Queue, QueueMetadata

KNOWN_KINDS: Final[tuple[type[AnyObject], ...]] = (Queue, PodGroup, Job, Namespace, Node, Pod)
NAME_LABEL: Final = "kubernetes.io/metadata.name"  # which every namespace has

_DONE: Final = ("Aborted", "Completed", "Terminated", "Failed")


class KnownJob(NamedTuple):
    """What admission remembers of a job."""

    uid: str
    queue: str


class KnownCluster:
    """Queues with their tree, pod groups, jobs, namespaces and the cluster's total.

    Pods are optional: they only take what other schedulers hold out of the total.
    """

    def __init__(self, scheduler_names: Collection[str] = ("volcano",)) -> None:
        self.total = Total(scheduler_names)
        self._queues: dict[str, Queue] = {}
        self._children: dict[str, dict[str, None]] = {}
        self._groups: dict[str, str] = {}  # the queue of every pod group
        self._deployments: dict[str, str] = {}  # by the key of a Deployment, that of the group made for it
        self._jobs: dict[str, KnownJob] = {}
        self._work: dict[str, dict[str, None]] = {}  # unfinished pod groups and jobs by queue
        self._namespaces: dict[str, Namespace] = {}
        self.reservations = Reservations(self._queues, self._children, self.total)
        for name in (ROOT, DEFAULT):
            self._put_queue(_implied(name))

    # --- events

    def feed(self, events: Iterable[Event]) -> None:
        """Take events in."""
        for event in events:
            match event:
                case Upserted(object=Queue() as queue):
                    self._put_queue(queue)
                case Upserted(object=PodGroup() as group):
                    self._put_group(group)
                case Upserted(object=Job() as job):
                    self._put_job(job)
                case Upserted(object=Namespace() as namespace):
                    self._namespaces[namespace.key] = namespace
                case Upserted(object=Node() as node):
                    self.total.put_node(node)
                case Upserted(object=Pod() as pod):
                    self.total.put_pod(pod)
                case Deleted(kind=kind, key=key):
                    self._vanish(kind, key)

    def _vanish(self, kind: str, key: str) -> None:
        match kind:
            case "Queue":
                self._remove_queue(key)
                if key in (ROOT, DEFAULT):
                    self._put_queue(_implied(key))  # which exist always
            case "PodGroup":
                self._leave(self._groups.pop(key, None), f"pod group {key}")
                self._deployments = {name: one for name, one in self._deployments.items() if one != key}
            case "Job":
                job = self._jobs.pop(key, None)
                self._leave(job and job.queue, f"job {key}")
            case "Namespace":
                self._namespaces.pop(key, None)
            case "Node":
                self.total.remove_node(key)
            case "Pod":
                self.total.remove_pod(key)

    def _put_queue(self, queue: Queue) -> None:
        name = queue.metadata.name
        old = self._queues.get(name)
        if old is not None and old.spec == queue.spec:
            self._queues[name] = queue  # a status: nothing that is added up has changed
            return
        self._remove_queue(name)
        self._queues[name] = queue
        if name != ROOT:
            self._children.setdefault(queue.parent, {})[name] = None
        self.reservations.forget(self._way_up(name))

    def _remove_queue(self, name: str) -> None:
        if name not in self._queues:
            return
        self.reservations.forget(self._way_up(name))
        queue = self._queues.pop(name)
        if name != ROOT:
            siblings = self._children[queue.parent]
            del siblings[name]
            if not siblings:
                del self._children[queue.parent]

    def _put_group(self, group: PodGroup) -> None:
        label = f"pod group {group.key}"
        self._leave(self._groups.get(group.key), label)
        self._groups[group.key] = group.spec.queue
        for owner in group.metadata.owner_references:
            if owner.kind == "Deployment" and owner.controller:
                self._deployments[f"{group.metadata.namespace or 'default'}/{owner.name}"] = group.key
        if group.status.phase != "Completed":
            self._work.setdefault(group.spec.queue, {})[label] = None

    def _put_job(self, job: Job) -> None:
        label, known = f"job {job.key}", self._jobs.get(job.key)
        self._leave(known and known.queue, label)
        self._jobs[job.key] = KnownJob(job.metadata.uid, job.spec.queue)
        if job.status.state.phase not in _DONE:
            self._work.setdefault(job.spec.queue, {})[label] = None

    def _leave(self, queue: str | None, label: str) -> None:
        work = self._work.get(queue or "", {})
        work.pop(label, None)
        if queue and not work:
            self._work.pop(queue, None)

    # --- look-ups

    def queue(self, name: str) -> Queue | None:
        """A queue by name; `root` and `default` are always there."""
        return self._queues.get(name)

    def annotated(self, annotation: str) -> Iterator[tuple[str, str]]:
        """The queues that have an annotation, and its value."""
        for name, queue in self._queues.items():
            if found := queue.metadata.annotations.get(annotation):
                yield name, found

    def children(self, name: str) -> Collection[str]:
        """The queues that name this one as their parent, whether or not it exists."""
        return self._children.get(name, {})

    def above(self, queue: Queue) -> Iterator[Queue]:
        """The queues above one, known or not, nearest first; where the way is broken the last is not root."""
        seen = {queue.metadata.name}
        while queue.metadata.name != ROOT and queue.parent not in seen:
            seen.add(queue.parent)
            parent = self._queues.get(queue.parent)
            if parent is None:
                return
            yield parent
            queue = parent

    def is_below(self, queue: Queue, name: str) -> bool:
        """Whether a queue is below the one of this name, at any depth."""
        return any(one.metadata.name == name for one in self.above(queue))

    def leaves(self, name: str, most: int) -> list[str]:
        """Some of the leaves below a queue, the nearest first."""
        found: list[str] = []
        seen = {name}
        todo = [name]
        for queue in todo:
            new = [child for child in self.children(queue) if child not in seen]
            seen.update(new)
            todo += new
            found += [child for child in new if not self.children(child)]
            if len(found) >= most:
                break
        return found[:most]

    def height(self, name: str, most: int) -> int:
        """How many levels are below a queue, counted as far as `most`."""
        level, seen, height = [name], {name}, 0
        while height < most:
            level = [child for queue in level for child in self.children(queue) if child not in seen]
            if not level:
                break
            seen.update(level)
            height += 1
        return height

    def work(self, queue: str) -> Collection[str]:
        """The unfinished pod groups and jobs of a queue, by kind and key."""
        return self._work.get(queue, {})

    def has_group(self, key: str) -> bool:
        """Whether there is a pod group of this key."""
        return key in self._groups

    def has_group_of_deployment(self, key: str) -> bool:
        """Whether there is a pod group that was made for a Deployment of this key."""
        return key in self._deployments

    def job(self, key: str) -> KnownJob | None:
        """A job by its key."""
        return self._jobs.get(key)

    def labels(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace; its name is one, even of a namespace that is not known yet."""
        known = self._namespaces.get(namespace)
        return {NAME_LABEL: namespace, **(known.metadata.labels if known else {})}

    def queue_of(self, namespace: str) -> str:
        """The queue that a namespace is annotated with; empty where there is none."""
        known = self._namespaces.get(namespace)
        return known.metadata.annotations.get(QUEUE_ANNOTATION, "") if known else ""

    def _way_up(self, name: str) -> Iterator[str]:
        """A queue's name and those above it, a missing parent's too: queues below it may be asked for."""
        queue = self._queues[name]
        yield name
        for parent in self.above(queue):
            yield parent.metadata.name
            queue = parent
        if queue.metadata.name != ROOT:
            yield queue.parent


def _implied(name: str) -> Queue:
    return Queue(metadata=QueueMetadata(name=name))
