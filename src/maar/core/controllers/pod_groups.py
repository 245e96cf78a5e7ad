"""Pod groups for pods that came without one: bare pods, and those of whatever controller makes pods.

A group is made for the controller of its pods, or for a pod without one, and follows them: its queue,
minimum and resources are what the youngest live pod and the owner say now. Owners are known by their
metadata; a pod whose owner can be known waits until it is, or a gang could start as single pods. A group is
looked at when one of its pods, its owner or itself has changed; what differs is wanted until it is there. One
that could not be created, or that somebody deleted, is wanted while a pod lives that it is for.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from maar.core.controllers.group_template import (
    MADE_ANNOTATION,
    Member,
    Statements,
    document,
    group_name,
    member,
    patches,
    statements_of_owner,
    wanted_group,
)
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.metadata import OwnerReference
from maar.core.model.names import natural
from maar.core.model.namespace import Namespace
from maar.core.model.pod import GROUP_ANNOTATION, QUEUE_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import DEFAULT
from maar.core.model.workload import WORKLOADS, Workload
from maar.core.model.writes import ControllerWrite, Create, Delete, Patch

_NOTHING: Final[Statements] = {}


@dataclass(eq=False)
class MissingGroups:
    """Pods of our scheduler by their groups, the groups and the owners that exist, kept event by event."""

    scheduler_name: str = "volcano"
    workloads: Collection[type[Workload]] = WORKLOADS  # the kinds of owners that are known
    without: dict[str, Pod] = field(default_factory=dict)  # pods that name no group yet
    members: dict[str, dict[str, Member]] = field(default_factory=dict)  # the pods of every group
    groups: dict[str, PodGroup] = field(default_factory=dict)
    owners: dict[str, Statements] = field(default_factory=dict)  # what owners say, by their uid
    _namespaces: dict[str, str] = field(default_factory=dict)  # the queue that a namespace names
    _group_of: dict[str, str] = field(default_factory=dict)
    _uids: dict[tuple[str, str], str] = field(default_factory=dict)  # of owners, by kind and key
    _unsettled: dict[str, list[ControllerWrite]] = field(default_factory=dict)  # what groups lack

    def __post_init__(self) -> None:
        self._known_kinds = {(one.api_version, one.kind) for one in self.workloads}

    def feed(self, events: Iterable[Event]) -> None:
        """Learn what has happened."""
        changed: dict[str, None] = {}
        for event in events:
            match event:
                case Upserted(object=Pod() as pod) if pod.spec.scheduler_name == self.scheduler_name:
                    changed[self._forget(pod.key)] = None
                    changed[self._learn(pod)] = None
                case Upserted(object=PodGroup() as group):
                    self.groups[group.key] = group
                    changed[group.key] = None
                case Upserted(object=Workload() as owner):
                    changed[self._learn_owner(owner)] = None
                case Upserted(object=Namespace() as namespace):
                    self._namespaces[namespace.key] = namespace.metadata.annotations.get(QUEUE_ANNOTATION, "")
                case Deleted(kind="Pod", key=key):
                    changed[self._forget(key)] = None
                case Deleted(kind="PodGroup", key=key):
                    self.groups.pop(key, None)
                    changed[key] = None
                case Deleted(kind=kind, key=key) if (kind, key) in self._uids:
                    self.owners.pop(self._uids.pop((kind, key)), None)
                case _:
                    pass
        for key in changed:
            self._look_at(key)

    def reconcile(self) -> list[ControllerWrite]:
        """Make what groups are missing, let the pods name them, and change or remove those that need it."""
        writes = [write for key in sorted(self._unsettled, key=self._age) for write in self._unsettled[key]]
        for key, pod in self.without.items():
            group = self._group_of[key]
            if group in self.groups or group in self._unsettled:
                notes = {GROUP_ANNOTATION: group_name(pod)}
                writes.append(Patch(kind="Pod", key=key, patch={"metadata": {"annotations": notes}}))
        return writes

    def _age(self, key: str) -> tuple[float, str]:
        """In which order groups are made, and so the order in which they run: that of their pods."""
        ages = [
            (one.created, natural(one.owner.name if one.owner else one.name))
            for one in self.members.get(key, {}).values()
        ]
        return min(ages, default=(0.0, ""))

    def _look_at(self, key: str) -> None:
        """Work out what the group of some pods lacks, where it is one that we make."""
        self._unsettled.pop(key, None)
        group, members = self.groups.get(key), self.members.get(key, {}).values()
        if group is not None and (group.is_terminating or MADE_ANNOTATION not in group.metadata.annotations):
            return
        if not members and group is not None:
            self._unsettled[key] = [Delete(kind="PodGroup", key=key, uid=group.metadata.uid)]
        namespace, _, name = key.partition("/")
        live = [one for one in members if one.is_live and one.group == name]
        youngest = max(live, key=lambda one: (one.created, one.name), default=None)
        owner = None if youngest is None else self._statements(youngest.owner)
        if youngest is None or owner is None:
            return  # an owner is heard of soon; where it was deleted, its pods go too
        wanted = wanted_group(youngest, owner)
        if group is None:
            made, about = document(youngest, namespace, wanted), f"{namespace}/{youngest.name}"
            self._unsettled[key] = [Create(kind="PodGroup", key=key, document=made, about=about)]
            return
        if wanted.queue == DEFAULT:  # which admission reads as the queue of the namespace
            wanted = wanted._replace(queue=self._namespaces.get(namespace) or DEFAULT)
        if found := patches(group, wanted):
            self._unsettled[key] = [Patch(kind="PodGroup", key=key, patch=one) for one in found]

    def _statements(self, owner: OwnerReference | None) -> Statements | None:
        """What an owner says; nothing of one that is not read, None of one that is not known yet."""
        if owner is None or (owner.api_version, owner.kind) not in self._known_kinds:
            return _NOTHING
        return self.owners.get(owner.uid)

    def _learn_owner(self, owner: Workload) -> str:
        """Take in what an owner says; gives the group that it would be about."""
        uid = owner.metadata.uid
        self.owners[uid] = statements_of_owner(owner.metadata) or _NOTHING
        self._uids[type(owner).__name__, owner.key] = uid
        return f"{owner.metadata.namespace or 'default'}/podgroup-{uid}"

    def _learn(self, pod: Pod) -> str:
        """Take in a pod; gives its group."""
        named = pod.metadata.annotations.get(GROUP_ANNOTATION)
        group = f"{pod.metadata.namespace or 'default'}/{named or group_name(pod)}"
        self._group_of[pod.key] = group
        self.members.setdefault(group, {})[pod.key] = member(pod)
        if not named and not pod.is_finished and not pod.is_terminating:
            self.without[pod.key] = pod
        return group

    def _forget(self, pod: str) -> str:
        """Forget a pod; gives its group."""
        self.without.pop(pod, None)
        group = self._group_of.pop(pod, "")
        if group:
            del self.members[group][pod]
            if not self.members[group]:
                del self.members[group]
        return group
