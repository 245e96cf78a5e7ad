"""What `kubectl get` shows of the built-in kinds."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from maar.core.model.durations import age
from maar.embedded.calls import metadata, text
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import number, part, parts
from maar.embedded.resources import Column

_NONE: Final = "<none>"
_JOB_STATES: Final = (
    "Complete", "Failed", "Terminating", "Suspended", "FailureTarget", "SuccessCriteriaMet",
)  # fmt: skip


class Rows(NamedTuple):
    """The columns of a kind behind the name, and how they are filled at a time."""

    columns: tuple[Column, ...]
    cells: Callable[[Json, float], list[object]]


def _age(value: Json, now: float) -> str:
    return age(text(metadata(value), "creationTimestamp"), now)


def _amounts(found: Json) -> str:
    return ", ".join(f"{name}: {amount}" for name, amount in sorted(found.items()))


def _pod(value: Json, now: float) -> list[object]:
    spec, status = part(value, "spec"), part(value, "status")
    statuses = parts(status, "containerStatuses")
    ready = sum(1 for one in statuses if one.get("ready") is True)
    restarts = sum(number(one, "restartCount") for one in statuses)
    ips = text(status, "podIP") or _NONE
    gates = parts(spec, "readinessGates")
    return [
        f"{ready}/{len(parts(spec, 'containers'))}", _pod_status(value, statuses), str(restarts),
        _age(value, now), ips, text(spec, "nodeName") or _NONE, text(status, "nominatedNodeName") or _NONE,
        f"0/{len(gates)}" if gates else _NONE,
    ]  # fmt: skip


def _pod_status(value: Json, statuses: list[Json]) -> str:
    if "deletionTimestamp" in metadata(value):
        return "Terminating"
    status, spec = part(value, "status"), part(value, "spec")
    if reason := text(status, "reason"):
        return reason
    for state in (part(one, "state") for one in statuses):
        for phase in ("waiting", "terminated"):
            if reason := text(part(state, phase), "reason"):
                return reason
    if text(status, "phase") == "Pending" and parts(spec, "schedulingGates"):
        return "SchedulingGated"
    return text(status, "phase")


def _node(value: Json, now: float) -> list[object]:
    status = part(value, "status")
    ready = next(
        (condition for condition in parts(status, "conditions") if condition.get("type") == "Ready"), {}
    )
    state = {"True": "Ready", "False": "NotReady"}.get(text(ready, "status"), "Unknown")
    if part(value, "spec").get("unschedulable") is True:
        state += ",SchedulingDisabled"
    prefix = "node-role.kubernetes.io/"
    labels = part(value, "metadata", "labels")
    roles = ",".join(sorted(name.removeprefix(prefix) for name in labels if name.startswith(prefix)))
    facts = part(status, "nodeInfo")
    addresses = {text(address, "type"): text(address, "address") for address in parts(status, "addresses")}
    return [
        state, roles or _NONE, _age(value, now), text(facts, "kubeletVersion"),
        addresses.get("InternalIP", _NONE), addresses.get("ExternalIP", _NONE),
        text(facts, "osImage") or "<unknown>", text(facts, "kernelVersion") or "<unknown>",
        text(facts, "containerRuntimeVersion") or "<unknown>",
    ]  # fmt: skip


def _event(value: Json, now: float) -> list[object]:
    about, source = part(value, "involvedObject"), part(value, "source")
    last = text(value, "lastTimestamp") or text(value, "eventTime")
    first = text(value, "firstTimestamp") or text(value, "eventTime")
    return [
        age(last, now), text(value, "type"), text(value, "reason"),
        f"{text(about, 'kind').lower()}/{text(about, 'name')}", text(about, "fieldPath"),
        text(source, "component") or text(value, "reportingComponent"), text(value, "message").strip(),
        age(first, now), number(value, "count") or 1, text(metadata(value), "name"),
    ]  # fmt: skip


def _quota(value: Json, now: float) -> list[object]:
    hard, used = part(value, "spec", "hard"), part(value, "status", "used")
    amounts = [f"{name}: {used.get(name, 0)}/{hard[name]}" for name in sorted(hard)]
    limits = [amount for amount in amounts if amount.startswith("limits.")]
    return [
        ", ".join(amount for amount in amounts if amount not in limits),
        ", ".join(limits),
        _age(value, now),
    ]


def _volume(value: Json, now: float) -> list[object]:
    spec, claim = part(value, "spec"), part(value, "spec", "claimRef")
    return [
        part(spec, "capacity").get("storage", ""), _modes(spec), text(spec, "persistentVolumeReclaimPolicy"),
        text(part(value, "status"), "phase"),
        f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim else "",
        text(spec, "storageClassName"), text(part(value, "status"), "reason"), _age(value, now),
    ]  # fmt: skip


def _claim(value: Json, now: float) -> list[object]:
    spec, status = part(value, "spec"), part(value, "status")
    bound = text(spec, "volumeName")
    return [
        text(status, "phase"), bound, part(status, "capacity").get("storage", "") if bound else "",
        _modes(spec) if bound else "", text(spec, "storageClassName"), _age(value, now),
    ]  # fmt: skip


def _modes(spec: Json) -> str:
    short = {
        "ReadWriteOnce": "RWO",
        "ReadOnlyMany": "ROX",
        "ReadWriteMany": "RWX",
        "ReadWriteOncePod": "RWOP",
    }
    found = spec.get("accessModes")
    return ",".join(short.get(str(one), str(one)) for one in found) if isinstance(found, list) else ""


def _service(value: Json, now: float) -> list[object]:
    spec = part(value, "spec")
    ports = ",".join(f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in parts(spec, "ports"))
    return [
        text(spec, "type"), text(spec, "clusterIP") or _NONE, _NONE, ports or _NONE, _age(value, now),
        _amounts(part(spec, "selector")).replace(": ", "=").replace(" ", "") or _NONE,
    ]  # fmt: skip


def _budget(value: Json, now: float) -> list[object]:
    spec, status = part(value, "spec"), part(value, "status")
    return [
        str(spec.get("minAvailable", "N/A")), str(spec.get("maxUnavailable", "N/A")),
        number(status, "disruptionsAllowed"), _age(value, now),
    ]  # fmt: skip


def _job(value: Json, now: float) -> list[object]:
    spec, status = part(value, "spec"), part(value, "status")
    conditions = {
        text(condition, "type")
        for condition in parts(status, "conditions")
        if condition.get("status") == "True"
    }
    if "deletionTimestamp" in metadata(value):
        conditions.add("Terminating")
    completions, parallelism = spec.get("completions"), number(spec, "parallelism")
    wanted = completions if completions is not None else "1"
    if completions is None and parallelism > 1:
        wanted = f"1 of {parallelism}"
    start, end = text(status, "startTime"), text(status, "completionTime")
    until = datetime.fromisoformat(end).timestamp() if end else now
    made = part(spec, "template", "spec")
    return [
        next((one for one in _JOB_STATES if one in conditions), "Running"),
        f"{number(status, 'succeeded')}/{wanted}", age(start, until) if start else "", _age(value, now),
        ",".join(text(container, "name") for container in parts(made, "containers")),
        ",".join(text(container, "image") for container in parts(made, "containers")),
        _amounts(part(spec, "selector", "matchLabels")).replace(": ", "=").replace(" ", "") or _NONE,
    ]  # fmt: skip


def _replicas(value: Json, now: float) -> list[object]:
    spec, status = part(value, "spec"), part(value, "status")
    return [
        number(spec, "replicas"), number(status, "replicas"), number(status, "readyReplicas"),
        _age(value, now),
    ]  # fmt: skip


def _stateful(value: Json, now: float) -> list[object]:
    ready = number(part(value, "status"), "readyReplicas")
    return [f"{ready}/{number(part(value, 'spec'), 'replicas')}", _age(value, now)]


def _counted(name: str) -> Callable[[Json, float], list[object]]:
    def cells(value: Json, now: float) -> list[object]:
        found = value.get(name)
        return [len(found) if isinstance(found, dict | list) else 0, _age(value, now)]

    return cells


def _columns(*names: str, wide: str = "") -> tuple[Column, ...]:
    """Columns by name; those behind `wide` are shown with -o wide only; whole numbers begin with #."""
    shown = [Column(n.lstrip("#"), "", "integer" if n[0] == "#" else "string") for n in names]
    more = [Column(n.strip(), "", "string", priority=1) for n in wide.split(",") if n]
    return (*shown, *more)


