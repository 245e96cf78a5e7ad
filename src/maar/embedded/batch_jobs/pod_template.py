"""The pods of a job, made from its template."""

from typing import Final

from maar.embedded.batch_jobs.model import IGNORED_INDEX_FAILURES, INDEX, INDEX_FAILURES, TRACKING
from maar.embedded.batch_jobs.pod_work import NewPod
from maar.embedded.calls import metadata, text
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import part, parts, words

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
    if any(one.get("name") == _VARIABLE for one in variables):
        return container
    source: Json = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*variables, {"name": _VARIABLE, "valueFrom": source}]}
