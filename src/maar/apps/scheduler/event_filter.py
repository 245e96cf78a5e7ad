"""Tells events that may change a decision from echoes of own writes and from heartbeats."""

from dataclasses import dataclass, field

from maar.core.model.events import Deleted, Event
from maar.core.model.metadata import mark
from maar.core.model.namespace import ResourceQuota
from maar.core.model.node import Node
from maar.core.model.plan import GroupOutcome, Plan
from maar.core.model.pod import GROUP_ANNOTATION, PREEMPTABLE_MARK, TASK_ANNOTATION, Pod
from maar.core.model.pod_group import READY_ANNOTATION, PodGroup
from maar.core.model.queue import Queue
from maar.core.model.workload import BatchJob
from maar.core.tables.axis import LARGEST_REQUEST
from maar.core.tables.numbers import number_of
from maar.core.tables.rows import PodRow
from maar.core.tables.tables import Tables

_Steady = (
    Node | Queue | PodGroup | ResourceQuota | BatchJob
)  # their status changes often, what is asked of them seldom


@dataclass(eq=False)
class EventFilter:
    """Decides which events need a decision; one it misses is decided on at the next tick."""

    tables: Tables
    _before: dict[tuple[str, str], object] = field(default_factory=dict)
    _outcomes: dict[str, GroupOutcome] = field(default_factory=dict)  # of the last decision

    def is_in(self, events: list[Event]) -> bool:
        """Whether one of these may change a decision; what they ask for is remembered."""
        is_needed = False
        for event in events:
            if isinstance(event, Deleted):
                self._before.pop((event.kind, event.key), None)
                is_needed = True
            elif isinstance(event.object, Pod):  # the tables remember pods
                is_needed = is_needed or self._has_changed(event.object)
            elif isinstance(event.object, _Steady):
                is_needed |= self._is_news(event.object)
            else:
                is_needed = True
        return is_needed

    def _has_changed(self, pod: Pod) -> bool:
        row = self.tables.pods.get(pod.key)
        return row is None or _has_moved(row, pod) or self._is_changed(row, pod)

    def _is_news(self, one: _Steady) -> bool:
        place, asked = (type(one).__name__, one.key), _decision_fields(one)
        known, self._before[place] = self._before.get(place), asked
        return known != asked or (isinstance(one, PodGroup) and self._is_set_back(one))

    def decided(self, plan: Plan) -> None:
        """Remember the phases that a decision gives to groups: status events with them are echoes."""
        self._outcomes = plan.pod_groups

    def _is_set_back(self, group: PodGroup) -> bool:
        """Whether another client has given a group a phase that neither the tables nor the last plan have."""
        row, outcome = self.tables.groups.get(group.key), self._outcomes.get(group.key)
        phase = group.status.phase or "Pending"
        return row is not None and outcome is not None and phase not in (row.stored_phase, outcome.phase)

    def _is_changed(self, row: PodRow, pod: Pod) -> bool:
        """Whether a pod belongs elsewhere, counts otherwise or needs something else than the tables have it.

        It is not read into a row for that: a decision may be under way, and reading may add resources.
        """
        metadata, spec = pod.metadata, pod.spec
        group = metadata.annotations.get(GROUP_ANNOTATION, "")
        return (
            row.group_key != (f"{row.namespace}/{group}" if group else "")
            or row.task != metadata.annotations.get(TASK_ANNOTATION, "")
            or row.preemptable != mark(metadata, PREEMPTABLE_MARK)
            or row.stated_priority != spec.priority
            or row.priority_class != spec.priority_class_name
            or row.number != number_of(metadata)
            or row.shape.tolerations != spec.tolerations
            or row.shape.node_selector != tuple(sorted(spec.node_selector.items()))
            or not self._needs_the_same(row, pod)
        )

    def _needs_the_same(self, row: PodRow, pod: Pod) -> bool:
        """Whether a pod asks for as much as the tables have it; requests of running pods can be resized."""
        names, asked = self.tables.axis.names, pod.request
        needs = {names[resource]: amount for resource, amount in row.shape.needs}
        return all(needs.get(name, 0) == min(amount, LARGEST_REQUEST) for name, amount in asked.items()) and (
            needs.keys() <= asked.keys()
        )


def _has_moved(row: PodRow, pod: Pod) -> bool:
    """Whether a pod is elsewhere, or otherwise placed, than the tables have it, our own writes included."""
    return (
        row.node_name != pod.spec.node_name
        or row.is_live == pod.is_finished
        or row.is_terminating != pod.is_leaving
        or row.is_gated != bool(pod.spec.scheduling_gates)
        or (not row.node_name and row.nominated != pod.status.nominated_node_name)
        or row.labels != tuple(pod.metadata.labels.items())
    )


def _decision_fields(one: _Steady) -> object:
    """What decisions read of an object."""
    annotations = one.metadata.annotations
    if READY_ANNOTATION in annotations:  # our own, written with the status
        annotations = {name: text for name, text in annotations.items() if name != READY_ANNOTATION}
    asked = (one.metadata.uid, one.metadata.labels, annotations, one.spec)
    return (*asked, one.status.allocatable, one.is_ready) if isinstance(one, Node) else asked
