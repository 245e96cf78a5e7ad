"""Pods: what the server sets when they are created, changed and deleted."""

from collections.abc import Iterable
from typing import Final

from maar.embedded.calls import Call, Deletion, metadata, section, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json, forbidden
from maar.embedded.kinds.amounts import Amounts, add, amounts
from maar.embedded.kinds.parts import number, part, parts, with_condition
from maar.embedded.kinds.priorities import PriorityClasses
from maar.embedded.kinds.quotas import Counted, Ledger
from maar.embedded.kinds.usage import FINISHED

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
