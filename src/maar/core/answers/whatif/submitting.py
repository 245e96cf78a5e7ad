"""Objects that are submitted, with what controllers make of them at once: pod groups, and pods of jobs.

The pods of Volcano's jobs are made when their group is admitted, which is the future's to know
(`pods_to_come.py`); those of Kubernetes' own jobs are there at once.
"""

from collections.abc import Mapping, Sequence
from typing import Final, cast

import msgspec

from maar.core.admission.plain import at, text_at
from maar.core.answers.whatif.known_objects import BadChangeError, KnownObjects
from maar.core.controllers.group_template import Statements, document, member, statements_of_owner
from maar.core.controllers.group_template import wanted_group as wanted_for_pods
from maar.core.controllers.jobs.dependencies import waiting_tasks
from maar.core.controllers.jobs.group import group_document, group_key, wanted_group
from maar.core.model.job import Job
from maar.core.model.kinds import KINDS, BadObjectError, from_document, kind_of
from maar.core.model.metadata import Metadata, Object
from maar.core.model.misspelt_kinds import misspelt
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.model.unread import unknown_fields
from maar.core.model.workload import BatchJob

Json = dict[str, object]

_WORK: Final = (Queue, PodGroup, Job, Pod)  # in this order, after everything else
_KNOWN: Final = ", ".join(sorted(kind.__name__ for kind in KINDS))
_MOST_PODS: Final = 100_000


def submit(known: KnownObjects, documents: Sequence[tuple[str, object]]) -> list[str]:
    """Apply documents, queues before work; gives warnings about fields that nobody reads."""
    warnings = list[str]()
    placed = [(place, *_read(place, one)) for place, one in documents]
    for place, kind, one in sorted(placed, key=lambda each: _order(each[1])):
        if kind is not BatchJob:
            title = f"{kind.kind_name()} {text_at(one, 'metadata', 'name')}"
            warnings += [f"{place}: {title}: unknown field {each}" for each in unknown_fields(kind, one)]
        _submit(known, place, kind, one)
    return warnings


def _order(kind: type[Object]) -> int:
    return _WORK.index(kind) if kind in _WORK else len(_WORK) if kind is BatchJob else -1


def _read(place: str, one: object) -> tuple[type[Object], Json]:
    if not isinstance(one, dict) or "kind" not in one:
        raise BadChangeError(f"{place}: not an object of Kubernetes: it has no kind")
    version, name = str(one.get("apiVersion", "")), str(one["kind"])
    is_batch = (version, name) == (BatchJob.api_version, BatchJob.kind)
    kind = BatchJob if is_batch else kind_of(version, name)
    if kind is None:
        why = misspelt(version, name) or f"{name} of {version or 'no apiVersion'} changes no decision"
        raise BadChangeError(f"{place}: {why}; submit one of {_KNOWN}, or a Job of batch/v1")
    return kind, _with_name(place, kind, one)


def _with_name(place: str, kind: type[Object], one: Json) -> Json:
    metadata = at(one, "metadata")
    if isinstance(metadata, dict) and not metadata.get("name") and text_at(metadata, "generateName"):
        metadata = {**metadata, "name": f"{metadata['generateName']}new"}
    if not text_at(metadata, "name"):
        raise BadChangeError(f"{place}: {kind.kind_name()}: metadata.name is missing; write one")
    return {**one, "metadata": metadata}


def _submit(known: KnownObjects, place: str, kind: type[Object], one: Json) -> None:
    metadata = cast(Json, one["metadata"])
    name, namespace = str(metadata["name"]), text_at(metadata, "namespace")
    if kind in (PodGroup, Job, Pod):
        if known.get(kind, kind.key_of(namespace, name)) is not None:
            raise BadChangeError(
                f"{place}: {kind.kind_name()} {kind.key_of(namespace, name)} is there already; "
                "give it another name, or delete the other first"
            )
        one = {**one, "metadata": {**metadata, "uid": "new"}, "status": {}}
    if kind is BatchJob:
        _submit_batch_job(known, place, one)
        return
    made = known.admit(place, kind, one)
    if isinstance(made, Job):
        _make_group_of_job(known, place, made)
    elif isinstance(made, Pod):
        _make_group_of_pod(known, place, made, {})


def _make_group_of_job(known: KnownObjects, place: str, job: Job) -> None:
    classes = known.of_kind(PriorityClass).values()
    values = {one.key: one.value for one in classes if isinstance(one, PriorityClass)}
    wanted = wanted_group(job, tuple(waiting_tasks(job, [])), values)
    if known.get(PodGroup, group_key(job)) is None:
        known.admit(place, PodGroup, group_document(job, wanted))


def _make_group_of_pod(known: KnownObjects, place: str, pod: Pod, owner: Statements) -> None:
    """Make the group of a pod that came without one, as the controller of missing groups does."""
    if pod.spec.scheduler_name not in known.options.scheduler_names:
        return
    annotations = pod.metadata.annotations
    if annotations.get(GROUP_ANNOTATION):
        return
    uid = pod.metadata.uid if pod.metadata.owner_references else f"new-{pod.metadata.name}"
    pod = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=uid))
    one, namespace = member(pod), pod.metadata.namespace or "default"
    if known.get(PodGroup, one.group_key) is None:
        known.admit(place, PodGroup, document(one, namespace, wanted_for_pods(one, owner)))
    named = {**annotations, GROUP_ANNOTATION: one.group}
    known.put(msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=named)))


def _submit_batch_job(known: KnownObjects, place: str, job: Json) -> None:
    """The pods of a Job of batch/v1 that run side by side, and their group."""
    metadata, spec = cast(Json, job["metadata"]), at(job, "spec")
    name, template = str(metadata["name"]), at(spec, "template")
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        raise BadChangeError(f"{place}: Job {name}: spec.template.spec is missing; write its containers")
    wanted = _number(place, name, spec, "parallelism", 1)
    count = min(wanted, _number(place, name, spec, "completions", wanted))
    if at(spec, "suspend") is True:
        return
    try:
        owner = from_document(BatchJob, {"kind": BatchJob.__name__, "metadata": metadata})
    except BadObjectError as error:
        raise BadChangeError(f"{place}: Job {name}: {error}") from None
    statements = statements_of_owner(owner.metadata)
    for index in range(count):
        pod = known.admit(place, Pod, _pod(owner.metadata, template, index))
        _make_group_of_pod(known, place, cast(Pod, pod), statements)


def _number(place: str, name: str, spec: object, part: str, default: int) -> int:
    value = at(spec, part)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_PODS:
        raise BadChangeError(
            f"{place}: Job {name}: spec.{part} is {value!r}; write a whole number up to {_MOST_PODS}"
        )
    return value


def _pod(owner: Metadata, template: Mapping[str, object], index: int) -> Json:
    given = template.get("metadata")
    reference = {
        "apiVersion": BatchJob.api_version,
        "kind": BatchJob.kind,
        "name": owner.name,
        "uid": f"new-{owner.name}",
        "controller": True,
    }
    metadata: Json = {
        **(given if isinstance(given, dict) else {}),
        "name": f"{owner.name}-{index}",
        "namespace": owner.namespace or "default",
        "ownerReferences": [reference],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
