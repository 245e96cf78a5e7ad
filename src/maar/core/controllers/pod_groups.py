"""Pod groups for pods that came without one: bare pods, and those of whatever controller makes pods.

A group is made for the controller of its pods, or for a pod without one, and follows them; the
ReplicaSets of a Deployment are its versions and have one group, or a rollout would wait for a
second gang. Its queue, minimum and resources are what the youngest live pod and the owner say now;
while Maar has suspended a Job, what its template says. Owners are known by their metadata; a pod
whose owner can be known waits until it is, or a gang could start as single pods. A group is looked
at when one of its pods, its owner or itself has changed; what differs is wanted until it is there.
One that could not be created, or that was deleted, is wanted while a pod lives that it is for, or
Maar has suspended its Job.
"""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from maar.core.controllers.changes import AnyChange, OwnerChanged, PodChanged, PodGroupChanged
from maar.core.controllers.cluster_view import ClusterController, ClusterView, Reconciled
from maar.core.controllers.group_template import (
    MADE_ANNOTATION,
    Member,
    Statements,
    document,
    patches,
    wanted_group,
)
from maar.core.model.metadata import OwnerReference
from maar.core.model.names import natural
from maar.core.model.pod import GROUP_ANNOTATION, QUEUE_ANNOTATION
from maar.core.model.pod_group import OWNER_SINCE_ANNOTATION
from maar.core.model.queue import DEFAULT
from maar.core.model.workload import BatchJob
from maar.core.model.writes import ControllerWrite, Create, Delete, Patch

_NOTHING: Final[Statements] = {}


class MissingGroups(ClusterController):
    """Keys are those of pod groups, those that do not exist yet included."""

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterator[str]:
        """The groups that a change concerns."""
        match change:
            case PodChanged() if change.before != change.after:
                yield from [one.group_key for one in (change.before, change.after) if one is not None]
            case PodGroupChanged():
                yield change.key
            case OwnerChanged() if change.after is not None:
                yield change.after.group

    def reconcile(self, cluster: ClusterView, keys: Collection[str], now: datetime) -> Reconciled:
        """Make what groups are missing, let the pods name them, and change or remove those that need it."""
        making: list[tuple[tuple[float, str], str, list[ControllerWrite]]] = []
        naming: list[tuple[str, Patch]] = []
        for key in keys:
            members = [cluster.pods[pod] for pod in cluster.pods_of_group.keys(key)]
            if not members and (until := _expects_pods_until(cluster, key, now)) is not None:
                yield key, until
                continue
            wanted = _group_writes(cluster, key, members)
            if wanted:
                making.append((_age(members), key, wanted))
            if wanted or key in cluster.groups:
                naming += [(key, _name_group(key, pod)) for pod in members if _is_without(pod)]
        making.sort(key=lambda one: one[0])
        for _, key, wanted in making:
            yield from ((key, write) for write in wanted)
        yield from naming


def _expects_pods_until(cluster: ClusterView, key: str, now: datetime) -> datetime | None:
    """Until when a group stays whose Job was just resumed and has not made its pods; None for any other."""
    group = cluster.groups.get(key)
    room = group.promised_room if group is not None else None
    if room is None or room.until <= now or not any(cluster.batch_jobs_of_group.keys(key)):
        return None
    return room.until


def _age(members: list[Member]) -> tuple[float, str]:
    """In which order groups are made, and so the order in which they run: that of their pods."""
    ages = [
        (member.created, natural(member.group_owner.name if member.group_owner else member.name))
        for member in members
    ]
    return min(ages, default=(0.0, ""))


def _is_without(pod: Member) -> bool:
    """Whether a pod lives and names no group yet."""
    return pod.is_live and not pod.names_group


def _name_group(key: str, pod: Member) -> Patch:
    notes = {GROUP_ANNOTATION: pod.group}
    namespace = key.partition("/")[0]
    return Patch(kind="Pod", key=f"{namespace}/{pod.name}", patch={"metadata": {"annotations": notes}})


def _group_writes(cluster: ClusterView, key: str, members: list[Member]) -> list[ControllerWrite]:
    """What the group of some pods lacks, where it is one that we make."""
    group = cluster.groups.get(key)
    if group is not None and (group.is_terminating or MADE_ANNOTATION not in group.metadata.annotations):
        return []
    namespace, _, name = key.partition("/")
    to_come = _to_come(cluster, key)
    if not members and not to_come:
        return [] if group is None else [Delete(kind="PodGroup", key=key, uid=group.metadata.uid)]
    live = [member for member in members if member.is_live and member.group == name] or to_come
    youngest = max(live, key=lambda pod: (pod.created, pod.name), default=None)
    owner = None if youngest is None else _statements(cluster, youngest.owner)
    if youngest is None or owner is None:
        return []  # an event for the owner is on its way; where it was deleted, its pods go too
    wanted = wanted_group(youngest, owner, *_ended(cluster, youngest.owner, members))
    is_to_come = youngest in to_come
    if group is None:
        made, kind, about = document(youngest, namespace, wanted), "Pod", youngest.name
        if is_to_come and youngest.owner is not None:
            kind, about = BatchJob.kind_name(), youngest.owner.name
        return [
            Create(kind="PodGroup", key=key, document=made, about=f"{namespace}/{about}", about_kind=kind)
        ]
    if is_to_come:  # admission has given its pods their priority class, not the template
        wanted = wanted._replace(priority_class=group.spec.priority_class_name)
    since = group.metadata.annotations.get(OWNER_SINCE_ANNOTATION)
    if (
        since is not None and OWNER_SINCE_ANNOTATION in wanted.annotations
    ):  # a Deployment is as old as its first version
        wanted = wanted._replace(annotations={**wanted.annotations, OWNER_SINCE_ANNOTATION: since})
    if wanted.queue == DEFAULT:  # which admission reads as the queue of the namespace
        wanted = wanted._replace(queue=_queue_of(cluster, namespace) or DEFAULT)
    return [Patch(kind="PodGroup", key=key, patch=patch) for patch in patches(group, wanted)]


def _to_come(cluster: ClusterView, key: str) -> list[Member]:
    """A pod of each Job that Maar has suspended, for whose pods a group is made."""
    pods = [cluster.batch_jobs[job].to_come for job in cluster.batch_jobs_of_group.keys(key)]
    return [pod for pod in pods if pod is not None and key.endswith(f"/{pod.group}")]


def _statements(cluster: ClusterView, owner: OwnerReference | None) -> Statements | None:
    """What an owner sets; nothing for a kind that is not read, None for one that is not known yet."""
    if owner is None or all(
        (workload.api_version, workload.kind) != (owner.api_version, owner.kind)
        for workload in cluster.workloads
    ):
        return _NOTHING
    workload = cluster.owners.by_uid.get(owner.uid)
    return None if workload is None else workload.statements


def _ended(cluster: ClusterView, owner: OwnerReference | None, members: list[Member]) -> tuple[int, int]:
    """How many pods of a Job are not tried again, and how many of them do not count as pods of the group."""
    workload = cluster.owners.by_uid.get(owner.uid) if owner is not None else None
    there = sum(member.has_succeeded for member in members)
    return (0, 0) if workload is None else (max(there, workload.ended), max(0, workload.ended - there))


def _queue_of(cluster: ClusterView, namespace: str) -> str:
    """The queue that a namespace names; empty where it names none."""
    about = cluster.namespaces.get(namespace)
    return "" if about is None else about.metadata.annotations.get(QUEUE_ANNOTATION, "")
