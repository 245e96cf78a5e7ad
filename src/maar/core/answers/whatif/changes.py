"""Changes that one may ask about, and what they make of the objects of a cluster.

Every change is judged by the rules of admission, so that one that a cluster would refuse is refused
here with the same sentence. What controllers do at once belongs to a change: pods of a drained node
that have an owner are made again, groups follow their jobs. What the scheduler makes of it is not
decided here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

import msgspec

from maar.core.admission.plain import cut
from maar.core.admission.request import Options
from maar.core.answers.whatif.field_paths import BadFieldError, find_field, read_value, with_field
from maar.core.answers.whatif.known_objects import (
    BadChangeError,
    KnownObjects,
    document_of,
    missing,
    read_field_target,
)
from maar.core.answers.whatif.submitting import submit
from maar.core.controllers.group_template import MADE_ANNOTATION
from maar.core.controllers.jobs.group import group_key, group_patch, wanted_group
from maar.core.model.affinity import Toleration
from maar.core.model.events import Event
from maar.core.model.job import Job
from maar.core.model.kinds import BadObjectError, from_document
from maar.core.model.metadata import Metadata, Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.model.unread import unknown_fields
from maar.core.simulation.cluster import resubmitted

Json = dict[str, object]

_MIRROR: Final = "kubernetes.io/config.mirror"  # on pods that a kubelet runs by itself
_OF_JOB: Final = ("minMember", "minTaskMember", "priorityClassName", "minResources")


class SetField(NamedTuple):
    """Set a field: `queue/research.weight`; an empty value takes it out."""

    target: str
    value: object


class AddNodes(NamedTuple):
    """Add nodes."""

    nodes: tuple[Node, ...]


class DrainNode(NamedTuple):
    """Cordon a node and evict its pods, but those of DaemonSets and of the kubelet itself."""

    name: str


class SubmitDocument(NamedTuple):
    """Apply an object as a manifest has it: a job, a pod group, a pod, a queue, or what they need."""

    place: str  # where it stands, for messages
    document: object


class DeleteObject(NamedTuple):
    """Delete a job or a pod group with its pods, a pod, a queue or a node: `job/namespace/name`."""

    target: str


Change = SetField | AddNodes | DrainNode | SubmitDocument | DeleteObject


def field_change(text: str) -> SetField:
    """Read `queue/research.weight=3`."""
    target, equals, value = text.partition("=")
    if not equals:
        raise BadChangeError(f"{text}: it has no value; write {text}=VALUE, such as queue/research.weight=3")
    read_field_target(target)
    return SetField(target, value)


def in_order(
    nodes: tuple[Node, ...] = (),
    fields: Iterable[SetField] = (),
    drain: Iterable[str] = (),
    delete: Iterable[str] = (),
    submitted: Iterable[SubmitDocument] = (),
) -> list[Change]:
    """Changes in the order in which they are made, whichever way they were asked for."""
    added = (AddNodes(nodes),) if nodes else ()
    drains = (DrainNode(name.removeprefix("node/")) for name in drain)
    return [*added, *fields, *drains, *map(DeleteObject, delete), *submitted]


@dataclass
class ChangedObjects:
    """The objects after the changes, and what the changes themselves do to pods that run."""

    objects: tuple[Object, ...] = ()
    events: list[Event] = field(default_factory=list)  # how the objects came to differ
    evicted: dict[str, str] = field(default_factory=dict)  # by pod, the change that evicts it
    warnings: list[str] = field(default_factory=list)


def apply(objects: Iterable[Object], changes: Iterable[Change], options: Options) -> ChangedObjects:
    """Make changes, one after the other; one that cannot be made is a BadChangeError."""
    known, changed = KnownObjects(objects, options), ChangedObjects()
    listed = list(changes)
    for one in (each for each in listed if not isinstance(each, SubmitDocument)):
        match one:
            case SetField():
                _set_field(known, one)
            case AddNodes():
                _add_nodes(known, one.nodes)
            case DrainNode():
                _drain(known, one.name, changed)
            case DeleteObject():
                _delete(known, one.target, changed)
    documents = [(one.place, one.document) for one in listed if isinstance(one, SubmitDocument)]
    changed.warnings += submit(known, documents)
    changed.objects, changed.events = tuple(known.all()), known.events()
    return changed


# --- fields


def _set_field(known: KnownObjects, change: SetField) -> None:
    kind, key, path = known.find_field(change.target)
    stored = known.of_kind(kind)[key]
    if isinstance(stored, Pod):
        _change_pod(known, stored, path, change)
        return
    place = f"{change.target}={cut(str(change.value))}"
    try:
        found = find_field(kind, path)
    except BadFieldError as error:
        raise BadChangeError(f"{place}: {error}") from None
    if isinstance(stored, PodGroup):
        _check_owner(stored, found.keys, place)
    value = None if change.value in ("", None) else read_value(found, change.value)
    document = with_field(document_of(stored), found.keys, value)
    if unknown := unknown_fields(kind, document):
        raise BadChangeError(*(f"{place}: {kind.kind_name()} {key}: unknown field {one}" for one in unknown))
    try:
        from_document(kind, document)
    except BadObjectError as error:
        if kind not in (Queue, PodGroup, Job):  # which admission judges, with the same sentence as a cluster
            raise BadChangeError(f"{place}: {kind.kind_name()} {key}: {error}") from None
    made = known.admit(place, kind, document)
    if isinstance(made, Job):
        _follow_job(known, made)


def _change_pod(known: KnownObjects, pod: Pod, path: str, change: SetField) -> None:
    """All that the API server lets somebody change of a pod and that a decision asks for."""
    field = path.removeprefix("spec.")
    if field == "schedulingGates" and change.value in ("", None):
        spec = msgspec.structs.replace(pod.spec, scheduling_gates=())
    elif field == "tolerations":
        spec = msgspec.structs.replace(pod.spec, tolerations=_tolerations(pod, change))
    else:
        raise BadChangeError(
            f"{change.target}: pods cannot be changed, but for their gates, which "
            f"pod/{pod.key}.schedulingGates= removes, and for more tolerations; delete it, or change its "
            "pod group"
        )
    known.put(msgspec.structs.replace(pod, spec=spec))


def _tolerations(pod: Pod, change: SetField) -> tuple[Toleration, ...]:
    """The tolerations that a pod is to have: the API server lets nobody take one away."""
    value = read_value(find_field(Pod, "tolerations"), change.value)
    try:
        found = msgspec.convert(value, tuple[Toleration, ...])
    except msgspec.ValidationError as error:
        raise BadChangeError(f"{change.target}: {error}") from None
    if missing_ones := [one.key or "all taints" for one in pod.spec.tolerations if one not in found]:
        raise BadChangeError(
            f"{change.target}: tolerations of a pod cannot be taken away; the value leaves out that of "
            f"{', '.join(missing_ones)}"
        )
    return found


def _check_owner(group: PodGroup, keys: tuple[str, ...], place: str) -> None:
    """Refuse to change what a controller would change back."""
    owner = next((one for one in group.metadata.owner_references if one.controller), None)
    is_made = MADE_ANNOTATION in group.metadata.annotations
    if (
        owner is not None
        and (is_made or owner.kind == "Job")
        and keys[:1] == ("spec",)
        and keys[1] in _OF_JOB
    ):
        namespace = group.metadata.namespace or "default"
        raise BadChangeError(
            f"{place}: pod group {group.key} follows {owner.kind or 'its owner'} {owner.name}, which would "
            f"set {keys[1]} back; set it on the job (job/{namespace}/{owner.name}.FIELD), or delete it and "
            "submit another"
        )


def _follow_job(known: KnownObjects, job: Job) -> None:
    """Let the group of a job be as its controller would make it."""
    group = known.get(PodGroup, group_key(job))
    if isinstance(group, PodGroup):
        patch = cast(Json, group_patch(group, wanted_group(job, (), priorities(known))).get("spec", {}))
        document = document_of(group)
        for name, value in patch.items():
            document = with_field(document, ("spec", name), value)
        known.put(from_document(PodGroup, document))


def priorities(known: KnownObjects) -> dict[str, int]:
    """The value of each priority class."""
    classes = known.of_kind(PriorityClass).values()
    return {one.key: one.value for one in classes if isinstance(one, PriorityClass)}


# --- nodes


def _add_nodes(known: KnownObjects, nodes: tuple[Node, ...]) -> None:
    for node in nodes:
        if known.get(Node, node.key) is not None:
            raise BadChangeError(f"add nodes: there is a node {node.key} already; give them other names")
        known.put(node)


def _drain(known: KnownObjects, name: str, changed: ChangedObjects) -> None:
    _, key = known.find(f"node/{name}")
    node = cast(Node, known.of_kind(Node)[key])
    known.put(msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, unschedulable=True)))
    _empty(known, key, "drain", changed)


def _empty(known: KnownObjects, node: str, how: str, changed: ChangedObjects) -> None:
    """Let the pods of a node go: those that Maar schedules are made again, and wait."""
    for one in [each for each in known.of_kind(Pod).values() if _is_on(each, node)]:
        pod = cast(Pod, one)
        if not _comes_with_node(pod):
            _remove_pod(known, pod, how, changed)
        elif how != "drain":
            known.remove(Pod, pod.key)


def _remove_pod(known: KnownObjects, pod: Pod, how: str, changed: ChangedObjects) -> None:
    """Let a pod go; its controller makes one that Maar schedules again."""
    is_ours = pod.spec.scheduler_name in known.options.scheduler_names
    is_live = not pod.is_finished and not pod.is_terminating
    if is_ours and is_live and pod.spec.node_name and how:
        changed.evicted[pod.key] = how
    if is_ours and is_live and (how == "drain" or _controller(pod.metadata)):
        known.put(resubmitted(pod))
    else:
        known.remove(Pod, pod.key)


def _is_on(one: Object, node: str) -> bool:
    return isinstance(one, Pod) and one.spec.node_name == node


def _comes_with_node(pod: Pod) -> bool:
    """Whether a pod is there with its node, so that a drain leaves it where it is."""
    is_daemon = any(one.kind == "DaemonSet" for one in pod.metadata.owner_references)
    return is_daemon or _MIRROR in pod.metadata.annotations


def _controller(metadata: Metadata) -> str:
    return next((one.name for one in metadata.owner_references if one.controller), "")


# --- deletion


def _delete(known: KnownObjects, target: str, changed: ChangedObjects) -> None:
    if target.partition("/")[0].lower() in ("job", "jobs", "vcjob", "vj"):
        _delete_job(known, target)
        return
    kind, key = known.find(target)
    one = known.of_kind(kind)[key]
    if isinstance(one, Queue):
        known.check_deletion(target, one)
    if isinstance(one, Pod):
        _remove_pod(known, one, "", changed)
        return
    if isinstance(one, PodGroup):
        if owner := _controller(one.metadata):
            namespace = one.metadata.namespace or "default"
            raise BadChangeError(
                f"{target}: its owner {owner} would make it again; delete that: job/{namespace}/{owner}"
            )
        _delete_group(known, key)
    known.remove(kind, key)
    if isinstance(one, Node):
        _empty(known, key, "deletion of its node", changed)


def _delete_job(known: KnownObjects, target: str) -> None:
    """A job of Volcano or of Kubernetes, by name: the groups that it owns say that it is there."""
    name = target.partition("/")[2]
    key = Job.key_of("", name) if "/" not in name else name
    owned = [
        one.key
        for one in known.of_kind(PodGroup).values()
        if f"{one.metadata.namespace or 'default'}/{_controller(one.metadata)}" == key
    ]
    if not owned and known.get(Job, key) is None:
        jobs = {
            f"{one.metadata.namespace or 'default'}/{_controller(one.metadata)}"
            for one in known.of_kind(PodGroup).values()
            if _controller(one.metadata)
        }
        raise missing(target, "job", key, sorted({*jobs, *known.of_kind(Job)}))
    for group in owned:
        _delete_group(known, group)
        known.remove(PodGroup, group)
    known.remove(Job, key)


def _delete_group(known: KnownObjects, group: str) -> None:
    for pod in known.pods_of(group):
        known.remove(Pod, pod.key)
