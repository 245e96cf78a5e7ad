"""What a new decision could come of, and what is only an echo of the last one or a sign of life."""

from dataclasses import dataclass, field

from maar.core.model.events import Event, Vanished
from maar.core.model.namespace import ResourceQuota
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.tables.rows import PodRow
from maar.core.tables.tables import Tables

_Steady = Node | Queue | PodGroup | ResourceQuota  # their status changes often, what is asked of them seldom


@dataclass(eq=False)
class News:
    """Tells news from the rest; whoever is wrong about something waits for the next tick at most."""

    tables: Tables
    _before: dict[tuple[str, str], object] = field(default_factory=dict)

    def is_in(self, events: list[Event]) -> bool:
        """Whether a decision could come of one of these; they are all looked at, and remembered."""
        return sum([self._is_news(event) for event in events]) > 0

    def _is_news(self, event: Event) -> bool:
        if isinstance(event, Vanished):
            self._before.pop((event.kind, event.key), None)
            return True
        one = event.object
        if isinstance(one, Pod):
            row = self.tables.pods.get(one.key)
            return row is None or _has_changed(row, one)
        if isinstance(one, _Steady):
            place, asked = (type(one).__name__, one.key), _asked(one)
            known, self._before[place] = self._before.get(place), asked
            return known != asked
        return True


def _has_changed(row: PodRow, pod: Pod) -> bool:
    """Whether a pod is elsewhere, or otherwise placed, than the tables have it, our own writes included."""
    metadata = pod.metadata
    return (
        row.node_name != pod.spec.node_name
        or row.is_live == pod.is_finished
        or row.is_terminating != pod.is_terminating
        or row.is_gated != bool(pod.spec.scheduling_gates)
        or (not row.node_name and row.nominated != pod.status.nominated_node_name)
        or row.labels != tuple(metadata.labels.items())
    )


def _asked(one: _Steady) -> object:
    """What decisions read of an object."""
    asked = (one.metadata.uid, one.metadata.labels, one.metadata.annotations, one.spec)
    return (*asked, one.status.allocatable, one.is_ready) if isinstance(one, Node) else asked
