"""The cluster of a scenario: its few lines become the manifests of nodes, queues, pod groups and pods."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from maar.core.model.kinds import from_document, kind_of
from maar.core.model.metadata import Object
from maar.core.model.namespace import WEIGHT_RESOURCE
from maar.core.model.pod import (
    EVICTED_FOR_ANNOTATION,
    GROUP_ANNOTATION,
    PREEMPTABLE_MARK,
    QUEUE_ANNOTATION,
    TASK_ANNOTATION,
)
from maar.core.model.pod_group import READY_ANNOTATION
from maar.core.model.queue import DEFAULT, ROOT
from maar.core.model.resources import Resources
from maar.core.model.run_time import EXPECTED_RUN_TIME
from support.fields import BadScenarioError, Fields, long_name
from support.pods import Batch, Manifest, PodLines, pod_lines, pod_spec

_VOLCANO: Final = "scheduling.volcano.sh/v1beta1"
_MOST_PODS: Final = "110"
_SYSTEM_PRIORITY: Final = 2_000_000_000
_APART: Final = timedelta(minutes=1)  # what is written first is older
_LOCAL: Final = "local"  # the storage class of volumes that nodes have
_QUEUES_AGE: Final = timedelta(days=2)
_GROUPS_AGE: Final = timedelta(days=1)
_CONDITIONS: Final = {"unschedulable": "Unschedulable", "admitted": "Admitted", "holds": "HoldsRoom"}


@dataclass
class Names:
    """How the scenario calls things (queue/name, queue/name-0) and what the cluster calls them."""

    nodes: list[str] = field(default_factory=list)
    queues: list[str] = field(default_factory=lambda: [ROOT, DEFAULT])
    groups: dict[str, str] = field(default_factory=dict)
    pods: dict[str, str] = field(default_factory=dict)
    group_of: dict[str, str] = field(default_factory=dict)  # by the pod's name in the cluster


@dataclass
class Cluster:
    """Manifests in the making."""

    now: datetime
    manifests: list[Manifest] = field(default_factory=list)
    names: Names = field(default_factory=Names)
    waiting: dict[str, int] = field(default_factory=dict)  # pods that wait for a place, by group
    _idle: dict[str, Resources] = field(default_factory=dict)  # of nodes that take pods
    _classes: set[str] = field(default_factory=set)
    _beneficiaries: set[str] = field(default_factory=set)
    _storage: set[str] = field(default_factory=set)

    def check(self) -> None:
        """Refuse what is named and not there."""
        for key in self._beneficiaries - set(self.names.groups.values()):
            raise BadScenarioError("evictedFor", f"no such pod group in the default namespace: {key}")

    def objects(self) -> list[Object]:
        """The manifests as the engine reads them."""
        return [_object(manifest) for manifest in self.manifests]

    def add_nodes(self, name: str, fields: Fields) -> None:
        """One node, or as many as `count` says, numbered."""
        count = fields.take("count", int, 0)
        labels = fields.labels("labels")
        taints = [_taint(text) for text in fields.texts("taints")]
        unschedulable, ready = fields.take("unschedulable", bool, False), fields.take("ready", bool, True)
        allocatable = {"pods": _MOST_PODS, **fields.resources()}
        for one in [f"{name}{number}" for number in range(count)] or [name]:
            self.names.nodes.append(one)
            if ready and not unschedulable:
                self._idle[one] = Resources.parse(allocatable)
            metadata: Manifest = {"name": one, "labels": {"kubernetes.io/hostname": one, **labels}}
            spec = {"unschedulable": unschedulable, "taints": taints}
            conditions = [{"type": "Ready", "status": str(ready)}]
            status = {"allocatable": allocatable, "conditions": conditions}
            self._add("v1", "Node", metadata, spec=spec, status=status)

    def add_queue(self, name: str, fields: Fields) -> None:
        """A queue; the earlier it is written the older it is."""
        if name not in self.names.queues:
            self.names.queues.append(name)
        age = fields.time("age") or _QUEUES_AGE - len(self.names.queues) * _APART
        spec = {
            "parent": fields.take("parent", str, ROOT if name != ROOT else ""),
            "weight": fields.take("weight", int, 1),
            "priority": fields.take("priority", int, 0),
            "reclaimable": fields.take("reclaimable", bool, True),
            "dequeueStrategy": "fifo" if fields.take("fifo", bool, False) else "traverse",
            "state": fields.take("state", str, "Open"),
            "capability": fields.amounts("capability"),
            "guarantee": {"resource": fields.amounts("guarantee"), "percentage": _percentages(fields)},
            "deserved": fields.amounts("deserved"),
        }
        for key in ("preemptMinRuntime", "reclaimMinRuntime"):
            if key in fields:
                spec[key] = fields.take(key, str, "")
        if "request" in fields:
            spec["request"] = fields.amounts("request")
        metadata: Manifest = {"name": name, "creationTimestamp": self._before(age)}
        status = {"status": {"history": fields.read("history", self._history)}} if "history" in fields else {}
        self._add(_VOLCANO, "Queue", metadata, spec=spec, **status)

    def _history(self, value: object, path: str) -> Manifest:
        """The past use of a queue: hours by resource, those of its namespaces, and how old it is."""
        with Fields(value, path) as fields:
            age = fields.time("age") or timedelta()
            inside = {name: one.resources() for name, one in fields.each("namespaces")}
            return {"time": self._before(age), "used": fields.resources(), "namespaces": inside}

    def add_namespace(self, name: str, fields: Fields) -> None:
        """A namespace, and one quota for each weight that is written."""
        queue = fields.take("queue", str, "")
        self._add(
            "v1", "Namespace", {"name": name, "annotations": {QUEUE_ANNOTATION: queue} if queue else {}}
        )
        for number, weight in enumerate(fields.texts("weight")):
            self._add(
                "v1",
                "ResourceQuota",
                {"name": f"quota-{number}", "namespace": name},
                spec={"hard": {WEIGHT_RESOURCE: weight}},
            )

    def add_group(self, reference: str, fields: Fields, *, running: bool) -> None:
        """A pod group and its pods; `running` ones are on nodes, the others wait."""
        queue, _, name = reference.partition("/")
        fields.refuse_unless(
            holds=bool(name) and reference not in self.names.groups, key="", problem="write queue/name, once"
        )
        namespace = fields.take("namespace", str, DEFAULT)
        batch = Batch(
            f"{queue}-{name}",
            namespace,
            reference,
            self._before(fields.time("age") or _GROUPS_AGE - len(self.names.groups) * _APART),
        )
        self.names.groups[reference] = f"{namespace}/{batch.name}"
        self.waiting[reference] = 0
        lines = pod_lines(fields, running=running)
        annotations = (
            {PREEMPTABLE_MARK: str(fields.take("preemptable", bool, True)).lower()}
            if "preemptable" in fields
            else {}
        )
        annotations |= fields.labels("annotations")
        if "readyWith" in fields:
            annotations[READY_ANNOTATION] = str(fields.take("readyWith", int, 0))
        spec: Manifest = {
            "queue": queue,
            "minMember": _least(fields, lines),
            "minTaskMember": {one.task: one.least for one in lines if one.least},
        }
        if lines[0].priority_class:
            spec["priorityClassName"] = lines[0].priority_class
        if "minResources" in fields:
            spec["minResources"] = fields.amounts("minResources")
        since = {kind: fields.time(key) for key, kind in _CONDITIONS.items()}
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": self._before(age)}
            for kind, age in since.items()
            if age
        ]
        usual = "Running" if running else "Inqueue" if since["Admitted"] else "Pending"
        phase = fields.take("phase", str, usual)
        self._add(
            _VOLCANO,
            "PodGroup",
            batch.metadata(batch.name, annotations),
            spec=spec,
            status={"phase": phase, "conditions": conditions},
        )
        for line in lines:
            self._add_pods(batch, line)

    def add_others(self, name: str, fields: Fields) -> None:
        """Running pods of another scheduler."""
        batch = Batch(name, fields.take("namespace", str, DEFAULT), "", self._before(_GROUPS_AGE))
        for line in pod_lines(fields, running=True):
            self._add_pods(batch, line)

    def add_budget(self, name: str, fields: Fields) -> None:
        """A disruption budget for the pods of one group: `allowed` of them may go."""
        group, allowed = fields.take("of", str, ""), fields.take("allowed", int, 0)
        fields.refuse_unless(holds=group in self.names.groups, key="of", problem="no such pod group")
        namespace, _, label = self.names.groups[group].partition("/")
        healthy = sum(one == group for one in self.names.group_of.values()) - self.waiting[group]
        metadata: Manifest = {"name": name, "namespace": namespace}
        staying = healthy - allowed
        spec = {"selector": {"matchLabels": {"group": label}}, "minAvailable": staying}
        counts = {"currentHealthy": healthy, "desiredHealthy": staying, "expectedPods": healthy}
        status = {"disruptionsAllowed": allowed, **counts}
        self._add("policy/v1", "PodDisruptionBudget", metadata, spec=spec, status=status)

    def add_volume(self, name: str, fields: Fields) -> None:
        """A volume that one node has, for claims of the class `local`."""
        hosts = {"key": "kubernetes.io/hostname", "operator": "In", "values": fields.texts("node")}
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": _LOCAL,
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [hosts]}]}},
        }
        self._add("v1", "PersistentVolume", {"name": name}, spec=spec, status={"phase": "Available"})

    def _add_claim(self, name: str, namespace: str, storage: str) -> Manifest:
        """A claim that waits for its first consumer; nobody makes volumes for those of the class `local`."""
        if storage not in self._storage:
            self._storage.add(storage)
            fields = {
                "provisioner": "kubernetes.io/no-provisioner" if storage == _LOCAL else "example.com/made",
                "volumeBindingMode": "WaitForFirstConsumer",
            }
            self._add("storage.k8s.io/v1", "StorageClass", {"name": storage}, **fields)
        spec = {
            "storageClassName": storage,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        metadata: Manifest = {"name": name, "namespace": namespace, "uid": f"claim-{name}"}
        self._add("v1", "PersistentVolumeClaim", metadata, spec=spec, status={"phase": "Pending"})
        return {"name": "data", "persistentVolumeClaim": {"claimName": name}}

    def _add_pods(self, batch: Batch, line: PodLines) -> None:
        self._add_priority(line)
        places = self._places(batch, line)
        for number in range(line.placed + line.waiting):
            part = f"{line.task}-{number}" if line.task else str(number)
            pod = f"{batch.name}-{part}"
            marks = {PREEMPTABLE_MARK: line.preemptable, EXPECTED_RUN_TIME: line.runs}
            annotations = {name: text for name, text in marks.items() if text}
            spec = pod_spec(line, batch)
            status: Manifest = {"phase": "Pending"}
            if line.claims:
                spec["volumes"] = [self._add_claim(pod, batch.namespace, line.claims)]
            if batch.reference:
                annotations |= {GROUP_ANNOTATION: batch.name} | (
                    {TASK_ANNOTATION: line.task} if line.task else {}
                )
                self.names.pods[f"{batch.reference}-{part}"] = f"{batch.namespace}/{pod}"
                self.names.group_of[f"{batch.namespace}/{pod}"] = batch.reference
            else:
                spec["schedulerName"] = "default-scheduler"
            metadata = batch.metadata(pod, annotations)
            if number < line.placed:
                spec["nodeName"], status["phase"] = places[number], line.phase_of(number)
                if line.started:
                    age = line.started[number % len(line.started)]
                    status["startTime"] = self._before(age)
                if number >= line.placed - line.terminating:
                    metadata["deletionTimestamp"] = self._before(timedelta(seconds=1))
                    if line.evicted_for:
                        annotations[EVICTED_FOR_ANNOTATION] = self._beneficiary(line.evicted_for)
            elif batch.reference:
                self.waiting[batch.reference] += 1
                if line.promised:
                    status["nominatedNodeName"] = line.promised
            self._add("v1", "Pod", metadata, spec=spec, status=status)

    def _places(self, batch: Batch, line: PodLines) -> list[str]:
        """Where the running pods are: as written, or first fit in the order of the nodes."""
        if line.nodes:
            return [line.nodes[number % len(line.nodes)] for number in range(line.placed)]
        places = []
        request = Resources.parse({**line.request, "pods": 1})
        for _ in range(line.placed):
            fitting = [
                name
                for name, idle in self._idle.items()
                if all(idle.get(one, 0) >= units for one, units in request.items())
            ]
            if not fitting:
                raise BadScenarioError(
                    batch.reference or batch.name,
                    "its running pods do not fit; say where they are with `node`",
                )
            self._idle[fitting[0]] = self._idle[fitting[0]].minus(request)
            places.append(fitting[0])
        return places

    def _add_priority(self, line: PodLines) -> None:
        name = line.priority_class
        if name and name not in self._classes:
            self._classes.add(name)
            value = _SYSTEM_PRIORITY if line.priority is None else line.priority
            self._add("scheduling.k8s.io/v1", "PriorityClass", {"name": name}, value=value)

    def _beneficiary(self, reference: str) -> str:
        """The name of a group that may be written further down, and so has to be in the default namespace."""
        key = self.names.groups.get(reference, f"{DEFAULT}/{reference.replace('/', '-')}")
        self._beneficiaries.add(key)
        return key

    def _add(self, api_version: str, kind: str, metadata: Manifest, **rest: object) -> None:
        self.manifests.append({"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest})

    def _before(self, age: timedelta) -> str:
        return (self.now - age).isoformat().replace("+00:00", "Z")


def _object(manifest: Manifest) -> Object:
    kind = kind_of(str(manifest["apiVersion"]), str(manifest["kind"]))
    assert kind is not None, manifest["kind"]
    return from_document(kind, manifest)


def _least(fields: Fields, lines: Iterable[PodLines]) -> int:
    """`min`: a number, or `all`; without it the tasks' together, or 1."""
    if fields.peek("min") == "all":
        fields.anything("min")
        return sum(line.placed + line.waiting for line in lines)
    return fields.take("min", int, sum(line.least for line in lines) or 1)


def _percentages(fields: Fields) -> Mapping[str, str]:
    return {long_name(name): text for name, text in fields.labels("percentage").items()}


def _taint(text: str) -> Manifest:
    rest, _, effect = text.partition(":")
    key, _, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect}
