"""Changes that may let a group start: each is a value, made of those of `changes.py`."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec import json, to_builtins

from maar.core.answers.whatif.changes import AddNodes, Change, DeleteObject, SetField, SubmitDocument
from maar.core.controllers.jobs.group import group_key
from maar.core.model.job import Job
from maar.core.model.metadata import Object, Record
from maar.core.model.node import Node, Taint
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.resources import CPU, Resources, is_bytes
from maar.core.model.taints import OF_UNSCHEDULABLE, untolerated
from maar.core.model.volume import PersistentVolume, StorageClass

HOSTNAME: Final = "kubernetes.io/hostname"
_GIBIBYTE: Final = 2**30

Objects = Sequence[Object]


def step_of(resource: str) -> int:
    """The smallest amount by which a limit is raised: a CPU, a gibibyte, one of anything else."""
    if resource == CPU:
        return 1000
    return _GIBIBYTE if is_bytes(resource) else 1


class RaiseCapability(Record, frozen=True, tag="capability", tag_field="change"):
    """Larger capabilities of queues, the nearest first: what each then has, of what is changed."""

    queues: dict[str, Resources]
    before: dict[str, Resources]

    def changes(self, _: Objects) -> list[Change]:
        """What it is made of; what is above comes first, as admission wants it."""
        return [
            SetField(f"queue/{queue}.capability.{name}", amount)
            for queue, more in reversed(self.queues.items())
            for name, amount in more.quantities().items()
        ]


class SetWeight(Record, frozen=True, tag="weight", tag_field="change"):
    """Another weight of a queue."""

    queue: str
    weight: int
    before: int

    def changes(self, _: Objects) -> list[Change]:
        """What it is made of."""
        return [SetField(f"queue/{self.queue}.weight", self.weight)]


class MoreNodes(Record, frozen=True, tag="nodes", tag_field="change"):
    """More nodes like one that is there, with nothing on them."""

    like: str
    count: int
    allocatable: Resources

    def changes(self, objects: Objects) -> list[Change]:
        """What it is made of."""
        nodes = {one.key: one for one in objects if isinstance(one, Node)}
        new, number = list[Node](), 0
        while len(new) < self.count:
            number += 1
            if (name := f"{self.like}-more-{number}") not in nodes:
                new.append(_node_like(nodes[self.like], name))
        return [AddNodes(tuple(new))]


class OpenNode(Record, frozen=True, tag="uncordon", tag_field="change"):
    """A node that is unschedulable, schedulable again."""

    node: str

    def changes(self, objects: Objects) -> list[Change]:
        """What it is made of; a cluster takes the taint away with it."""
        node = next(one for one in objects if isinstance(one, Node) and one.key == self.node)
        rest = [to_builtins(one) for one in node.spec.taints if one.key != OF_UNSCHEDULABLE]
        opened = [SetField(f"node/{self.node}.unschedulable", value=False)]
        if len(rest) < len(node.spec.taints):
            opened.append(SetField(f"node/{self.node}.taints", rest))
        return [*opened]


class DeleteGroup(Record, frozen=True, tag="gone", tag_field="change"):
    """A pod group gone with its pods, as when its job has been deleted or has ended."""

    group: str
    job: str  # its owner's name, or its own
    pods: int  # of it that are on nodes
    queue: str
    priority: int = 0
    priority_here: int = 0  # of the group that waits

    def changes(self, objects: Objects) -> list[Change]:
        """What it is made of."""
        group = next(one for one in objects if isinstance(one, PodGroup) and one.key == self.group)
        if any(one.controller for one in group.metadata.owner_references):
            return [DeleteObject(f"job/{self.group.partition('/')[0]}/{self.job}")]
        return [DeleteObject(f"podgroup/{self.group}")]


class RemoveGates(Record, frozen=True, tag="gates", tag_field="change"):
    """No scheduling gates on the pods of a group."""

    group: str
    pods: int

    def changes(self, objects: Objects) -> list[Change]:
        """What it is made of."""
        gated = [
            one
            for one in objects
            if isinstance(one, Pod) and one.spec.scheduling_gates and one.group_key == self.group
        ]
        return [SetField(f"pod/{one.key}.schedulingGates", None) for one in gated]


class AddTolerations(Record, frozen=True, tag="tolerations", tag_field="change"):
    """Tolerations of taints on the pods of a group that have no node."""

    group: str
    pods: int
    taints: tuple[Taint, ...]

    def changes(self, objects: Objects) -> list[Change]:
        """What it is made of."""
        return [
            SetField(f"pod/{one.key}.tolerations", [*map(to_builtins, one.spec.tolerations), *map(_for, new)])
            for one in objects
            if isinstance(one, Pod) and one.group_key == self.group and not one.spec.node_name
            if (new := untolerated(one.spec.tolerations, self.taints))
        ]


def _for(taint: Taint) -> dict[str, str]:
    """A toleration of a taint."""
    value = {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
    return {"key": taint.key, **value, "effect": taint.effect}


class SetPriority(Record, frozen=True, tag="priority", tag_field="change"):
    """Another priority class of a pod group: the lowest that helps."""

    group: str
    priority_class: str
    priority: int
    before: int

    def changes(self, objects: Objects) -> list[Change]:
        """What it is made of."""
        jobs = [one for one in objects if isinstance(one, Job) and group_key(one) == self.group]
        target = f"job/{jobs[0].key}" if jobs else f"podgroup/{self.group}"
        return [SetField(f"{target}.priorityClassName", self.priority_class)]


class CreateQueue(Record, frozen=True, tag="queue", tag_field="change"):
    """A queue that does not exist yet, below the root and with weight 1."""

    queue: str

    def changes(self, _: Objects) -> list[Change]:
        """What it is made of."""
        document = {"apiVersion": Queue.api_version, "kind": "Queue", "metadata": {"name": self.queue}}
        return [SubmitDocument(f"queue {self.queue}", document)]


SingleChange = (
    RaiseCapability
    | SetWeight
    | MoreNodes
    | OpenNode
    | DeleteGroup
    | AddTolerations
    | SetPriority
    | RemoveGates
    | CreateQueue
)


def named_labels(objects: Objects) -> Callable[[str], bool]:
    """Whether a pod, a volume or a storage class names a label of nodes, so that it makes a difference."""
    named = set[bytes]()
    for one in objects:
        if isinstance(one, PersistentVolume | StorageClass):
            named.add(json.encode(one))
        elif isinstance(one, Pod):
            spec = one.spec
            if spec.node_selector or spec.affinity or spec.topology_spread_constraints:
                parts = (spec.node_selector, spec.affinity, spec.topology_spread_constraints)
                named.add(json.encode(parts))
    return lambda label: any(label.encode() in text for text in named)


def node_kinds(nodes: Sequence[Node], matters: Callable[[str], bool]) -> list[list[Node]]:
    """The nodes that can be used, together where they differ in no label that matters; largest lots first."""
    labels = {label for one in nodes for label in one.metadata.labels if label != HOSTNAME}
    named = frozenset(filter(matters, labels))
    kinds: dict[object, list[Node]] = {}
    for one in nodes:
        if one.is_ready and not one.spec.unschedulable:
            given = frozenset(item for item in one.metadata.labels.items() if item[0] in named)
            kinds.setdefault((one.status.allocatable, one.spec.taints, given), []).append(one)
    return sorted(kinds.values(), key=len, reverse=True)


def _node_like(model: Node, name: str) -> Node:
    labels = dict(model.metadata.labels)
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    metadata = msgspec.structs.replace(
        model.metadata, name=name, uid="", labels=labels, creation_timestamp=None
    )
    return msgspec.structs.replace(model, metadata=metadata)
