"""Pod groups for pods that came without one: bare pods, and those of ReplicaSets, StatefulSets and Jobs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from maar.core.model.events import Appeared, Event, Vanished
from maar.core.model.metadata import Metadata, OwnerReference
from maar.core.model.pod import GROUP_ANNOTATION, QUEUE_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.resources import Resources
from maar.core.model.writes import Change, Create, Upkeep

MIN_MEMBER_ANNOTATION: Final = "scheduling.volcano.sh/group-min-member"
_INHERITED_PREFIX: Final = "volcano.sh/"
_OWNERS: Final = ("ReplicaSet", "StatefulSet", "Job")


@dataclass(eq=False)
class MissingGroups:
    """Pods of our scheduler that name no group, and the groups that are there, kept event by event."""

    scheduler_name: str = "volcano"
    pods: dict[str, Pod] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)

    def feed(self, events: Iterable[Event]) -> None:
        """Learn what has happened."""
        for event in events:
            match event:
                case Appeared(object=Pod() as pod):
                    if self._wants_group(pod):
                        self.pods[pod.key] = pod
                    else:
                        self.pods.pop(pod.key, None)
                case Appeared(object=PodGroup() as group):
                    self.groups.add(group.key)
                case Vanished(kind="Pod", key=key):
                    self.pods.pop(key, None)
                case Vanished(kind="PodGroup", key=key):
                    self.groups.discard(key)
                case _:
                    pass

    def reconcile(self) -> list[Upkeep]:
        """Make what groups are missing, then let the pods name them."""
        writes: list[Upkeep] = []
        made: set[str] = set()
        for key, pod in self.pods.items():
            namespace, name = pod.metadata.namespace or "default", group_name(pod)
            group = f"{namespace}/{name}"
            if group not in self.groups and group not in made:
                made.add(group)
                writes.append(Create(kind="PodGroup", key=group, document=_group(pod, name)))
            patch: dict[str, object] = {"metadata": {"annotations": {GROUP_ANNOTATION: name}}}
            writes.append(Change(kind="Pod", key=key, patch=patch))
        return writes

    def _wants_group(self, pod: Pod) -> bool:
        return (
            pod.spec.scheduler_name == self.scheduler_name
            and GROUP_ANNOTATION not in pod.metadata.annotations
            and not pod.is_finished
            and not pod.is_terminating
        )


def group_name(pod: Pod) -> str:
    """The name of the group that a pod without one belongs to: its owner's, or its own."""
    owner = _owner(pod.metadata)
    return f"podgroup-{owner.uid if owner else pod.metadata.uid}"


def _owner(metadata: Metadata) -> OwnerReference | None:
    return next((one for one in metadata.owner_references if one.controller and one.kind in _OWNERS), None)


def _group(pod: Pod, name: str) -> dict[str, object]:
    """The group of a pod: as many pods of its kind as its annotation says must start together, or one."""
    metadata, owner = pod.metadata, _owner(pod.metadata)
    belongs_to = owner or OwnerReference(
        api_version=Pod.api_version, kind="Pod", name=metadata.name, uid=metadata.uid, controller=True
    )
    least = _whole_number(metadata.annotations.get(MIN_MEMBER_ANNOTATION, ""))
    spec: dict[str, object] = {"minMember": least}
    if queue := metadata.annotations.get(QUEUE_ANNOTATION) or metadata.labels.get(QUEUE_ANNOTATION):
        spec["queue"] = queue
    if pod.spec.priority_class_name:
        spec["priorityClassName"] = pod.spec.priority_class_name
    if together := {name: units * least for name, units in pod.request.items() if name != "pods"}:
        spec["minResources"] = Resources(together).quantities()
    return {
        "apiVersion": PodGroup.api_version,
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": metadata.namespace or "default",
            "annotations": _inherited(metadata.annotations),
            "ownerReferences": [
                {
                    "apiVersion": belongs_to.api_version,
                    "kind": belongs_to.kind,
                    "name": belongs_to.name,
                    "uid": belongs_to.uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def _inherited(annotations: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in annotations.items() if name.startswith(_INHERITED_PREFIX)}


def _whole_number(text: str) -> int:
    return max(1, int(text)) if text.isascii() and text.isdecimal() else 1
