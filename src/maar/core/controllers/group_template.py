"""What the pod group of pods that came without one looks like: as its youngest pod and their owner say.

Both say it in annotations; where both speak, the pod counts, because it carries the template of its
owner.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from typing import Final, NamedTuple

import msgspec

from maar.core.model.metadata import Metadata, OwnerReference
from maar.core.model.pod import (
    EVICTED_FOR_ANNOTATION,
    EVICTED_WITH_JOB_ANNOTATION,
    GROUP_ANNOTATION,
    PREEMPTABLE_MARK,
    QUEUE_ANNOTATION,
    Pod,
)
from maar.core.model.pod_group import OWNER_SINCE_ANNOTATION, PodGroup
from maar.core.model.resources import PODS, BadAmountError, Resources
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.core.model.workload import BatchJob, Workload

MIN_MEMBER_ANNOTATION: Final = "scheduling.volcano.sh/group-min-member"
_MIN_RESOURCES_ANNOTATION: Final = "scheduling.volcano.sh/group-min-resources"
MADE_ANNOTATION: Final = "maar.sh/made-for-pods"  # on groups that Maar made for pods, and deletes with them
_INHERITED_PREFIX: Final = "volcano.sh/"  # what an owner says there holds for the group
_INHERITED: Final = ("sla-waiting-time", EXPECTED_RUN_TIME)  # so does this
_INHERITED_FROM_PODS: Final = (  # what else a pod says there is about itself, such as its task
    PREEMPTABLE_MARK,
    "volcano.sh/cooldown-time",
    "volcano.sh/revocable-zone",
    "volcano.sh/jdb-min-available",
    "volcano.sh/jdb-max-unavailable",
    "volcano.sh/sla-waiting-time",
)
_STATED: Final = (QUEUE_ANNOTATION, MIN_MEMBER_ANNOTATION, _MIN_RESOURCES_ANNOTATION)
_RFC_3339: Final = "%Y-%m-%dT%H:%M:%SZ"

_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_AMOUNTS: Final = msgspec.json.Decoder(dict[str, str | int | float])

Statements = Mapping[str, str]  # the annotations that a group follows
Json = dict[str, object]


class Member(NamedTuple):
    """A pod, with all that its group is made from."""

    created: float
    name: str
    uid: str
    group: str  # the name of the group that would be made for it
    group_key: str  # of the group that it names, or that would be made for it
    is_live: bool
    has_succeeded: bool
    names_group: bool
    request: Resources
    priority_class: str
    statements: Statements
    owner: OwnerReference | None
    group_owner: OwnerReference | None  # its owner, or the Deployment that this is a version of
    batch_job: str  # the uid of the Job of batch/v1 that made it; empty where none did
    evicted_with_job: str | None  # for what, where its Job is to be suspended; it may still run


class Wanted(NamedTuple):
    """How a group should be; an empty queue is left to admission."""

    min_member: int
    queue: str
    priority_class: str
    min_resources: Resources
    annotations: Statements


def member(pod: Pod) -> Member:
    """Read what a pod sets for its group."""
    metadata, created = pod.metadata, pod.metadata.creation_timestamp
    named, owner = metadata.annotations.get(GROUP_ANNOTATION, ""), _controller_of(metadata)
    own = group_name(owner.uid if owner else metadata.uid)
    statements = _chosen(metadata.annotations, _INHERITED_FROM_PODS)
    if QUEUE_ANNOTATION in metadata.labels:
        statements = {QUEUE_ANNOTATION: metadata.labels[QUEUE_ANNOTATION], **statements}
    return Member(
        created=created.timestamp() if created else 0.0,
        name=metadata.name,
        uid=metadata.uid,
        group=own,
        group_key=f"{metadata.namespace or 'default'}/{named or own}",
        is_live=not pod.is_finished and not pod.is_terminating,
        batch_job=pod.batch_job,
        evicted_with_job=_evicted_with_job(metadata),
        has_succeeded=pod.status.phase == "Succeeded",
        names_group=bool(named),
        request=pod.request,
        priority_class=pod.spec.priority_class_name,
        statements=statements,
        owner=owner,
        group_owner=owner,
    )


def of_deployment(pod: Member, namespace: str, deployment: OwnerReference) -> Member:
    """A pod of a ReplicaSet of a Deployment: the versions of a Deployment are one group."""
    group = group_name(deployment.uid)
    key = pod.group_key if pod.names_group else f"{namespace}/{group}"
    return pod._replace(group=group, group_key=key, group_owner=deployment)


def _evicted_with_job(metadata: Metadata) -> str | None:
    """The group that a pod is evicted for by suspending its Job, or the action where it is for none."""
    action = metadata.annotations.get(EVICTED_WITH_JOB_ANNOTATION)
    return None if action is None else metadata.annotations.get(EVICTED_FOR_ANNOTATION) or action


def statements_of_owner(metadata: Metadata) -> Statements:
    """Read what an owner of pods sets for their group."""
    inherited = [name for name in metadata.annotations if _is_inherited(name)]
    since = metadata.creation_timestamp
    age = {OWNER_SINCE_ANNOTATION: since.astimezone(UTC).strftime(_RFC_3339)} if since is not None else {}
    return {**_chosen(metadata.annotations, inherited), **age}


def _controller_of(metadata: Metadata) -> OwnerReference | None:
    """The owner that makes a pod's group: its controller, unless that is the node of a static pod."""
    return next(
        (
            reference
            for reference in metadata.owner_references
            if reference.controller and reference.kind != "Node"
        ),
        None,
    )


