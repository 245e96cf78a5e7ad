"""Pods of a scenario: what a line says about all pods of a group or of one of its tasks."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from maar.core.model.pod import QUEUE_GATE
from support.fields import Fields

Manifest = dict[str, object]

_HOSTNAME: Final = "kubernetes.io/hostname"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class Batch:
    """What all pods of a group share: the group's names, and when it was made."""

    name: str
    namespace: str
    reference: str  # as the scenario writes it; empty for pods of another scheduler
    created: str

    def metadata(self, name: str, annotations: dict[str, str]) -> Manifest:
        """The metadata of the group or of a pod in it."""
        labels = {"group": self.name}
        return {
            "name": name,
            "namespace": self.namespace,
            "labels": labels,
            "annotations": annotations,
            "creationTimestamp": self.created,
        }


@dataclass(frozen=True)
class PodLines:
    """How many pods there are on nodes and waiting, and what they are like."""

    task: str = ""
    least: int = 0
    placed: int = 0
    waiting: int = 0
    succeeded: int = 0
    failed: int = 0
    starting: int = 0
    started: tuple[timedelta, ...] = ()  # how long ago, of those on nodes
    terminating: int = 0
    evicted_for: str = ""
    promised: str = ""
    nodes: tuple[str, ...] = ()
    request: dict[str, str] = field(default_factory=dict)
    init: dict[str, str] = field(default_factory=dict)
    overhead: dict[str, str] = field(default_factory=dict)
    priority: int | None = None
    priority_class: str = ""
    preemptable: str = ""
    never: bool = False
    gated: bool = False
    queue_gate: bool = False
    selector: dict[str, str] = field(default_factory=dict)
    affinity: dict[str, object] = field(default_factory=dict)
    tolerates: tuple[str, ...] = ()
    apart: bool = False
    near: str = ""
    spread: str = ""
    port: int = 0
    claims: str = ""  # the storage class of a claim that each has
    runs: str = ""  # for how long, from its start on, as it states

    def phase_of(self, number: int) -> str:
        """The first have succeeded, the next have failed, the last are still starting, the others run."""
        if number < self.succeeded:
            return "Succeeded"
        if number < self.succeeded + self.failed:
            return "Failed"
        return "Pending" if number >= self.placed - self.starting else "Running"


def pod_lines(fields: Fields, *, running: bool) -> list[PodLines]:
    """The pods of a group: alike, or by `tasks`, which say where they differ."""
    shared = _like(fields, PodLines())
    if "tasks" not in fields:
        return [_counted(fields, shared, running=running)]
    lines = []
    for task, own in fields.each("tasks"):
        preemptable = str(own.take("preemptable", bool, True)).lower() if "preemptable" in own else ""
        least = own.take("min", int, 0)
        line = replace(_like(own, shared), task=task, least=least, preemptable=preemptable)
        lines.append(_counted(own, line, running=running))
    return lines


def _like(fields: Fields, line: PodLines) -> PodLines:
    """What the pods are like, where the line says more than is known already."""
    priority = fields.take("priority", int, 0) if "priority" in fields else line.priority
    written = fields.take("class", str, line.priority_class)
    return replace(
        line,
        nodes=tuple(fields.texts("node")) or line.nodes,
        request=fields.resources(besides="pods") or line.request,
        init=fields.amounts("init") or line.init,
        overhead=fields.amounts("overhead") or line.overhead,
        priority=priority,
        priority_class=f"priority-{priority}" if priority is not None else written,
        never=fields.take("never", bool, line.never),
        gated=fields.take("gated", bool, line.gated),
        queue_gate=fields.take("queueGate", bool, line.queue_gate),
        selector=fields.labels("selector") or line.selector,
        affinity=dict(fields.every("affinity")) or line.affinity,
        tolerates=tuple(fields.texts("tolerates")) or line.tolerates,
        apart=fields.take("apart", bool, line.apart),
        near=fields.take("near", str, line.near),
        spread=fields.take("spread", str, line.spread),
        port=fields.take("port", int, line.port),
        claims=fields.take("claims", str, line.claims),
        runs=fields.take("runs", str, line.runs),
    )


def _counted(fields: Fields, line: PodLines, *, running: bool) -> PodLines:
    """How many pods there are; of a group that waits, only those that have finished are on nodes."""
    pods, succeeded, failed = (
        fields.take("pods", int, 1),
        fields.take("succeeded", int, 0),
        fields.take("failed", int, 0),
    )
    finished = replace(line, succeeded=succeeded, failed=failed)
    if not running:
        promised = fields.take("promised", str, "")
        return replace(
            finished, placed=succeeded + failed, waiting=pods - succeeded - failed, promised=promised
        )
    return replace(
        finished,
        placed=pods,
        waiting=fields.take("waiting", int, 0),
        promised=fields.take("promised", str, ""),
        starting=fields.take("starting", int, 0),
        started=tuple(fields.times("started")),
        terminating=fields.take("terminating", int, 0),
        evicted_for=fields.take("evictedFor", str, ""),
    )


def pod_spec(line: PodLines, batch: Batch) -> Manifest:
    """The specification of one pod."""
    container: Manifest = {"name": "main", "resources": {"requests": line.request}}
    if line.port:
        container["ports"] = [{"containerPort": line.port, "hostPort": line.port}]
    spec: Manifest = {"schedulerName": "volcano", "containers": [container], "nodeSelector": line.selector}
    if line.init:
        spec["initContainers"] = [{"name": "first", "resources": {"requests": line.init}}]
    if line.overhead:
        spec["overhead"] = line.overhead
    if line.priority_class:
        spec["priorityClassName"] = line.priority_class
        spec["priority"] = line.priority if line.priority is not None else 2_000_000_000
    if line.never:
        spec["preemptionPolicy"] = "Never"
    gates = [*(["wait"] if line.gated else ()), *([QUEUE_GATE] if line.queue_gate else ())]
    if gates:
        spec["schedulingGates"] = [{"name": name} for name in gates]
    if line.tolerates:
        spec["tolerations"] = [{"key": key, "operator": "Exists"} for key in line.tolerates]
    if line.spread:
        together = {"matchLabels": {"group": batch.name}}
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": line.spread,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": together,
            }
        ]
    if affinity := _affinity(line, batch):
        spec["affinity"] = affinity
    return spec


def _affinity(line: PodLines, batch: Batch) -> Manifest:
    affinity: Manifest = {}
    if line.affinity:
        lines = [{"key": key, "operator": "In", "values": values} for key, values in line.affinity.items()]
        affinity["nodeAffinity"] = {_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": lines}]}}
    if line.near:
        affinity["podAffinity"] = {_REQUIRED: [_term(line.near.replace("/", "-"))]}
    if line.apart:
        affinity["podAntiAffinity"] = {_REQUIRED: [_term(batch.name)]}
    return affinity


def _term(group: str) -> Manifest:
    return {"topologyKey": _HOSTNAME, "labelSelector": {"matchLabels": {"group": group}}}
