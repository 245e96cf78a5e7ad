"""The subresources of pods: binding and eviction."""

from http import HTTPStatus
from typing import Final

from maar.embedded.calls import Call, Deletion, metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError, Json, bad_request, conflict, not_found
from maar.embedded.kinds.budgets import spend
from maar.embedded.kinds.parts import part, parts, with_condition
from maar.embedded.kinds.pod_lifecycle import SCHEDULED
from maar.embedded.lifecycle import check_preconditions, deletion_of

_OUTSIDE_BUDGETS: Final = frozenset({"Pending", "Succeeded", "Failed"})


def bind(cluster: Cluster, namespace: str, name: str, binding: Json, call: Call) -> Json:
    """Assign a pod to a node; schedulers do this all day, so the rest of the pod is not looked at again."""
    wanted, node = metadata(binding), _node(name, binding)
    only = Deletion(uid=text(wanted, "uid"), resource_version=text(wanted, "resourceVersion"))

    def assigned(pod: Json) -> Json:
        meta, spec = metadata(pod), part(pod, "spec")
        check_preconditions("pods", name, meta, only)
        if problem := _unassignable(name, meta, spec):
            raise conflict("pods/binding", name, problem)
        for what in ("annotations", "labels"):
            if more := part(wanted, what):
                meta = {**meta, what: {**part(meta, what), **more}}
        status = with_condition(part(pod, "status"), {"type": SCHEDULED, "status": "True"}, cluster.now())
        status.pop("nominatedNodeName", None)
        return {**pod, "metadata": meta, "spec": {**spec, "nodeName": node}, "status": status}

    cluster.rewrite("pods", namespace, name, assigned, keep=not call.dry_run)
    return _success()


def evict(cluster: Cluster, namespace: str, name: str, eviction: Json, call: Call) -> Json:
    """Delete a pod if its disruption budget allows it; finished and pending pods need no budget."""
    if text(metadata(eviction), "name") not in ("", name):
        raise bad_request("name in URL does not match name in Eviction object")
    options = part(eviction, "deleteOptions")
    how = deletion_of({name: one for name, one in options.items() if name != "preconditions"})
    with cluster.store.transaction(keep=not (call.dry_run or options.get("dryRun"))):
        pod = cluster.read("pods", namespace, name)
        if pod is None:
            raise not_found("pods", name)
        _check_meant(name, metadata(pod), part(options, "preconditions"))
        going = "deletionTimestamp" in metadata(pod)
        if not going and part(pod, "status").get("phase") not in _OUTSIDE_BUDGETS:
            spend(cluster, pod)
        cluster.rewrite("pods", namespace, name, lambda found: _marked(found, cluster.now()))
        cluster.delete("pods", namespace, name, how, call)
    return _success()


def _node(name: str, binding: Json) -> str:
    if text(metadata(binding), "name") not in ("", name):
        raise bad_request("name in URL does not match name in Binding object")
    target = part(binding, "target")
    problem = ""
    if (kind := text(target, "kind")) not in ("", "Node"):
        problem = f'target.kind: Unsupported value: "{kind}": supported values: "Node", "<empty>"'
    elif not text(target, "name"):
        problem = "target.name: Required value"
    if problem:
        raise ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "", problem)
    return text(target, "name")


def _unassignable(name: str, meta: Json, spec: Json) -> str:
    if "deletionTimestamp" in meta:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if node := text(spec, "nodeName"):
        return f'pod {name} is already assigned to node "{node}"'
    if parts(spec, "schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def _check_meant(name: str, meta: Json, only: Json) -> None:
    for field, label, change in (
        ("uid", "UID", "deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", "modified"),
    ):
        wanted, found = text(only, field), text(meta, field)
        if wanted not in ("", found):
            raise conflict(
                "Pod",
                name,
                f"the {label} in the precondition ({wanted}) does not match the {label} in record ({found})."
                f" The object might have been {change}",
            )


def _marked(pod: Json, now: str) -> Json:
    evicted: Json = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    return {**pod, "status": with_condition(part(pod, "status"), evicted, now)}


def _success() -> Json:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
