"""Pods: what the server fills in and keeps to, binding to a node, and eviction."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from maar.embedded.calls import Call, Deletion, metadata, section, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError, Json, bad_request, conflict, forbidden, not_found
from maar.embedded.kinds.amounts import Amounts, add, amounts
from maar.embedded.kinds.budgets import spend
from maar.embedded.kinds.parts import number, part, parts, with_condition
from maar.embedded.kinds.priorities import PriorityClasses
from maar.embedded.kinds.quotas import Counted, Ledger
from maar.embedded.kinds.usage import FINISHED
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


SCHEDULED: Final = "PodScheduled"

_DECIDED: Final = {
    "spec": ("priority", "preemptionPolicy", "serviceAccountName", "serviceAccount"),
    "status": ("qosClass",),
}
_FOR_QUALITY: Final = ("cpu", "memory")


class Pods(Counted):
    """A pod gets a priority, an account and a quality of service; its node ends it before it is deleted."""

    def __init__(self, ledger: Ledger, classes: PriorityClasses) -> None:
        super().__init__(ledger, "pods")
        self._classes = classes

    def before_create(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Fill in account and priority; start pending, whatever status the client sent."""
        del call
        spec = section(value, "spec")
        account = text(spec, "serviceAccountName") or text(spec, "serviceAccount") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = account
        self._prioritise(cluster, text(metadata(value), "name"), spec)
        status: Json = {"phase": "Pending", "qosClass": _quality_of_service(spec)}
        if parts(spec, "schedulingGates"):
            gated: Json = {
                "type": SCHEDULED,
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
            status = with_condition(status, gated, cluster.now())
        value["status"] = status

    def before_update(self, cluster: Cluster, old: Json, value: Json, subresource: str, call: Call) -> None:
        """Keep what was decided when the pod came and a client may have left out."""
        del cluster, call
        where = "status" if subresource == "status" else "spec"
        decided, kept = part(old, where), section(value, where)
        for name in _DECIDED[where]:
            if kept.get(name) is None and name in decided:
                kept[name] = decided[name]

    def grace(self, value: Json, deletion: Deletion) -> int:
        """Seconds for the node to end the pod; none where no node has it or where it has ended."""
        spec = part(value, "spec")
        if not text(spec, "nodeName") or part(value, "status").get("phase") in FINISHED:
            return 0
        seconds = number(spec, "terminationGracePeriodSeconds")
        if deletion.grace is not None:
            seconds = deletion.grace
        return seconds if seconds >= 0 else 1

    def _prioritise(self, cluster: Cluster, name: str, spec: Json) -> None:
        wanted = text(spec, "priorityClassName")
        if (found := self._classes.named(cluster, wanted)) is None:
            raise forbidden("pods", name, f"no PriorityClass with name {wanted} was found")
        for field, what, given in (
            ("priority", "integer value of priority", found.value),
            ("preemptionPolicy", "string value of PreemptionPolicy", found.preemption_policy),
        ):
            if (provided := spec.get(field)) not in (None, given):
                raise forbidden(
                    "pods",
                    name,
                    f"the {what} ({provided}) must not be provided in pod spec; priority admission controller"
                    f" computed {given} from the given PriorityClass name",
                )
            spec[field] = given
        if found.class_name:
            spec["priorityClassName"] = found.class_name


def _quality_of_service(spec: Json) -> str:
    """Guaranteed where all limits are requested, best effort where nothing is asked for, else burstable."""
    holders: Iterable[Json] = (*parts(spec, "containers"), *parts(spec, "initContainers"))
    if "resources" in spec:
        holders = (spec,)
    requests: Amounts = {}
    limits: Amounts = {}
    guaranteed = True
    for holder in holders:
        limited = _some(holder, "limits")
        guaranteed = guaranteed and len(limited) == len(_FOR_QUALITY)
        add(requests, _some(holder, "requests"))
        add(limits, limited)
    if not requests and not limits:
        return "BestEffort"
    equal = {name: one.nanos for name, one in requests.items()} == {
        name: one.nanos for name, one in limits.items()
    }
    return "Guaranteed" if guaranteed and equal else "Burstable"


def _some(holder: Json, what: str) -> Amounts:
    asked = part(holder, "resources", what)
    some = amounts({name: asked[name] for name in _FOR_QUALITY if name in asked})
    return {name: amount for name, amount in some.items() if amount.nanos > 0}
