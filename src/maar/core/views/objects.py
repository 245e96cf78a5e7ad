"""From rows back to objects: what decisions read of a cluster, and nothing else.

Reading these objects gives the same rows again. What no decision reads is not in them: no
environment, no images, no annotations of others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import is_
from typing import Final

import msgspec

from maar.core.model.disruption_budget import PodDisruptionBudget
from maar.core.model.kinds import to_json
from maar.core.model.metadata import Condition, Metadata, Object, OwnerReference
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.core.model.node import Node, NodeSpec, NodeStatus
from maar.core.model.past_use import history_data, read_history
from maar.core.model.pod import (
    EVICTED_FOR_ANNOTATION,
    GROUP_ANNOTATION,
    INDEX_FAILURES,
    PREEMPTABLE_MARK,
    QUEUE_GATE,
    TASK_ANNOTATION,
    ClaimSource,
    Container,
    ContainerPort,
    ContainerState,
    ContainerStatus,
    Named,
    Pod,
    PodPhase,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Terminated,
    Volume,
)
from maar.core.model.pod_group import (
    PROMISED_ROOM_ANNOTATION,
    READY_ANNOTATION,
    SLA_ANNOTATIONS,
    PodGroup,
    PodGroupCondition,
    PodGroupSpec,
    PodGroupStatus,
)
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.model.resources import PODS, Resources
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.core.model.volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from maar.core.tables.axis import Needs
from maar.core.tables.batch_jobs import owner_of
from maar.core.tables.numbers import TASK_INDEX, number_of
from maar.core.tables.past_use import PastUse
from maar.core.tables.rows import GroupRow, NodeRow, PodRow
from maar.core.tables.tables import Tables
from maar.core.views.reduced_objects import reduced

PLAIN: Final[tuple[type[Object], ...]] = (
    Namespace, PriorityClass, StorageClass, ResourceQuota, PodDisruptionBudget, PersistentVolume,
    PersistentVolumeClaim,
)  # fmt: skip

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)  # that a pod is leaving matters, not since when


@dataclass(frozen=True)
class Seen:
    """The tables at one moment: a row is replaced when its object changes, so that holding it is enough."""

    scheduler_name: str
    resources: tuple[str, ...]
    plain: list[Object]
    queues: list[Queue]
    nodes: list[NodeRow]
    groups: list[GroupRow]
    pods: list[PodRow]

    @classmethod
    def of(cls, tables: Tables) -> "Seen":
        """The present content of the tables; pods that are being bound or evicted as if they were already."""
        return cls(
            tables.scheduler_name,
            tuple(tables.axis.names),
            [
                *(one for kind in PLAIN for one in tables.of_kind(kind).values()),
                *(row.job for row in tables.batch_jobs.by_uid.values()),
            ],
            [_with_history(row.queue, tables.past_use) for row in tables.queues.values()],
            list(tables.nodes.values()),
            list(tables.groups.values()),
            [pod for pod in tables.pods.values() if not pod.is_to_come],
        )

    def is_same(self, other: "Seen") -> bool:
        """Whether nothing has changed between two moments."""
        return len(self.rows) == len(other.rows) and all(map(is_, self.rows, other.rows))

    @property
    def rows(self) -> list[object]:
        """Every row, in the same order at any moment."""
        return [*self.plain, *self.queues, *self.nodes, *self.groups, *self.pods]

    def objects(self) -> Iterator[Object]:
        """Every object, as far as decisions read it."""
        yield from map(reduced, self.plain)
        yield from map(reduced, self.queues)
        for node in self.nodes:
            yield self._node(node)
        for group in self.groups:
            yield self._group(group)
        for pod in self.pods:
            yield self._pod(pod)

    def _node(self, row: NodeRow) -> Node:
        amounts = zip(self.resources, row.allocatable, strict=False)  # it may have grown since
        ready = Condition(type="Ready", status="True" if row.is_ready else "False")
        return Node(
            metadata=Metadata(name=row.name, labels=row.labels),
            spec=NodeSpec(unschedulable=not row.is_schedulable, taints=row.taints),
            status=NodeStatus(
                allocatable=Resources({name: amount for name, amount in amounts if amount}),
                conditions=(ready,),
            ),
        )

    def _group(self, row: GroupRow) -> PodGroup:
        last_ready = str(row.standing_minimum) if row.standing_minimum < row.min_member else None
        marks = {
            PREEMPTABLE_MARK: row.preemptable,
            READY_ANNOTATION: last_ready,
            SLA_ANNOTATIONS[0]: _duration(row.sla_waiting_time),
            EXPECTED_RUN_TIME: _duration(row.stated_run_time),
            PROMISED_ROOM_ANNOTATION: to_json(row.promised_room).decode() if row.promised_room else None,
        }
        metadata = _metadata(row.key, row.namespace, row.created, marks)
        owners = (OwnerReference(name=row.owner, controller=True),) if row.owner else ()
        return PodGroup(
            metadata=msgspec.structs.replace(metadata, owner_references=owners),
            spec=PodGroupSpec(
                min_member=row.min_member,
                min_task_member=row.min_task_member,
                queue=row.queue_name,
                priority_class_name=row.priority_class,
                min_resources=None if row.min_resources is None else self._amounts(row.min_resources),
            ),
            status=PodGroupStatus(phase=row.stored_phase, conditions=tuple(_conditions(row))),
        )

    def _pod(self, row: PodRow) -> Pod:
        marks = {
            GROUP_ANNOTATION: row.group_key.removeprefix(f"{row.namespace}/") or None,
            TASK_ANNOTATION: row.task or None,
            PREEMPTABLE_MARK: row.preemptable,
            EVICTED_FOR_ANNOTATION: row.evicted_for or None,
            EXPECTED_RUN_TIME: _duration(row.stated_run_time),
            INDEX_FAILURES: str(row.index_failures) if row.index_failures else None,
            QUEUE_GATE: "true" if row.queue_gate == "removed" else None,
        }
        metadata = _metadata(row.key, row.namespace, row.created, marks)
        leaves = _LONG_AGO if row.is_terminating else None
        metadata = msgspec.structs.replace(
            metadata, uid=row.uid, labels=dict(row.labels), deletion_timestamp=leaves
        )
        if row.is_daemon or row.owner:
            kind = "DaemonSet" if row.is_daemon else ""
            owner = OwnerReference(kind=kind, name=row.owner, controller=True)
            if row.batch_job:
                owner = owner_of(row.owner, row.batch_job)
            metadata = msgspec.structs.replace(metadata, owner_references=(owner,))
        if number_of(metadata) != row.number:  # it came from an annotation
            index = {**metadata.annotations, TASK_INDEX: str(row.number)}
            metadata = msgspec.structs.replace(metadata, annotations=index)
        return Pod(
            metadata=metadata,
            spec=self._spec(row),
            status=_pod_status(row),
        )

    def _spec(self, row: PodRow) -> PodSpec:
        shape = row.shape
        asked = self._amounts(shape.needs)
        ports = [ContainerPort(host_ip=ip, protocol=kind, host_port=port) for ip, kind, port in shape.ports]
        others = Resources({PODS: asked[PODS] - 1} if asked[PODS] > 1 else {})  # it asks for itself anyway
        requests = Resources({**{name: asked[name] for name in asked if name != PODS}, **others})
        everything = Container(
            name="everything", resources=ResourceRequirements(requests=requests), ports=tuple(ports)
        )
        another = "" if row.is_ours else f"not-{self.scheduler_name}"
        return PodSpec(
            node_name=row.node_name,
            scheduler_name=self.scheduler_name if row.names_us else another,
            priority=row.stated_priority,
            priority_class_name=row.priority_class,
            preemption_policy="Never" if row.never_preempts else "",
            node_selector=dict(shape.node_selector),
            affinity=shape.affinity,
            tolerations=shape.tolerations,
            topology_spread_constraints=shape.spread,
            containers=(everything,),
            scheduling_gates=(Named(name=QUEUE_GATE if row.queue_gate else "gate"),) if row.is_gated else (),
            active_deadline_seconds=None if row.longest_run_time is None else int(row.longest_run_time),
            volumes=tuple(_volume(number, key) for number, key in enumerate(shape.claims)),
            resource_claims=(Named(name="claim"),) if shape.has_resource_claims else (),
        )

    def _amounts(self, needs: Needs) -> Resources:
        return Resources({self.resources[row]: amount for row, amount in needs})


def _conditions(row: GroupRow) -> Iterator[PodGroupCondition]:
    """Since when a group waits, has been admitted, and holds room."""
    times = {
        "Unschedulable": row.unschedulable_since,
        "Admitted": row.admitted_since,
        "HoldsRoom": row.holds_since,
    }
    for kind, since in times.items():
        if since is not None:
            yield PodGroupCondition(type=kind, status="True", last_transition_time=_time(since))


def _with_history(queue: Queue, past_use: PastUse) -> Queue:
    """A queue with all the past use that decisions read, which its own status has a little later."""
    known = past_use.histories.get(queue.key)
    if known is None or known == read_history(queue.status.history):
        return queue
    status = msgspec.structs.replace(queue.status, history=history_data(known))
    return msgspec.structs.replace(queue, status=status)


def _metadata(key: str, namespace: str, created: float, marks: dict[str, str | None]) -> Metadata:
    return Metadata(
        name=key.removeprefix(f"{namespace}/"),
        namespace=namespace,
        creation_timestamp=_time(created) if created else None,
        annotations={name: text for name, text in marks.items() if text is not None},
    )


def _phase(row: PodRow) -> PodPhase:
    if not row.is_live:
        return "Succeeded" if row.has_succeeded else "Failed"
    return "Running" if row.is_running else "Pending"


def _pod_status(row: PodRow) -> PodStatus:
    """How far a pod has come, when it started, and when it ended where it has succeeded."""
    started = None if row.started is None else _time(row.started)
    statuses: tuple[ContainerStatus, ...] = ()
    if started is not None and row.ran_for is not None:
        ended = Terminated(finished_at=started + timedelta(seconds=row.ran_for))
        statuses = (ContainerStatus(state=ContainerState(terminated=ended)),)
    return PodStatus(
        phase=_phase(row),
        nominated_node_name=row.nominated,
        start_time=started,
        container_statuses=statuses,
    )


def _duration(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


def _volume(number: int, claim: str) -> Volume:
    return Volume(
        name=f"volume-{number}", persistent_volume_claim=ClaimSource(claim_name=claim.partition("/")[2])
    )


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
