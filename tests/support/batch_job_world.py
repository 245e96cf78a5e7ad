"""Jobs of batch/v1 in a cluster with all that moves them: scheduler, controllers, Job controller, nodes.

The API server is the embedded one, and so is the controller of Jobs; engine and controllers are the
real ones, called one after the other, so that nothing depends on who is faster. Each can be started
anew at any moment, and be left out for a while.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, cast

from maar.core.controllers.cluster_view import ClusterView
from maar.core.controllers.pod_groups import MissingGroups
from maar.core.controllers.suspended_jobs import SuspendedJobs
from maar.core.controllers.work_queue import WorkQueue
from maar.core.engine import Engine
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.kinds import from_json, to_json
from maar.core.model.node import Node
from maar.core.model.plan import Plan
from maar.core.model.pod import EVICTED_FOR_ANNOTATION, EVICTED_WITH_JOB_ANNOTATION, Pod
from maar.core.model.pod_group import PROMISED_ROOM_ANNOTATION, PodGroup
from maar.core.model.queue import Queue
from maar.core.model.workload import BatchJob
from maar.core.model.writes import Create, Delete, Patch, RecordEvent, Write
from maar.core.reporting.group_status import group_write
from maar.embedded.calls import Call, Deletion
from maar.embedded.kinds.pods import bind, evict
from support.embedded import Document, EmbeddedCluster
from support.scenario_world import merged

QUEUE: Final = "scheduling.volcano.sh/queue-name"
LEAST: Final = "scheduling.volcano.sh/group-min-member"
GROUPS: Final = "podgroups.scheduling.volcano.sh"
QUEUES: Final = "queues.scheduling.volcano.sh"
JOBS: Final = "jobs.batch"
KINDS: Final[dict[str, type[AnyObject]]] = {
    "nodes": Node, QUEUES: Queue, GROUPS: PodGroup, JOBS: BatchJob, "pods": Pod,
}  # fmt: skip
_PLURALS: Final = {kind.__name__: plural for plural, kind in KINDS.items()}


class _KilledError(Exception):
    """The program has been killed."""


@dataclass(eq=False)
class BatchJobWorld:
    """What a test does with such a cluster, in few words."""

    embedded: EmbeddedCluster
    events: list[tuple[str, str]] = field(default_factory=list)  # reasons and keys of the controllers' events
    resumed: list[str] = field(default_factory=list)  # groups
    plan: Plan = field(default_factory=Plan)
    writes: dict[str, int] = field(default_factory=lambda: {"scheduler": 0, "controllers": 0})
    killed_at: tuple[str, int] | None = None  # the program that is killed, and before which of its writes
    _scheduler_knows: dict[tuple[str, str], str] = field(
        default_factory=dict
    )  # versions, as the scheduler knows them
    _controllers_know: dict[tuple[str, str], str] = field(default_factory=dict)  # and the controllers

    def __post_init__(self) -> None:
        self.restart_scheduler()
        self.restart_controllers()

    # --- what there is

    def node(self, name: str, cpu: int) -> None:
        """A node that is ready."""
        self.embedded.make("nodes", name, "")
        status = {
            "allocatable": {"cpu": str(cpu), "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        self.embedded.edit("nodes", name, "status", "", status=status)

    def queue(self, name: str, **spec: object) -> None:
        """A queue."""
        self.embedded.make(QUEUES, name, "", spec=spec)

    def job(
        self, name: str, queue: str, pods: int, least: int = 1, *, cpu: str = "1",
        notes: dict[str, str] | None = None, **spec: object,
    ) -> None:  # fmt: skip
        """A Job of equal pods that need a CPU each, with some annotations more."""
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        template = {
            "metadata": {"annotations": {QUEUE: queue, LEAST: str(least), **(notes or {})}},
            "spec": {"schedulerName": "volcano", "restartPolicy": "Never", "containers": [container]},
        }
        made = {"parallelism": pods, "completions": pods, "template": template, **spec}
        self.embedded.make(JOBS, name, spec=made)

    def get(self, name: str) -> Document:
        """A Job as it is stored."""
        return self.embedded.get(JOBS, name)

    def condition(self, name: str, kind: str) -> bool:
        """Whether a condition of a Job holds."""
        conditions = self.get(name).get("status", {}).get("conditions", ())
        return any(one["type"] == kind and one["status"] == "True" for one in conditions)

    def pods(self, job: str) -> list[Document]:
        """The pods of a Job that have not ended."""
        return [
            one
            for one in cast(list[Document], self.embedded.cluster.all("pods"))
            if any(owner["name"] == job for owner in one["metadata"].get("ownerReferences", ()))
            and one.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        ]

    def running(self, job: str) -> int:
        """How many pods of a Job are on nodes and stay."""
        return sum(
            "nodeName" in one["spec"] and "deletionTimestamp" not in one["metadata"] for one in self.pods(job)
        )

    def group(self, job: str) -> PodGroup:
        """The group of a Job."""
        name = f"podgroup-{self.get(job)['metadata']['uid']}"
        return from_json(PodGroup, json.dumps(self.embedded.get(GROUPS, name)).encode())

    def edit_job(self, name: str, patch: Document) -> None:
        """Somebody changes a Job."""
        self._patch(JOBS, f"default/{name}", patch)

    # --- who works

    def restart_scheduler(self) -> None:
        """The scheduler knows nothing but what is stored."""
        self.engine = Engine()
        self._scheduler_knows.clear()

    def restart_controllers(self) -> None:
        """So do the controllers."""
        self.work = WorkQueue(ClusterView(), (MissingGroups(), SuspendedJobs()))
        self._controllers_know.clear()

    def round(self, *, seconds: float = 1.0) -> Plan:
        """Everybody works in turn: Job controller, controllers, scheduler, nodes."""
        self.embedded.settle()
        self.control()
        plan = self.schedule()
        self.control()
        self.embedded.settle()
        self.kubelets()
        self.embedded.settle()
        self.embedded.clock.now += seconds
        return plan

    def rounds(self, count: int, *, seconds: float = 1.0) -> None:
        """So many of them."""
        for _ in range(count):
            self.round(seconds=seconds)

    def schedule(self) -> Plan:
        """A decision that is carried out; where the program is killed meanwhile, another goes on."""
        try:
            return self._schedule()
        except _KilledError:
            self.restart_scheduler()
            return Plan()

    def control(self) -> None:
        """The controllers, until they want nothing more; where they are killed meanwhile, others go on."""
        try:
            self._control()
        except _KilledError:
            self.restart_controllers()

    def _count(self, program: str) -> None:
        """Count a write, before which the program may be killed."""
        self.writes[program] += 1
        if self.killed_at == (program, self.writes[program]):
            raise _KilledError

    def _schedule(self) -> Plan:
        self.engine.feed(self._news(self._scheduler_knows))
        plan = self.plan = self.engine.decide(self.embedded.clock.now)
        writes: list[Write] = [*plan.evictions, *plan.nominations, *plan.resumptions, *plan.binds]
        for write in writes:
            self._count("scheduler")
            self._carry_out(write)
        now = datetime.fromtimestamp(self.embedded.clock.now, UTC)
        for key, outcome in plan.pod_groups.items():
            row = self.engine.tables.groups.get(key)
            stored = self._stored_group(key) if row is not None else None
            if row is None or stored is None or (status := group_write(stored, row, outcome, now)) is None:
                continue
            patch: Document = {"status": status.status, "metadata": {"annotations": status.annotations}}
            self._count("scheduler")
            self._patch(GROUPS, key, json.loads(to_json(patch)))
        return plan

    def _control(self) -> None:
        for _ in range(20):
            self.work.feed(self.work.cluster.changes(self._news(self._controllers_know)))
            wanted = list(self.work.reconcile(datetime.fromtimestamp(self.embedded.clock.now, UTC)))
            for _, write in wanted:
                self._count("controllers")
                self._write(write)
            if not wanted:
                return

    def kubelets(self) -> None:
        """Bound pods run; those that are deleted have failed, and go once their Job has counted them."""
        for pod in cast(list[Document], self.embedded.cluster.all("pods")):
            meta, status = pod["metadata"], pod.get("status", {})
            if "deletionTimestamp" in meta and "nodeName" in pod["spec"]:
                if status.get("phase") in ("Pending", "Running"):
                    self.embedded.edit("pods", meta["name"], "status", status={"phase": "Failed"})
                self.embedded.cluster.delete("pods", meta["namespace"], meta["name"], Deletion(grace=0))
            elif "nodeName" in pod["spec"] and status.get("phase") == "Pending":
                self.embedded.run(meta["name"], meta["namespace"])

    # --- writes

    def _carry_out(self, write: Write) -> None:
        namespace, _, name = write.subject.removeprefix("pod group ").partition("/")
        cluster, document = self.embedded.cluster, json.loads(to_json(write))
        match document["write"]:
            case "Bind":
                bind(cluster, namespace, name, {"target": {"kind": "Node", "name": document["node"]}}, Call())
            case "Evict":
                notes = {EVICTED_FOR_ANNOTATION: document.get("beneficiary")}
                if document.get("withJob"):
                    notes[EVICTED_WITH_JOB_ANNOTATION] = document["action"]
                self._patch("pods", write.subject, {"metadata": {"annotations": notes}})
                if not document.get("withJob"):
                    evict(cluster, namespace, name, {"metadata": {"name": name}}, Call())
            case "Nominate":
                self.embedded.edit("pods", name, "status", status={"nominatedNodeName": document["node"]})
            case "Resume":
                self.resumed.append(f"{namespace}/{name}")
                notes = {PROMISED_ROOM_ANNOTATION: json.dumps(document["room"])}
                self._patch(GROUPS, f"{namespace}/{name}", {"metadata": {"annotations": notes}})
            case other:
                raise AssertionError(other)

    def _write(self, write: object) -> None:
        match write:
            case Create(kind=kind, document=document):
                made: Document = json.loads(json.dumps(document))
                self.embedded.cluster.create(_PLURALS[kind], made["metadata"]["namespace"], made)
            case Patch(kind=kind, key=key, patch=patch):
                self._patch(_PLURALS[kind], key, patch)
            case Delete(kind=kind, key=key):
                namespace, _, name = key.partition("/")
                self.embedded.cluster.delete(_PLURALS[kind], namespace, name)
            case RecordEvent(key=key, reason=reason):
                self.events.append((reason, key))
            case other:
                raise AssertionError(other)

    def _patch(self, plural: str, key: str, patch: Document) -> None:
        namespace, _, name = key.rpartition("/")
        if self.embedded.cluster.read(plural, namespace, name) is None:
            return  # it has gone meanwhile

        def edited(found: Document) -> Document:
            return cast(Document, merged(found, patch))

        self.embedded.cluster.change(plural, namespace, name, edited)

    def _stored_group(self, key: str) -> PodGroup | None:
        found = self.embedded.cluster.read(GROUPS, *key.split("/"))
        return None if found is None else from_json(PodGroup, json.dumps(found).encode())

    def _news(self, known: dict[tuple[str, str], str]) -> list[Event]:
        events, there = list[Event](), set[tuple[str, str]]()
        for plural, kind in KINDS.items():
            for document in self.embedded.cluster.all(plural):
                one: Any = from_json(kind, json.dumps(document).encode())
                place, version = (kind.__name__, one.key), one.metadata.resource_version
                there.add(place)
                if known.get(place) != version:
                    known[place] = version
                    events.append(Upserted(object=one))
        for place in [one for one in known if one not in there]:
            del known[place]
            events.append(Deleted(kind=place[0], key=place[1]))
        return events
