"""Which pods of a job that goes on are missing or too many, and new ones made from its template."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from maar.embedded.batch_jobs.model import (
    IGNORED_INDEX_FAILURES,
    INDEX,
    INDEX_FAILURES,
    TRACKING,
    BatchJob,
    JobPod,
)
from maar.embedded.batch_jobs.pod_failures import retry_at, wait
from maar.embedded.batch_jobs.tally import Tally, counts_as_failed
from maar.embedded.calls import metadata, text
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import part, parts, words

_MOST_AT_ONCE: Final = 500  # pods that one decision makes or deletes
_STARTED: Final = ("Pending", "Unknown", "Running")  # in the order in which pods are removed


@dataclass(frozen=True, slots=True)
class NewPod:
    """A pod to be made; with its index, and how often that has failed where it is retried on its own."""

    index: int | None = None
    failures: int | None = None
    ignored_failures: int = 0


class Work(NamedTuple):
    """What is done about the pods of a job that goes on."""

    delete: Sequence[JobPod] = ()
    create: Sequence[NewPod] = ()
    wake_at: float | None = None


def work_for(job: BatchJob, counted: Tally, now: float) -> Work:
    """Delete pods that are too many, or make those that are missing; as in Kubernetes, never both at once."""
    spec, active = job.spec, len(counted.active)
    if spec.completions is None:
        wanted = active if counted.succeeded else spec.parallelism
    else:
        wanted = max(0, min(spec.completions - counted.succeeded, spec.parallelism))
    if surplus := _surplus(job, counted, active - wanted):
        return Work(delete=surplus[:_MOST_AT_ONCE])
    missing = wanted - active - (len(counted.terminating) if spec.replaces_failed_only else 0)
    missing = min(missing, _MOST_AT_ONCE)
    if missing <= 0:
        return Work()
    if spec.backoff_limit_per_index is None and (after := retry_at(counted.pods)) > now:
        return Work(wake_at=after)
    if not spec.is_indexed:
        return Work(create=[NewPod()] * missing)
    return _indexed_work(job, counted, missing, now)


def _surplus(job: BatchJob, counted: Tally, excess: int) -> list[JobPod]:
    """Active pods to delete: those whose index is taken or wrong, then those that have come least far."""
    last_removed = sorted(counted.active, key=_progress, reverse=True)
    if not job.spec.is_indexed:
        return last_removed[len(last_removed) - excess :][::-1] if excess > 0 else []
    kept: dict[int, JobPod] = {}
    for pod in last_removed:
        if pod.index is not None and pod.index < (job.spec.completions or 0):
            kept.setdefault(pod.index, pod)
    kept = {index: pod for index, pod in kept.items() if index not in counted.completed}
    chosen, uids = list(kept.values()), {one.metadata.uid for one in kept.values()}
    removed = [one for one in counted.active if one.metadata.uid not in uids]
    more = excess - len(removed)
    return [*removed, *chosen[len(chosen) - more :][::-1]] if more > 0 else removed


def _progress(pod: JobPod) -> tuple[bool, int, bool, float]:
    phase, created = pod.status.phase, pod.metadata.creation_timestamp
    age = -created.timestamp() if created is not None else 0.0
    return bool(pod.spec.node_name), _STARTED.index(phase) if phase in _STARTED else 0, pod.is_ready, age


def _indexed_work(job: BatchJob, counted: Tally, missing: int, now: float) -> Work:
    """Make pods for the first indexes that have none; each waits by itself where it is retried so."""
    taken = {one.index for one in counted.active}
    if job.spec.replaces_failed_only:
        taken |= {one.index for one in counted.terminating}
    over = counted.completed | counted.failed_indexes
    create, later = list[NewPod](), list[float]()
    for index in range(job.spec.completions or 0):
        if len(create) + len(later) == missing:
            break
        if index in taken or index in over:
            continue
        new, at = _retried(job, index, counted.to_replace.get(index))
        if at > now:
            later.append(at)
        else:
            create.append(new)
    return Work(create=create, wake_at=min(later, default=None))


def _retried(job: BatchJob, index: int, before: JobPod | None) -> tuple[NewPod, float]:
    """The next pod of an index, and when it may be made."""
    if job.spec.backoff_limit_per_index is None:
        return NewPod(index), 0.0
    if before is None:
        return NewPod(index, 0), 0.0
    failures, ignored = before.index_failures
    if counts_as_failed(before, job):
        failures += 1
    else:
        ignored += 1
    is_deleted = before.metadata.deletion_timestamp is not None
    after = 0.0 if is_deleted else before.ended + wait(failures + ignored)
    return NewPod(index, failures, ignored), after


_LONGEST_PREFIX: Final = 58  # of a name that the server completes
_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_CONTAINERS: Final = ("initContainers", "containers")


def pod_from(job: Json, new: NewPod) -> Json:
    """A pod of a job, to be created."""
    meta, template = metadata(job), part(job, "spec", "template")
    name, made = text(meta, "name"), part(template, "metadata")
    finalizers = words(made, "finalizers")
    owner: Json = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": name,
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    pod_meta: Json = {
        "generateName": _prefix(name, new.index),
        "labels": {**part(made, "labels"), **_index_note(new)},
        "annotations": {**part(made, "annotations"), **_index_note(new), **_failure_notes(new)},
        "finalizers": finalizers if TRACKING in finalizers else [*finalizers, TRACKING],
        "ownerReferences": [owner],
    }
    spec = part(template, "spec")
    if new.index is not None:
        spec = {**spec, "hostname": f"{name}-{new.index}"}
        for kind in _CONTAINERS:
            if kind in spec:
                spec[kind] = [_with_index(one) for one in parts(spec, kind)]
    return {"metadata": pod_meta, "spec": spec}


def _prefix(name: str, index: int | None) -> str:
    end = "-" if index is None else f"-{index}-"
    return name[: _LONGEST_PREFIX - len(end)] + end


def _index_note(new: NewPod) -> dict[str, str]:
    return {} if new.index is None else {INDEX: str(new.index)}


def _failure_notes(new: NewPod) -> dict[str, str]:
    if new.failures is None:
        return {}
    ignored = {IGNORED_INDEX_FAILURES: str(new.ignored_failures)} if new.ignored_failures else {}
    return {INDEX_FAILURES: str(new.failures), **ignored}


def _with_index(container: Json) -> Json:
    variables = parts(container, "env")
    if any(variable.get("name") == _VARIABLE for variable in variables):
        return container
    source: Json = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*variables, {"name": _VARIABLE, "valueFrom": source}]}