BUILT_IN_ROWS: Final[Mapping[str, Rows]] = {
    "pods": Rows(
        _columns("Ready", "Status", "Restarts", "Age", wide="IP,Node,Nominated Node,Readiness Gates"), _pod
    ),
    "nodes": Rows(
        _columns(
            "Status", "Roles", "Age", "Version",
            wide="Internal-IP,External-IP,OS-Image,Kernel-Version,Container-Runtime",
        ), _node
    ),
    "namespaces": Rows(
        _columns("Status", "Age"), lambda v, now: [text(part(v, "status"), "phase"), _age(v, now)]
    ),
    "events": Rows(
        (
            *_columns("Last Seen", "Type", "Reason", "Object"),
            *_columns(wide="Subobject,Source"),
            *_columns("Message"),
            *_columns(wide="First Seen,Count,Name"),
        ), _event
    ),
    "configmaps": Rows(_columns("#Data", "Age"), _counted("data")),
    "secrets": Rows(
        _columns("Type", "#Data", "Age"), lambda v, now: [text(v, "type"), *_counted("data")(v, now)]
    ),
    "serviceaccounts": Rows(_columns("#Secrets", "Age"), _counted("secrets")),
    "services": Rows(
        _columns("Type", "Cluster-IP", "External-IP", "Port(s)", "Age", wide="Selector"), _service
    ),
    "resourcequotas": Rows(_columns("Request", "Limit", "Age"), _quota),
    "persistentvolumes": Rows(
        _columns(
            "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass", "Reason", "Age"
        ), _volume
    ),
    "persistentvolumeclaims": Rows(
        _columns("Status", "Volume", "Capacity", "Access Modes", "StorageClass", "Age"), _claim
    ),
    "replicasets.apps": Rows(_columns("#Desired", "#Current", "#Ready", "Age"), _replicas),
    "statefulsets.apps": Rows(_columns("Ready", "Age"), _stateful),
    "jobs.batch": Rows(
        _columns("Status", "Completions", "Duration", "Age", wide="Containers,Images,Selector"), _job
    ),
    "leases.coordination.k8s.io": Rows(
        _columns("Holder", "Age"), lambda v, now: [text(part(v, "spec"), "holderIdentity"), _age(v, now)]
    ),
    "poddisruptionbudgets.policy": Rows(
        _columns("Min Available", "Max Unavailable", "#Allowed Disruptions", "Age"), _budget
    ),
    "priorityclasses.scheduling.k8s.io": Rows(
        (*_columns("#Value"), Column("Global-Default", "", "boolean"), *_columns("Age", "PreemptionPolicy")),
        lambda v, now: [
            v.get("value"), v.get("globalDefault", False), _age(v, now), text(v, "preemptionPolicy")
        ],
    ),
    "storageclasses.storage.k8s.io": Rows(
        _columns("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "Age"),
        lambda v, now: [
            text(v, "provisioner"), text(v, "reclaimPolicy"), text(v, "volumeBindingMode"), _age(v, now)
        ],
    ),
    "customresourcedefinitions.apiextensions.k8s.io": Rows(
        (Column("Created At", "", "string"),), lambda v, _: [text(metadata(v), "creationTimestamp")]
    ),
}  # fmt: skip
