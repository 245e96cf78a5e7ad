"""What the page of a job shows beyond its row: pods and nodes, events in time, conditions, the object."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Final, cast

import yaml

from maar.apps.console.answers.explanations import subject_of
from maar.apps.console.answers.present import reading
from maar.apps.console.replies import RefusedError, Reply
from maar.apps.console.viewer import Viewer
from maar.core.answers.explain.subject import WORDS
from maar.core.model.job import Job
from maar.core.model.kinds import plain
from maar.core.model.metadata import Object
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.views.job_rows import pod_state
from maar.core.views.job_summary import JOB_LABEL, TASK_LABEL, EventSummary, PodSummary, newest_last
from maar.kube.errors import ApiError
from maar.kube.listing import objects
from maar.kube.paths import resource_path_of
from maar.serving.http import HttpRequest

Json = dict[str, object]

MOST_PODS: Final = 2_000
MOST_EVENTS: Final = 500
_PODS_WITH_EVENTS: Final = 40  # whose events are asked for, those that do not run first
_AT_A_TIME: Final = 8
_KINDS: Final[dict[str, type[Object]]] = {"job": Job, "podgroup": PodGroup, "pod": Pod}
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


async def job_page(viewer: Viewer, request: HttpRequest) -> Reply:
    """The pods, events and conditions of a job, a pod group or a pod, and the object itself."""
    word, key = subject_of(request)
    kind, (namespace, _, name) = _KINDS[word], key.partition("/")
    try:
        data = await viewer.api.request("GET", resource_path_of(kind).one(key))
    except ApiError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            sentence = f"there is no {WORDS[word]} {key}; it may have been deleted"
            raise RefusedError(HTTPStatus.NOT_FOUND, sentence) from None
        raise
    document = cast(Json, plain(data))
    async with reading(viewer):
        await viewer.synced(("jobs",))
    groups = _groups(viewer, word, key)
    pods = await _pods(viewer, namespace, name, word, groups)
    about = [(kind.kind_name(), name), *(("PodGroup", one.metadata.name) for one in groups)]
    events = await _events(viewer, namespace, about, pods)
    return Reply(
        {
            "pods": [_pod(one) for one in sorted(pods, key=lambda one: one.order)[:MOST_PODS]],
            "events": [_event(one) for one in newest_last(events)[-MOST_EVENTS:]],
            "conditions": _conditions(document, groups),
            "yaml": await asyncio.to_thread(_yaml, document),
        }
    )


def _groups(viewer: Viewer, word: str, key: str) -> list[PodGroup]:
    """The pod group itself, or those that a job owns."""
    watched = viewer.of(PodGroup)
    if word == "podgroup":
        return [watched[key]] if key in watched else []
    if word == "pod":
        return []
    namespace, _, name = key.partition("/")
    return [
        one
        for one in watched.values()
        if one.metadata.namespace == namespace
        and any(each.controller and each.name == name for each in one.metadata.owner_references)
    ]


async def _pods(
    viewer: Viewer, namespace: str, name: str, word: str, groups: Sequence[PodGroup]
) -> list[PodSummary]:
    """The pods, by the label of their job, or by the pod group that they name."""
    if word == "pod":
        fields, labels = f"metadata.name={name}", ""
    else:
        owners = {each.name for one in groups for each in one.metadata.owner_references if each.kind == "Job"}
        job = name if word == "job" else next(iter(owners), "")
        fields, labels = "", f"{JOB_LABEL}={job}" if job else ""
    try:
        found = await _listed(viewer, PodSummary, namespace, fields, labels)
        if word == "podgroup" and not found and labels:  # a Job of Kubernetes, whose pods have other labels
            found = await _listed(viewer, PodSummary, namespace, "", "")
    except ApiError as error:
        if error.code == HTTPStatus.FORBIDDEN:
            return []
        raise
    if word == "podgroup":
        return [one for one in found if one.metadata.annotations.get(GROUP_ANNOTATION) == name]
    return found


async def _listed(
    viewer: Viewer, kind: type[PodSummary], namespace: str, fields: str, labels: str
) -> list[PodSummary]:
    return await objects(viewer.api, kind, lambda _: None, namespace=namespace, fields=fields, labels=labels)


async def _events(
    viewer: Viewer, namespace: str, about: Sequence[tuple[str, str]], pods: Sequence[PodSummary]
) -> list[EventSummary]:
    """The events of the objects and of some of the pods; none where they may not be read."""
    waiting = sorted(pods, key=lambda one: (one.status.phase == "Running", one.order))
    wanted = dict.fromkeys([*about, *(("Pod", one.metadata.name) for one in waiting[:_PODS_WITH_EVENTS])])
    turns = asyncio.Semaphore(_AT_A_TIME)

    async def of(kind: str, name: str) -> list[EventSummary]:
        fields = f"involvedObject.kind={kind},involvedObject.name={name}"
        async with turns:
            try:
                return await objects(
                    viewer.api, EventSummary, lambda _: None, namespace=namespace, fields=fields
                )
            except ApiError:
                return []

    found = await asyncio.gather(*(of(kind, name) for kind, name in wanted))
    return [event for events in found for event in events]


def _pod(one: PodSummary) -> Json:
    _, status, restarts = pod_state(one)
    ends = [each.state.terminated for each in one.status.container_statuses]
    finished = [each.finished_at for each in ends if each is not None and each.finished_at is not None]
    is_over = one.status.phase in ("Succeeded", "Failed")
    ready = next((each.status == "True" for each in one.status.conditions if each.type == "Ready"), False)
    return {
        "name": one.metadata.name,
        "task": one.metadata.labels.get(TASK_LABEL, ""),
        "phase": one.status.phase or "Pending",
        "ready": ready,
        "restarts": int(restarts),
        "node": one.spec.node_name,
        "created": _seconds(one.metadata.creation_timestamp),
        "started": _seconds(one.status.start_time),
        "finished": _seconds(max(finished)) if is_over and finished else None,
        "reason": "" if status == one.status.phase else status,
    }


def _event(one: EventSummary) -> Json:
    about = one.involved_object
    return {
        "time": _seconds(one.last_seen),
        "type": one.type,
        "reason": one.reason,
        "message": one.message,
        "about": f"{about.kind} {about.name}".strip(),
        "count": one.times,
    }


def _conditions(document: Json, groups: Sequence[PodGroup]) -> list[Json]:
    """What the objects say of themselves, the newest last."""
    status = document.get("status")
    found = status.get("conditions") if isinstance(status, dict) else None
    own = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    if document.get("kind") == "PodGroup":
        return [_condition(one) for one in own]
    of_groups = [
        {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
        for one in groups
        for each in one.status.conditions
    ]
    phases = [{"type": f"{one.get('status', '')}", "time": one.get("lastTransitionTime")} for one in own]
    return [*of_groups, *(phases if document.get("kind") == "Job" else map(_condition, own))]


def _condition(one: Json) -> Json:
    names = ("type", "status", "reason", "message")
    return {**{name: one.get(name, "") for name in names}, "time": one.get("lastTransitionTime")}


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _yaml(document: Json) -> str:
    """The object without what the server notes about who wrote it."""
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        document = {
            **document,
            "metadata": {name: one for name, one in metadata.items() if name != "managedFields"},
        }
    text: str = yaml.dump(document, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
    return text