def group_name(uid: str) -> str:
    """The name of the group that is made for an owner of pods, or for a pod without one."""
    return f"podgroup-{uid}"


def wanted_group(pod: Member, owner: Statements, ended: int = 0, gone: int = 0) -> Wanted:
    """How the group of a pod should be; so many others have ended for good, and so many of them are gone."""
    stated = {**owner, **pod.statements}
    wanted = _whole_number(stated.get(MIN_MEMBER_ANNOTATION, ""))
    least, still = max(1, wanted - gone), max(1, wanted - ended)
    together = Resources({name: units * still for name, units in pod.request.items() if name != PODS})
    return Wanted(
        min_member=least,
        queue=stated.get(QUEUE_ANNOTATION, ""),
        priority_class=pod.priority_class,
        min_resources=_amounts(stated.get(_MIN_RESOURCES_ANNOTATION, "")) or together,
        annotations={name: text for name, text in stated.items() if name not in _STATED},
    )


def document(pod: Member, namespace: str, wanted: Wanted) -> Json:
    """The group of a pod, to be created."""
    owner = pod.group_owner or OwnerReference(
        api_version=Pod.api_version, kind="Pod", name=pod.name, uid=pod.uid
    )
    spec: Json = {"minMember": wanted.min_member}
    if wanted.queue:
        spec["queue"] = wanted.queue
    if wanted.priority_class:
        spec["priorityClassName"] = wanted.priority_class
    if wanted.min_resources:
        spec["minResources"] = wanted.min_resources.quantities()
    reference = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    notes: Json = {**wanted.annotations, MADE_ANNOTATION: "true"}
    return {
        "apiVersion": PodGroup.api_version,
        "kind": "PodGroup",
        "metadata": {
            "name": pod.group,
            "namespace": namespace,
            "annotations": notes,
            "ownerReferences": [reference],
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def patches(group: PodGroup, wanted: Wanted) -> list[Json]:
    """The merge patches that make a group as it should be, its queue apart: that may be refused by itself."""
    spec, metadata = group.spec, group.metadata
    changes: list[Json] = [{"spec": {"queue": wanted.queue}}] if wanted.queue not in ("", spec.queue) else []
    changed: Json = {}
    if wanted.min_member != spec.min_member:
        changed["minMember"] = wanted.min_member
    if wanted.priority_class != spec.priority_class_name:
        changed["priorityClassName"] = wanted.priority_class or None
    before = spec.min_resources or Resources()
    if wanted.min_resources != before:
        removed: Json = dict.fromkeys(before.keys() - wanted.min_resources.keys())
        changed["minResources"] = {**removed, **wanted.min_resources.quantities()}
    notes: dict[str, str | None] = {
        name: None for name in metadata.annotations if _is_inherited(name) and name not in wanted.annotations
    }
    notes |= {
        name: text for name, text in wanted.annotations.items() if metadata.annotations.get(name) != text
    }
    rest: Json = {"spec": changed} if changed else {}
    if notes:
        rest["metadata"] = {"annotations": notes}
    return [*changes, rest] if rest else changes


def _is_inherited(annotation: str) -> bool:
    return annotation.startswith(_INHERITED_PREFIX) or annotation in _INHERITED


def _chosen(annotations: Mapping[str, str], inherited: list[str] | tuple[str, ...]) -> dict[str, str]:
    return {name: annotations[name] for name in (*_STATED, *inherited) if name in annotations}


def _amounts(text: str) -> Resources:
    """What an annotation says in JSON that a group asks for; nothing where it cannot be read."""
    try:
        return Resources.parse(_AMOUNTS.decode(text)) if text else Resources()
    except (msgspec.DecodeError, BadAmountError):
        return Resources()


def _whole_number(text: str) -> int:
    return max(1, int(text)) if _WHOLE_NUMBER.fullmatch(text) else 1


class Owner(NamedTuple):
    """What is kept of a workload."""

    uid: str
    group: str  # the key of the group that is made for its pods
    statements: Statements
    deployment: OwnerReference | None  # that it is a version of
    ended: int  # pods of a Job that are not tried again, those that are gone included


@dataclass(eq=False)
class Owners:
    """Workloads by kind and key, and by uid."""

    by_uid: dict[str, Owner] = field(default_factory=dict)
    _by_key: dict[tuple[str, str], Owner] = field(default_factory=dict)

    def __contains__(self, place: tuple[str, str]) -> bool:
        """Whether there is a workload of a kind and key."""
        return place in self._by_key

    def put(self, kind: str, key: str, new: Workload | None) -> tuple[Owner | None, Owner | None]:
        """Learn of a workload, None where it is gone; what was known of it, and what is."""
        before, after = self._by_key.pop((kind, key), None), None if new is None else _owner(new)
        if before is not None:
            self.by_uid.pop(before.uid, None)
        if after is not None:
            self._by_key[kind, key] = self.by_uid[after.uid] = after
        return before, after


def _owner(workload: Workload) -> Owner:
    metadata = workload.metadata
    above = _controller_of(metadata)
    is_version = above is not None and (above.api_version, above.kind) == ("apps/v1", "Deployment")
    deployment = above if is_version else None
    group = group_name(deployment.uid if deployment is not None else metadata.uid)
    key = f"{metadata.namespace or 'default'}/{group}"
    ended = workload.ended if isinstance(workload, BatchJob) else 0
    return Owner(metadata.uid, key, statements_of_owner(metadata), deployment, ended)
