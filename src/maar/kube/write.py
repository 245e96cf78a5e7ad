"""Writes to the cluster: each function does one thing and gives its outcome."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, Literal, assert_never

from maar.core.model.kinds import from_json, plain, to_json
from maar.core.model.pod import EVICTED_FOR_ANNOTATION, EVICTED_WITH_JOB_ANNOTATION, QUEUE_GATE, Pod
from maar.core.model.pod_group import PROMISED_ROOM_ANNOTATION
from maar.core.model.volume import SELECTED_NODE_ANNOTATION
from maar.core.model.writes import (
    Bind,
    BindVolume,
    Evict,
    EvictingAction,
    Nominate,
    RemoveGate,
    Resume,
    Selection,
    SelectNode,
    Write,
)
from maar.kube.api_server import JSON, ApiServer
from maar.kube.errors import ApiError, FencedError, UnansweredError
from maar.kube.outcome import Conflict, Done, Gone, Outcome, Protected, Refused, Unanswered
from maar.kube.paths import CLAIMS, POD_GROUPS, PODS, VOLUMES, ResourcePath

Document = Mapping[str, object]
PatchKind = Literal["merge", "json", "strategic-merge"]
Propagation = Literal["Background", "Foreground", "Orphan"]

_CHOSEN_FOR_IT: Final = "pv.kubernetes.io/bound-by-controller"  # the volume, so that it may be freed again
_DRY_RUN: Final = "?dryRun=All"
FENCED: Final = "Fenced"  # the reason of a refusal that is our own


async def carry_out(server: ApiServer, write: Write, uid: str = "") -> Outcome:
    """Do what a plan says; with a uid, only to the very object that the plan is about."""
    match write:
        case Bind():
            return await bind(server, write.pod, write.node, uid)
        case Evict():
            with_job = write.action if write.with_job else None
            return await evict(server, write.pod, write.beneficiary, uid, with_job=with_job)
        case Resume():
            notes = {PROMISED_ROOM_ANNOTATION: to_json(write.room).decode()}
            return await _note(server, POD_GROUPS, write.pod_group, "", notes)
        case Nominate():
            return await nominate(server, write.pod, write.node, uid)
        case RemoveGate():
            return await remove_gate(server, write.pod, uid)
        case SelectNode() | BindVolume():
            return await _choose_volume(server, write, uid)
    assert_never(write)


async def _choose_volume(server: ApiServer, write: Selection, uid: str) -> Outcome:
    if isinstance(write, SelectNode):
        return await select_node(server, write.claim, write.node, uid)
    return await bind_volume(server, write)


async def bind(server: ApiServer, pod: str, node: str, uid: str = "") -> Outcome:
    """Bind a pod to a node."""
    namespace, name = PODS.split(pod)
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace, "uid": uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    outcome = _outcome(await _send(server, "POST", PODS.one(pod, "binding"), binding))
    if isinstance(outcome, Conflict) and outcome.may_be_ours:
        there = await get(server, PODS, pod)
        if isinstance(there, Done):
            found = from_json(Pod, there.body)
            if found.spec.node_name == node and uid in ("", found.metadata.uid):
                return there
    return outcome


async def evict(
    server: ApiServer,
    pod: str,
    beneficiary: str | None = None,
    uid: str = "",
    *,
    with_job: EvictingAction | None = None,
) -> Outcome:
    """Evict a pod; an annotation first names the pod group it is evicted for, for a later restart of Maar.

    One that is evicted with its Job is only annotated: the controllers suspend the Job, which deletes it.
    """
    if with_job is not None:
        notes = {EVICTED_FOR_ANNOTATION: beneficiary, EVICTED_WITH_JOB_ANNOTATION: with_job}
        return await _note(server, PODS, pod, uid, notes)
    if beneficiary:
        noted = await _note(server, PODS, pod, uid, {EVICTED_FOR_ANNOTATION: beneficiary})
        if not isinstance(noted, Done):
            return noted
    outcome = await _evict(server, pod, uid)
    if beneficiary and isinstance(outcome, Protected | Refused):
        await _note(server, PODS, pod, uid, {EVICTED_FOR_ANNOTATION: None})
    return outcome


async def nominate(server: ApiServer, pod: str, node: str, uid: str = "") -> Outcome:
    """Nominate a node for a pod; an empty name removes the nomination."""
    return await patch_status(server, PODS, pod, {"nominatedNodeName": node or None}, uid)


async def remove_gate(server: ApiServer, pod: str, uid: str = "") -> Outcome:
    """Remove the last scheduling gate of a pod, and note that its queue had one."""
    metadata = {**_only(uid)["metadata"], "annotations": {QUEUE_GATE: "true"}}
    return await patch(server, PODS, pod, {"metadata": metadata, "spec": {"schedulingGates": []}})


async def select_node(server: ApiServer, claim: str, node: str, uid: str = "") -> Outcome:
    """Annotate a claim with the node where its first consumer will run, for its provisioner."""
    return await _note(server, CLAIMS, claim, uid, {SELECTED_NODE_ANNOTATION: node})


async def bind_volume(server: ApiServer, write: BindVolume) -> Outcome:
    """Bind a volume to a claim, unless it was bound to another; Kubernetes then binds the claim."""
    namespace, name = CLAIMS.split(write.claim)
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
    metadata: dict[str, object] = {"annotations": {_CHOSEN_FOR_IT: "yes"}}
    if write.version:
        metadata["resourceVersion"] = write.version
    document = {"metadata": metadata, "spec": {"claimRef": {**reference, "uid": write.uid}}}
    return await patch(server, VOLUMES, write.volume, document)


async def get(server: ApiServer, place: ResourcePath, key: str) -> Outcome:
    """Read an object as it is now."""
    return _outcome(await _send(server, "GET", place.one(key)))


async def create(
    server: ApiServer, place: ResourcePath, key: str, document: Document, *, dry_run: bool = False
) -> Outcome:
    """Create an object; a conflict says that there is one of that name already."""
    namespace, _ = place.split(key)
    path = place.all(namespace)
    outcome = _outcome(await _send(server, "POST", f"{path}{_DRY_RUN}" if dry_run else path, document))
    if isinstance(outcome, Conflict) and outcome.may_be_ours:
        there = await get(server, place, key)
        if isinstance(there, Done) and _holds(plain(there.body), plain(to_json(document))):
            return there
    return outcome


async def ensure(
    server: ApiServer, place: ResourcePath, key: str, document: Document, update: Document | None
) -> Outcome:
    """Create an object, or change the one that is there where it has the same controller.

    One that somebody else has stays as it is, and this is refused; one that is being deleted is a conflict.
    """
    outcome = await create(server, place, key, document)
    if not isinstance(outcome, Conflict):
        return outcome
    there = await get(server, place, key)
    if not isinstance(there, Done):
        return there
    found, wanted = _metadata(plain(there.body)), _metadata(plain(to_json(document)))
    if found.get("deletionTimestamp"):
        return outcome
    if _controller(found) != _controller(wanted):
        sentence = (
            f"{place.plural}/{key} is there already and belongs to another; delete or rename one of them"
        )
        return Refused(HTTPStatus.CONFLICT, "AlreadyExists", sentence)
    if update is None:
        return there
    only = {"metadata": {"uid": found.get("uid")}}
    return await patch(server, place, key, {**update, **only})


async def replace(server: ApiServer, place: ResourcePath, key: str, document: Document) -> Outcome:
    """Put an object in the place of what is there; with a resource version, only of that one."""
    return _outcome(await _send(server, "PUT", place.one(key), document))


async def patch(
    server: ApiServer,
    place: ResourcePath,
    key: str,
    document: object,
    kind: PatchKind = "merge",
    subresource: Literal["", "status"] = "",
    *,
    dry_run: bool = False,
) -> Outcome:
    """Change part of an object; with a resource version or a uid in it, only of that one."""
    path = f"{place.one(key, subresource)}{_DRY_RUN if dry_run else ''}"
    return _outcome(await _send(server, "PATCH", path, document, f"application/{kind}-patch+json"))


async def patch_status(
    server: ApiServer, place: ResourcePath, key: str, status: Document, uid: str = ""
) -> Outcome:
    """Change part of the status of an object; nulls remove fields."""
    return await patch(server, place, key, {**_only(uid), "status": status}, subresource=place.status)


async def delete(
    server: ApiServer,
    place: ResourcePath,
    key: str,
    *,
    uid: str = "",
    resource_version: str = "",
    propagation: Propagation = "Background",
    dry_run: bool = False,
) -> Outcome:
    """Delete an object; with a uid or a resource version, only that one."""
    wanted = {"uid": uid or None, "resourceVersion": resource_version or None}
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": wanted,
        "propagationPolicy": propagation,
        "dryRun": ["All"] if dry_run else None,
    }
    return _outcome(await _send(server, "DELETE", place.one(key), options))


async def _evict(server: ApiServer, pod: str, uid: str) -> Outcome:
    namespace, name = PODS.split(pod)
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {"preconditions": {"uid": uid}} if uid else None,
    }
    answer = await _send(server, "POST", PODS.one(pod, "eviction"), eviction)
    if isinstance(answer, ApiError):
        is_pod_missing = answer.code == HTTPStatus.NOT_FOUND and answer.details.name == name
        if answer.code in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED) and not is_pod_missing:
            return await delete(server, PODS, pod, uid=uid)  # without evictions no budget can apply
        if answer.code == HTTPStatus.INTERNAL_SERVER_ERROR and not answer.reason:
            return Protected(answer.message)  # by more than one budget, which Kubernetes calls an error
    return _outcome(answer)


async def _note(
    server: ApiServer, place: ResourcePath, key: str, uid: str, annotations: Mapping[str, str | None]
) -> Outcome:
    only = _only(uid)
    return await patch(server, place, key, {"metadata": {**only["metadata"], "annotations": annotations}})


def _only(uid: str) -> dict[str, dict[str, object]]:
    """The part of a patch that makes it fail on another object of the same name."""
    return {"metadata": {"uid": uid} if uid else {}}


async def _send(
    server: ApiServer, method: str, path: str, document: object = None, content_type: str = JSON
) -> Done | ApiError | Unanswered | Refused:
    body = None if document is None else to_json(document)
    try:
        return Done(await server.request(method, path, None, body, content_type))
    except ApiError as error:
        return error
    except UnansweredError as error:
        return Unanswered(str(error))
    except FencedError as error:
        return Refused(0, FENCED, str(error))


def _outcome(answer: Done | ApiError | Unanswered | Refused) -> Outcome:
    if not isinstance(answer, ApiError):
        return answer
    if answer.code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return Gone(answer.message)
    if answer.code == HTTPStatus.CONFLICT or answer.is_about_another:
        return Conflict(answer.message, may_be_ours=answer.may_be_done)
    if answer.is_by_budget:
        return Protected(answer.message)
    if answer.is_passing:
        return Unanswered(answer.message)  # the error lasted for longer than it is retried
    return Refused(answer.code, answer.reason, answer.message, answer.details.causes)


def _holds(there: object, wanted: object) -> bool:
    """Whether an object has all that was asked for; defaults and status come on top."""
    if isinstance(wanted, dict):
        return isinstance(there, dict) and all(
            value is None or _holds(there.get(name), value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(there, list)
            and len(there) == len(wanted)
            and all(_holds(one, other) for one, other in zip(there, wanted, strict=True))
        )
    return there == wanted


def _metadata(document: object) -> dict[str, object]:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _controller(metadata: dict[str, object]) -> object:
    """The uid of the owner that controls an object."""
    owners = metadata.get("ownerReferences")
    named = [one for one in owners if isinstance(one, dict)] if isinstance(owners, list) else []
    return next((one.get("uid") for one in named if one.get("controller")), None)
