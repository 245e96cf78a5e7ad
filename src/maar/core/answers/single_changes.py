"""Changes of a cluster that may let a group start: each is a value, and gives the objects with it made."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from maar.core.model.metadata import Object, Record
from maar.core.model.node import Node
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import CPU, Resources, is_bytes

HOSTNAME: Final = "kubernetes.io/hostname"
_GIBIBYTE: Final = 2**30

Objects = tuple[Object, ...]
T = TypeVar("T", bound=Object)


def step_of(resource: str) -> int:
    """The smallest amount by which a limit is raised: a CPU, a gibibyte, one of anything else."""
    if resource == CPU:
        return 1000
    return _GIBIBYTE if is_bytes(resource) else 1


class RaiseCapability(Record, frozen=True, tag="capability", tag_field="change"):
    """Larger capabilities of queues: what each then has, of the resources that are changed."""

    queues: dict[str, Resources]
    before: dict[str, Resources]

    def made(self, objects: Iterable[Object]) -> Objects:
        """The objects with it made."""

        def raised(queue: Queue) -> Queue:
            more = self.queues.get(queue.key)
            if more is None:
                return queue
            return _with_spec(queue, capability=Resources({**queue.spec.capability, **more}))

        return _replaced(objects, Queue, raised)


class SetWeight(Record, frozen=True, tag="weight", tag_field="change"):
    """Another weight of a queue."""

    queue: str
    weight: int
    before: int

    def made(self, objects: Iterable[Object]) -> Objects:
        """The objects with it made."""
        return _replaced(
            objects, Queue, lambda one: _with_spec(one, weight=self.weight) if one.key == self.queue else one
        )


class MoreNodes(Record, frozen=True, tag="nodes", tag_field="change"):
    """More nodes like one that is there, with nothing on them."""

    like: str
    count: int
    allocatable: Resources

    def made(self, objects: Iterable[Object]) -> Objects:
        """The objects with it made."""
        listed = tuple(objects)
        names = {one.key for one in listed if isinstance(one, Node)}
        model = next(one for one in listed if isinstance(one, Node) and one.key == self.like)
        new, number = list[Object](), 0
        while len(new) < self.count:
            number += 1
            if (name := f"{self.like}-more-{number}") not in names:
                new.append(_node_like(model, name))
        return (*listed, *new)


class DeleteGroup(Record, frozen=True, tag="gone", tag_field="change"):
    """A pod group gone with its pods, as when its job has been deleted or has ended."""

    group: str
    job: str  # its owner's name, or its own
    pods: int  # of it that are on nodes
    queue: str

    def made(self, objects: Iterable[Object]) -> Objects:
        """The objects with it made."""
        return tuple(
            one
            for one in objects
            if not (
                (isinstance(one, PodGroup) and one.key == self.group)
                or (isinstance(one, Pod) and group_of(one) == self.group)
            )
        )


class RemoveGates(Record, frozen=True, tag="gates", tag_field="change"):
    """No scheduling gates on the pods of a group."""

    group: str
    pods: int

    def made(self, objects: Iterable[Object]) -> Objects:
        """The objects with it made."""

        def ungated(pod: Pod) -> Pod:
            if group_of(pod) != self.group or not pod.spec.scheduling_gates:
                return pod
            spec = msgspec.structs.replace(pod.spec, scheduling_gates=())
            return msgspec.structs.replace(pod, spec=spec)

        return _replaced(objects, Pod, ungated)


class CreateQueue(Record, frozen=True, tag="queue", tag_field="change"):
    """A queue that does not exist yet, below the root and with weight 1."""

    queue: str

    def made(self, objects: Iterable[Object]) -> Objects:
        """The objects with it made."""
        return (*objects, Queue(metadata=QueueMetadata(name=self.queue), spec=QueueSpec()))


SingleChange = RaiseCapability | SetWeight | MoreNodes | DeleteGroup | RemoveGates | CreateQueue


def group_of(pod: Pod) -> str:
    """The key of the group that a pod names; empty where it names none."""
    name = pod.metadata.annotations.get(GROUP_ANNOTATION, "")
    return f"{pod.metadata.namespace or 'default'}/{name}" if name else ""


def node_kinds(nodes: Sequence[Node]) -> list[list[Node]]:
    """The nodes that can be used, those that are alike together; the largest lots first."""
    kinds: dict[object, list[Node]] = {}
    for one in nodes:
        if one.is_ready and not one.spec.unschedulable:
            labels = frozenset(item for item in one.metadata.labels.items() if item[0] != HOSTNAME)
            kinds.setdefault((one.status.allocatable, one.spec.taints, labels), []).append(one)
    return sorted(kinds.values(), key=len, reverse=True)


def _node_like(model: Node, name: str) -> Node:
    labels = dict(model.metadata.labels)
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    metadata = msgspec.structs.replace(
        model.metadata, name=name, uid="", labels=labels, creation_timestamp=None
    )
    return msgspec.structs.replace(model, metadata=metadata)


def _with_spec(queue: Queue, **changes: object) -> Queue:
    return msgspec.structs.replace(queue, spec=msgspec.structs.replace(queue.spec, **changes))


def _replaced(objects: Iterable[Object], kind: type[T], change: Callable[[T], Object]) -> Objects:
    return tuple(change(one) if isinstance(one, kind) else one for one in objects)
