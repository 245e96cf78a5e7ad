"""What happened to pods, groups and all else in a recording, told apart from what the scheduler caused.

The same walk is made twice: once to measure how long pods ran, once to let them arrive. A pod that
was evicted comes again under its name, made by its controller or by the simulator that was
recorded; it is the same pod. A group that was deleted and comes again under its name is another
group: it gets a number, and its pods with it, since in a simulation the first may still be there.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

import msgspec

from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue


class RecordedMoment(NamedTuple):
    """What a scheduler learned before a decision."""

    time: float  # of the decision
    events: list[Event]
    evicted: frozenset[str] = frozenset()  # pods that it had evicted, since the moment before
    restarts: bool = False  # the scheduler has started: the events are all that there is


_Renamed = TypeVar("_Renamed", Pod, PodGroup)
What = Literal["arrived", "started", "ended", "stopped", "withdrawn", "changed"]


class Happening(NamedTuple):
    """Something that happened to an object, under the name that it has in the simulation."""

    what: What
    time: float
    key: str
    object: Object | None = None


@dataclass(slots=True)
class _Known:
    """A pod that is there."""

    key: str  # in the simulation
    is_running: bool = False
    is_evicted: bool = False
    has_run: bool = False


@dataclass(eq=False)
class Walk:
    """The state of the cluster while a recording is read."""

    scheduler_name: str
    _pods: dict[str, _Known] = field(default_factory=dict)
    _groups: dict[str, None] = field(default_factory=dict)  # that are there
    _deletions: dict[str, int] = field(default_factory=dict)  # of groups, and of pods without one
    _others: dict[tuple[str, str], Object] = field(default_factory=dict)

    def happenings(self, moments: Iterable[RecordedMoment]) -> Iterator[Happening]:
        """Everything that happened, in order of time."""
        time = 0.0
        for moment in moments:
            time = max(time, moment.time)  # the next run may have had another clock
            for key in moment.evicted & self._pods.keys():
                self._pods[key].is_evicted = True
            gone = self._gone(moment.events) if moment.restarts else []
            for event in (*gone, *moment.events):
                yield from self._happened(event, time)

    def _gone(self, listed: Iterable[Event]) -> list[Event]:
        """What was deleted while no scheduler ran."""
        there = {(type(one.object).__name__, one.object.key) for one in listed if isinstance(one, Upserted)}
        known = [*(("Pod", key) for key in self._pods), *(("PodGroup", key) for key in self._groups)]
        missing = [one for one in (*known, *self._others) if one not in there]
        return [Deleted(kind=kind, key=key) for kind, key in missing]

    def _happened(self, event: Event, time: float) -> Iterator[Happening]:
        match event:
            case Upserted(object=Pod() as pod):
                yield from self._pod(pod, time)
            case Upserted(object=PodGroup() as group):
                if group.key not in self._groups:
                    self._groups[group.key] = None
                    renamed = _renamed(group, self._deletions.get(group.key, 0))
                    yield Happening("arrived", time, renamed.key, renamed)
            case Upserted(object=other):
                yield from self._other(other, time)
            case Deleted(kind="Pod", key=key):
                yield from self._pod_deleted(key, time)
            case Deleted(kind="PodGroup", key=key):
                if key in self._groups:
                    del self._groups[key]
                    self._deletions[key] = self._deletions.get(key, 0) + 1
            case Deleted(kind=kind, key=key):
                yield from self._other_deleted(kind, key, time)

    def _other(self, other: Object, time: float) -> Iterator[Happening]:
        """An object that is neither pod nor group; a new status of a queue is not a change of it."""
        kind = type(other).__name__, other.key
        known = self._others.get(kind)
        metadata = msgspec.structs.replace(other.metadata, resource_version="")
        other = msgspec.structs.replace(other, metadata=metadata)
        if isinstance(other, Queue) and isinstance(known, Queue):
            other = msgspec.structs.replace(other, status=known.status)
        if known != other:
            self._others[kind] = other
            yield Happening("changed", time, other.key, other)

    def _other_deleted(self, kind: str, key: str, time: float) -> Iterator[Happening]:
        """An object is gone; nodes do not leave a simulation, but nothing more is placed on one."""
        gone = self._others.pop((kind, key), None)
        if isinstance(gone, Node):
            spec = msgspec.structs.replace(gone.spec, unschedulable=True)
            yield Happening("changed", time, key, msgspec.structs.replace(gone, spec=spec))

    def _pod(self, pod: Pod, time: float) -> Iterator[Happening]:
        known = self._pods.get(pod.key)
        is_ours = pod.spec.scheduler_name == self.scheduler_name
        if known is None:
            if pod.is_finished or not (is_ours or pod.spec.node_name):
                return
            renamed = self._numbered(pod)
            known = self._pods[pod.key] = _Known(renamed.key)
            yield Happening("arrived", time, known.key, renamed)
        if pod.is_finished:
            if known.is_running:
                known.is_running, known.has_run = False, True
                yield Happening("ended", _end(pod, time), known.key)
        elif pod.spec.node_name and not known.is_running:
            known.is_running = True
            started = pod.status.start_time
            yield Happening("started", started.timestamp() if started else time, known.key)
        elif not pod.spec.node_name and known.is_running:
            known.is_running = known.is_evicted = False
            yield Happening("stopped", time, known.key)

    def _pod_deleted(self, key: str, time: float) -> Iterator[Happening]:
        known = self._pods.pop(key, None)
        if known is None:
            return
        if known.is_running:
            yield Happening("stopped" if known.is_evicted else "ended", time, known.key)
        elif not known.has_run:
            yield Happening("withdrawn", time, known.key)
        if known.has_run or (known.is_running and not known.is_evicted):
            self._deletions[key] = self._deletions.get(key, 0) + 1

    def _numbered(self, pod: Pod) -> Pod:
        """A pod with the number of its group, or with its own where it has none."""
        name = pod.metadata.annotations.get(GROUP_ANNOTATION, "")
        group = f"{pod.metadata.namespace or 'default'}/{name}"
        return _renamed(pod, self._deletions.get(group if name else pod.key, 0))


def _renamed(one: _Renamed, number: int) -> _Renamed:
    """An object that has come under its name before; its group, too, has the number in its name."""
    if not number:
        return one
    suffix = f"-{number + 1}"
    notes = dict(one.metadata.annotations)
    if GROUP_ANNOTATION in notes:
        notes[GROUP_ANNOTATION] += suffix
    metadata = msgspec.structs.replace(one.metadata, name=one.metadata.name + suffix, annotations=notes)
    return msgspec.structs.replace(one, metadata=metadata)


def _end(pod: Pod, time: float) -> float:
    """When the last container of a pod ended; where that is not known, when it was seen."""
    found = [
        one.state.terminated.finished_at.timestamp()
        for one in pod.status.container_statuses
        if one.state.terminated is not None and one.state.terminated.finished_at is not None
    ]
    return max(found, default=time)
