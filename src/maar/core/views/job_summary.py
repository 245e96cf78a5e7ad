"""Pods and events of jobs as commands show them: summaries have the fields that are shown."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, Final

import msgspec

from maar.core.model.metadata import Condition, Metadata, Object, OwnerReference, Record, Time
from maar.core.model.pod import Named
from maar.core.model.whole_numbers import whole_number

JOB_LABEL: Final = "volcano.sh/job-name"
TASK_LABEL: Final = "volcano.sh/task-spec"
INDEX_LABEL: Final = "volcano.sh/task-index"
QUEUE_LABEL: Final = "volcano.sh/queue-name"


class ContainerWaiting(Record, frozen=True):
    """Why a container does not run."""

    reason: str = ""
    message: str = ""


class ContainerEnd(Record, frozen=True):
    """How a container ended."""

    reason: str = ""
    message: str = ""
    exit_code: int = 0
    signal: int = 0
    finished_at: Time | None = None


class ContainerSummaryState(Record, frozen=True):
    """What a container does: one of these, or it runs."""

    waiting: ContainerWaiting | None = None
    running: dict[str, object] | None = None
    terminated: ContainerEnd | None = None


class ContainerSummary(Record, frozen=True):
    """A container of a pod."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerSummaryState = ContainerSummaryState()


class PodSummarySpec(Record, frozen=True):
    """Where a pod runs, and its containers."""

    node_name: str = ""
    containers: tuple[Named, ...] = ()


class PodSummaryStatus(Record, frozen=True):
    """How far a pod has come."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: Time | None = None
    pod_ip: str = msgspec.field(default="", name="podIP")
    nominated_node_name: str = ""
    container_statuses: tuple[ContainerSummary, ...] = ()
    init_container_statuses: tuple[ContainerSummary, ...] = ()
    conditions: tuple[Condition, ...] = ()


class PodSummary(Object, frozen=True, tag="Pod"):
    """A pod."""

    api_version: ClassVar[str] = "v1"
    plural: ClassVar[str] = "pods"
    namespaced: ClassVar[bool] = True

    spec: PodSummarySpec = PodSummarySpec()
    status: PodSummaryStatus = PodSummaryStatus()

    @property
    def order(self) -> tuple[str, int, str]:
        """By task, then by index as a number."""
        labels = self.metadata.labels
        return labels.get(TASK_LABEL, ""), whole_number(labels.get(INDEX_LABEL, "")) or 0, self.key


class EventSeries(Record, frozen=True):
    """How often the same has happened."""

    count: int = 0
    last_observed_time: Time | None = None


class EventSource(Record, frozen=True):
    """The program that reported it."""

    component: str = ""


class EventSummary(Object, frozen=True, tag="Event"):
    """Something that was reported of an object."""

    api_version: ClassVar[str] = "v1"
    plural: ClassVar[str] = "events"
    namespaced: ClassVar[bool] = True

    type: str = ""
    reason: str = ""
    message: str = ""
    count: int | None = None
    first_timestamp: Time | None = None
    last_timestamp: Time | None = None
    event_time: Time | None = None
    series: EventSeries | None = None
    source: EventSource = EventSource()
    reporting_component: str = ""
    involved_object: OwnerReference = OwnerReference()

    @property
    def last_seen(self) -> datetime | None:
        """When it happened last."""
        series = self.series.last_observed_time if self.series else None
        return series or self.last_timestamp or self.event_time or self.metadata.creation_timestamp

    @property
    def times(self) -> int:
        """How often it has happened."""
        return (self.series.count if self.series else 0) or self.count or 1


def newest_last(events: Sequence[EventSummary]) -> list[EventSummary]:
    """Events in the order in which they happened last."""
    return sorted(events, key=lambda one: (one.last_seen is not None, one.last_seen, one.metadata.name))


def created(metadata: Metadata) -> str:
    """When an object was made, as ages are counted from; empty where it is not known."""
    return metadata.creation_timestamp.isoformat() if metadata.creation_timestamp else ""
