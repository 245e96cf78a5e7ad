"""Pod groups for pods that came without one: bare pods, and those of ReplicaSets, StatefulSets and Jobs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from maar.core.model.events import Appeared, Event, Vanished
from maar.core.model.metadata import Metadata, OwnerReference
from maar.core.model.pod import GROUP_ANNOTATION, QUEUE_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.resources import Resources
from maar.core.model.writes import Change, Create, Remove, Upkeep

MIN_MEMBER_ANNOTATION: Final = "scheduling.volcano.sh/group-min-member"
MADE_ANNOTATION: Final = (
    "maar.sh/made-for-pods"  # on groups that nobody asked for, and that go with their pods
)
_INHERITED_PREFIX: Final = "volcano.sh/"
_OWNERS: Final = ("ReplicaSet", "StatefulSet", "Job")
_Part = Mapping[str, object]


@dataclass(eq=False)
class MissingGroups:
    """Pods of our scheduler by their groups, and the groups that are there, kept event by event."""

    scheduler_name: str = "volcano"
    without: dict[str, Pod] = field(default_factory=dict)  # pods that name no group yet
    members: dict[str, set[str]] = field(default_factory=dict)  # the pods of every group
    groups: dict[str, PodGroup] = field(default_factory=dict)
    _group_of: dict[str, str] = field(default_factory=dict)

    def feed(self, events: Iterable[Event]) -> None:
        """Learn what has happened."""
        for event in events:
            match event:
                case Appeared(object=Pod() as pod) if pod.spec.scheduler_name == self.scheduler_name:
                    self._forget(pod.key)
                    self._learn(pod)
                case Appeared(object=PodGroup() as group):
                    self.groups[group.key] = group
                case Vanished(kind="Pod", key=key):
                    self._forget(key)
                case Vanished(kind="PodGroup", key=key):
                    self.groups.pop(key, None)
                case _:
                    pass

    def reconcile(self) -> list[Upkeep]:
        """Make what groups are missing, let the pods name them, and remove those whose pods have all gone."""
        writes: list[Upkeep] = []
        made: set[str] = set()
        for key, pod in self.without.items():
            group, name = self._group_of[key], group_name(pod)
            if group not in self.groups and group not in made:
                made.add(group)
                document = _group(pod, name)
                writes.append(
                    Create(kind="PodGroup", key=group, document=document, owner=_owner(pod.metadata))
                )
            patch: dict[str, object] = {"metadata": {"annotations": {GROUP_ANNOTATION: name}}}
            writes.append(Change(kind="Pod", key=key, patch=patch))
        for key, one in self.groups.items():
            if (
                MADE_ANNOTATION in one.metadata.annotations
                and key not in self.members
                and not one.is_terminating
            ):
                writes.append(Remove(kind="PodGroup", key=key, uid=one.metadata.uid))
        return writes

    def _learn(self, pod: Pod) -> None:
        named = pod.metadata.annotations.get(GROUP_ANNOTATION)
        group = f"{pod.metadata.namespace or 'default'}/{named or group_name(pod)}"
        self._group_of[pod.key] = group
        self.members.setdefault(group, set()).add(pod.key)
        if not named and not pod.is_finished and not pod.is_terminating:
            self.without[pod.key] = pod

    def _forget(self, pod: str) -> None:
        self.without.pop(pod, None)
        group = self._group_of.pop(pod, "")
        if group:
            self.members[group].discard(pod)
            if not self.members[group]:
                del self.members[group]


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
    notes: dict[str, str] = {**_inherited(metadata.annotations), MADE_ANNOTATION: "true"}
    return {
        "apiVersion": PodGroup.api_version,
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": metadata.namespace or "default",
            "annotations": notes,
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


def as_owner_says(document: Mapping[str, object], annotations: Mapping[str, str]) -> dict[str, object]:
    """A group with what its pods' owner says in annotations, where the pods themselves say nothing."""
    metadata, spec = cast(_Part, document["metadata"]), dict(cast(_Part, document["spec"]))
    if queue := annotations.get(QUEUE_ANNOTATION):
        spec.setdefault("queue", queue)
    least = _whole_number(annotations.get(MIN_MEMBER_ANNOTATION, ""))
    if spec["minMember"] == 1 and least > 1:
        spec["minMember"] = least
        each = Resources.parse(cast(_Part, spec.get("minResources", {})))
        if each:
            spec["minResources"] = Resources(
                {name: units * least for name, units in each.items()}
            ).quantities()
    said = {**_inherited(annotations), **cast(dict[str, str], metadata["annotations"])}
    return {**document, "metadata": {**metadata, "annotations": said}, "spec": spec}


def _inherited(annotations: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in annotations.items() if name.startswith(_INHERITED_PREFIX)}


def _whole_number(text: str) -> int:
    return max(1, int(text)) if text.isascii() and text.isdecimal() else 1
