"""Pod groups for pods that came without one: bare pods, and those of whatever controller makes pods.

A group is made for the controller of its pods, or for a pod without one, and follows them; the ReplicaSets of
a Deployment are its versions and have one group, or a rollout would wait for a second gang. Its queue,
minimum and resources are what the youngest live pod and the owner say now. Owners are known by their
metadata; a pod whose owner can be known waits until it is, or a gang could start as single pods. A group is
looked at when one of its pods, its owner or itself has changed; what differs is wanted until it is there. One
that could not be created, or that was deleted, is wanted while a pod lives that it is for.
"""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from maar.core.controllers.cluster_view import (
    AnyChange,
    ClusterView,
    OwnerChanged,
    PodChanged,
    PodGroupChanged,
)
from maar.core.controllers.controller import Controller, Reconciled
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
from maar.core.model.writes import ControllerWrite, Create, Delete, Patch

_NOTHING: Final[Statements] = {}


class MissingGroups(Controller):
    """Keys are those of pod groups, those that do not exist yet included."""

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterator[str]:  # noqa: ARG002
        """The groups that a change concerns."""
        match change:
            case PodChanged() if change.before != change.after:
                yield from [one.group_key for one in (change.before, change.after) if one is not None]
            case PodGroupChanged():
                yield change.key
            case OwnerChanged() if change.after is not None:
                yield change.after.group
            case _:
                pass

    def reconcile(
        self,
        cluster: ClusterView,
        keys: Collection[str],
        now: datetime,
    ) -> Reconciled:
        """Make what groups are missing, let the pods name them, and change or remove those that need it."""
        found: list[tuple[tuple[float, str], str, list[ControllerWrite]]] = []
        naming: list[tuple[str, ControllerWrite]] = []
        wake_at: list[tuple[str, datetime]] = []
        for key in keys:
            members = [cluster.pods[pod] for pod in cluster.pods_of_group.keys(key)]
            if not members and (until := _expects_pods_until(cluster, key, now)) is not None:
                wake_at += [(key, until)] if until > now else []
                continue
            wanted = _group_writes(cluster, key, members)
            if wanted:
                found.append((_age(members), key, wanted))
            if wanted or key in cluster.groups:
                naming += [(key, _name_group(key, pod)) for pod in members if _is_without(pod)]
        found.sort(key=lambda one: one[0])
        writes = [*((key, write) for _, key, writes in found for write in writes), *naming]
        return Reconciled(writes, wake_at)


def _expects_pods_until(cluster: ClusterView, key: str, now: datetime) -> datetime | None:
    """Until when a group stays that has no pods: now where it cannot be said, None where it does not stay.

    Its Job was suspended by Maar, or was just resumed and has not made its pods.
    """
    group = cluster.groups.get(key)
    if group is None:
        return None
    jobs = [cluster.batch_jobs[job] for job in cluster.batch_jobs_of_group.keys(key)]
    if any(job.is_marked and job.is_suspended for job in jobs):
        return now
    room = group.promised_room
    return room.until if jobs and room is not None and room.until > now else None


def _age(members: list[Member]) -> tuple[float, str]:
    """In which order groups are made, and so the order in which they run: that of their pods."""
    ages = [(one.created, natural(one.group_owner.name if one.group_owner else one.name)) for one in members]
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
    if not members:
        return [] if group is None else [Delete(kind="PodGroup", key=key, uid=group.metadata.uid)]
    namespace, _, name = key.partition("/")
    live = [one for one in members if one.is_live and one.group == name]
    youngest = max(live, key=lambda one: (one.created, one.name), default=None)
    owner = None if youngest is None else _statements(cluster, youngest.owner)
    if youngest is None or owner is None:
        return []  # an event for the owner is on its way; where it was deleted, its pods go too
    wanted = wanted_group(youngest, owner, _succeeded_and_gone(cluster, youngest.owner, members))
    if group is None:
        made, about = document(youngest, namespace, wanted), f"{namespace}/{youngest.name}"
        return [Create(kind="PodGroup", key=key, document=made, about=about)]
    since = group.metadata.annotations.get(OWNER_SINCE_ANNOTATION)
    if (
        since is not None and OWNER_SINCE_ANNOTATION in wanted.annotations
    ):  # a Deployment is as old as its first version
        wanted = wanted._replace(annotations={**wanted.annotations, OWNER_SINCE_ANNOTATION: since})
    if wanted.queue == DEFAULT:  # which admission reads as the queue of the namespace
        wanted = wanted._replace(queue=_queue_of(cluster, namespace) or DEFAULT)
    return [Patch(kind="PodGroup", key=key, patch=one) for one in patches(group, wanted)]


def _statements(cluster: ClusterView, owner: OwnerReference | None) -> Statements | None:
    """What an owner sets; nothing for a kind that is not read, None for one that is not known yet."""
    if owner is None or all(
        (one.api_version, one.kind) != (owner.api_version, owner.kind) for one in cluster.workloads
    ):
        return _NOTHING
    known = cluster.owners.by_uid.get(owner.uid)
    return None if known is None else known.statements


def _succeeded_and_gone(cluster: ClusterView, owner: OwnerReference | None, members: list[Member]) -> int:
    """How many pods of a Job have succeeded and were deleted: by a collector of pods, or with their node."""
    known = cluster.owners.by_uid.get(owner.uid) if owner is not None else None
    there = sum(one.has_succeeded for one in members)
    return 0 if known is None else max(0, known.succeeded - there)


def _queue_of(cluster: ClusterView, namespace: str) -> str:
    """The queue that a namespace names; empty where it names none."""
    known = cluster.namespaces.get(namespace)
    return "" if known is None else known.metadata.annotations.get(QUEUE_ANNOTATION, "")
