"""From objects to rows: what decisions ask about a pod, a group or a node, worked out once."""

from datetime import datetime
from functools import lru_cache
from typing import Final

from maar.core.model.metadata import Metadata, mark
from maar.core.model.names import natural
from maar.core.model.node import Node
from maar.core.model.pod import (
    EVICTED_FOR_ANNOTATION,
    GROUP_ANNOTATION,
    INDEX_FAILURES,
    PREEMPTABLE_MARK,
    QUEUE_GATE,
    TASK_ANNOTATION,
    Pod,
)
from maar.core.model.pod_group import LONGEST_BEFORE_S, OWNER_SINCE_ANNOTATION, SLA_ANNOTATIONS, PodGroup
from maar.core.model.resources import of_pods
from maar.core.model.run_time import EXPECTED_RUN_TIME, longest_run_time, ran_for, stated_seconds
from maar.core.model.whole_numbers import whole_number
from maar.core.tables.axis import ResourceAxis
from maar.core.tables.numbers import is_lead, number_of
from maar.core.tables.rows import GroupRow, NodeRow, PodRow, QueueGate
from maar.core.tables.shapes import Shapes

_CRITICAL: Final = ("system-cluster-critical", "system-node-critical")
_OWNERS_OF_DAEMONS: Final = ("DaemonSet", "Node")  # a static pod belongs to its node


def read_pod(pod: Pod, shapes: Shapes, scheduler_name: str) -> PodRow:
    """Make the row of a pod."""
    metadata, spec, status = pod.metadata, pod.spec, pod.status
    namespace = metadata.namespace or "default"
    group = metadata.annotations.get(GROUP_ANNOTATION, "")
    owner, created = metadata.controller, metadata.creation_timestamp
    return PodRow(
        key=f"{namespace}/{metadata.name}",
        uid=metadata.uid,
        preemptable=mark(metadata, PREEMPTABLE_MARK),
        is_terminating=pod.is_leaving,
        namespace=namespace,
        group_key=f"{namespace}/{group}" if group else "",
        is_live=not pod.is_finished,
        shape=shapes.of(pod),
        labels=tuple(metadata.labels.items()),
        stated_priority=spec.priority,
        priority_class=spec.priority_class_name,
        number=number_of(metadata),
        is_lead=is_lead(metadata),
        created=created.timestamp() if created else 0.0,
        task=metadata.annotations.get(TASK_ANNOTATION, ""),
        node_name=spec.node_name,
        nominated=status.nominated_node_name,
        is_running=status.phase == "Running",
        has_succeeded=status.phase == "Succeeded",
        is_gated=bool(spec.scheduling_gates),
        queue_gate=_queue_gate(pod) if spec.scheduling_gates or QUEUE_GATE in metadata.annotations else "",
        is_critical=namespace == "kube-system" or spec.priority_class_name in _CRITICAL,
        never_preempts=spec.preemption_policy == "Never",
        evicted_for=metadata.annotations.get(EVICTED_FOR_ANNOTATION, ""),
        is_ours=spec.scheduler_name in ("", scheduler_name),
        names_us=spec.scheduler_name == scheduler_name,
        is_daemon=owner is not None and owner.kind in _OWNERS_OF_DAEMONS,
        owner=owner.name if owner is not None else "",
        batch_job=owner.batch_job if owner is not None else "",
        index_failures=_index_failures(metadata.annotations[INDEX_FAILURES])
        if INDEX_FAILURES in metadata.annotations
        else 0,
        ran_for=ran_for(pod) if status.phase == "Succeeded" else None,
        stated_run_time=stated_seconds(metadata.annotations, EXPECTED_RUN_TIME),
        longest_run_time=longest_run_time(pod),
        started=status.start_time.timestamp() if status.start_time else None,
    )


def _queue_gate(pod: Pod) -> QueueGate:
    if pod.has_queue_gate:
        return "closed"
    is_removed = not pod.spec.scheduling_gates and pod.metadata.annotations.get(QUEUE_GATE) == "true"
    return "removed" if is_removed else ""


def _index_failures(text: str) -> int:
    return whole_number(text) or 0


_natural_namespace = lru_cache(maxsize=1024)(natural)  # thousands of groups are in the same few


def read_group(group: PodGroup, axis: ResourceAxis) -> GroupRow:
    """Make the row of a pod group."""
    metadata, spec, status = group.metadata, group.spec, group.status
    created = metadata.creation_timestamp
    namespace = metadata.namespace or "default"
    owner = metadata.controller.name if metadata.controller is not None else ""
    age = _age(metadata, created.timestamp() if created else 0.0)
    name = natural(metadata.name)
    of_owner = f"{_natural_namespace(namespace)}/{natural(owner) if owner else name}"
    since = {one.type: one.last_transition_time for one in status.conditions if one.status == "True"}
    return GroupRow(
        key=f"{namespace}/{metadata.name}",
        namespace=namespace,
        queue_name=spec.queue,
        min_member=spec.min_member,
        standing_minimum=group.standing_minimum,
        min_task_member=dict(spec.binding_tasks),
        min_resources=None if spec.min_resources is None else axis.needs(of_pods(spec.min_resources)),
        priority_class=spec.priority_class_name,
        stored_phase=status.phase or "Pending",
        created=age,
        owner=owner,
        order=(age, of_owner, name),
        preemptable=mark(metadata, PREEMPTABLE_MARK),
        unschedulable_since=_seconds(since.get("Unschedulable")),
        admitted_since=_seconds(since.get("Admitted")),
        holds_since=_seconds(since.get("HoldsRoom")),
        sla_waiting_time=stated_seconds(metadata.annotations, *SLA_ANNOTATIONS),
        stated_run_time=stated_seconds(metadata.annotations, EXPECTED_RUN_TIME),
        promised_room=group.promised_room,
    )


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()


def _age(metadata: Metadata, created: float) -> float:
    """Since when a group counts as there: it was made for what its owner asked for a moment before."""
    stated = metadata.annotations.get(OWNER_SINCE_ANNOTATION, "")
    try:
        since = datetime.strptime(stated, "%Y-%m-%dT%H:%M:%S%z").timestamp() if stated else created
    except (ValueError, OverflowError):
        return created
    return since if created - LONGEST_BEFORE_S <= since <= created else created


def read_node(node: Node, axis: ResourceAxis) -> NodeRow:
    """Make the row of a node, with nothing on it yet."""
    return NodeRow(
        name=node.metadata.name,
        labels=dict(node.metadata.labels),
        taints=node.spec.taints,
        is_ready=node.is_ready,
        is_schedulable=not node.spec.unschedulable,
        allocatable=axis.column(node.status.allocatable),
        now=axis.zeros(),
        later=axis.zeros(),
        daemons=axis.zeros(),
    )
