"""A recording of a scheduler as a workload: the same jobs again, under another configuration.

Objects are kept as they are, but for what the scheduler did to them: a pod arrives without a node,
a group without a status. What was there at the first decision is there at the start of the
simulation, pods on their nodes. Later changes of nodes, queues and priority classes happen when
they happened. Objects whose state follows from decisions (claims, volumes, disruption budgets) are
taken as they first were.

How long a pod runs is how long it ran, in all its runs that were not cut short by an eviction. One
that still ran when the recording ended runs at least that long; one that had not started runs for
as long as its annotation or deadline says, else it never ends. A pod that was deleted before it
started is left out.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from maar.core.model.metadata import Object
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.core.model.node import Node
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import READY_ANNOTATION, PodGroup, PodGroupStatus
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.model.run_time import EXPECTED_RUN_TIME, longest_run_time, stated_seconds
from maar.core.simulation.cluster import resubmitted
from maar.core.simulation.virtual_time import Arrival
from maar.core.traces.recorded_moments import Happening, RecordedMoment, Walk
from maar.core.traces.records import LAST_TIME
from maar.core.traces.skips import TraceError

_CHANGING: Final = (Namespace, Node, PriorityClass, Queue, ResourceQuota)


@dataclass(frozen=True)
class RecordingTotals:
    """What a recording has, and what is not known of it."""

    pods: int  # that arrive
    ended: int
    still_running: int  # when the recording ended: they run at least that long
    never_started: int  # how long they run is what they state
    withdrawn: int  # deleted before they started: left out


class RecordedWorkload:
    """The arrivals and run times of a recording; `moments` is called once now and once for the arrivals."""

    def __init__(
        self, moments: Callable[[], Iterable[RecordedMoment]], scheduler_name: str = "volcano"
    ) -> None:
        self._moments, self._scheduler_name = moments, scheduler_name
        self._ran: dict[str, float] = {}
        self._withdrawn: set[str] = set()
        self._groups: set[str] = set()  # with pods that arrive
        first = next(iter(moments()), None)
        if first is None:
            raise TraceError("there is no decision in the recording: record a scheduler that runs for longer")
        if not 0 <= first.time <= LAST_TIME:
            raise TraceError(f"the first decision of the recording is at {first.time:g}: that is not a time")
        self.start = first.time
        self.objects = [one.object for one in self._walk([first]) if one.what == "changed" and one.object]
        self.totals = self._measure()

    def run_time(self, pod: Pod) -> float | None:
        """How long a pod runs; None: it never ends."""
        ran = self._ran.get(pod.key)
        if ran is not None:
            return ran
        stated = stated_seconds(pod.metadata.annotations, EXPECTED_RUN_TIME)
        return stated if stated is not None else longest_run_time(pod)

    def arrivals(self) -> Iterator[Arrival]:
        """Groups and pods as they were submitted, and changes of all else, one moment after the other."""
        time, objects, seen = self.start, list[Object](), set[str]()
        for one in self._walk(self._moments()):
            arrived = self._arrived(one, seen)
            if arrived is None:
                continue
            if one.time > time:
                if objects:
                    yield Arrival(time, objects)
                time, objects = one.time, []
            objects.append(arrived)
        if objects:
            yield Arrival(time, objects)

    def _walk(self, moments: Iterable[RecordedMoment]) -> Iterator[Happening]:
        return Walk(self._scheduler_name).happenings(moments)

    def _arrived(self, one: Happening, seen: set[str]) -> Object | None:
        """The object that arrives with a happening, as it then is."""
        found, is_first = one.object, one.time <= self.start
        match found:
            case None:
                return None
            case Pod():
                if one.key in self._withdrawn or one.key in seen:
                    return None
                seen.add(one.key)
                is_ours = found.spec.scheduler_name == self._scheduler_name
                return found if is_first or not is_ours else _submitted(found)
            case PodGroup():
                if one.key not in self._groups:
                    return None
                return found if is_first else _without_status(found)
            case _:
                name = f"{type(found).__name__} {one.key}"
                is_new = name not in seen
                seen.add(name)
                return found if not is_first and (is_new or isinstance(found, _CHANGING)) else None

    def _measure(self) -> RecordingTotals:
        running, ended, last = dict[str, float](), 0, self.start
        pods, waiting, deleted = dict[str, str](), set[str](), set[str]()  # pods with their groups
        for one in self._walk(self._moments()):
            last = max(last, one.time)
            key = one.key
            match one.what:
                case "arrived" if isinstance(one.object, Pod):
                    pods[key] = _group_of(one.object)
                    waiting.add(key)
                    deleted.discard(key)
                case "started":
                    running[key] = one.time
                    waiting.discard(key)
                case "ended":
                    self._ran[key] = self._ran.get(key, 0.0) + max(0.0, one.time - running.pop(key, one.time))
                    ended += 1
                case "stopped":
                    running.pop(key, None)
                case "withdrawn" if key in waiting:
                    deleted.add(key)
                case _:
                    pass
        for key, started in running.items():
            self._ran[key] = self._ran.get(key, 0.0) + max(0.0, last - started)
        self._withdrawn = deleted & waiting
        self._groups = {group for key, group in pods.items() if key not in self._withdrawn}
        never_started = pods.keys() - self._ran.keys() - self._withdrawn
        return RecordingTotals(
            len(pods) - len(self._withdrawn), ended, len(running), len(never_started), len(self._withdrawn)
        )


def _group_of(pod: Pod) -> str:
    """The key of a pod's group; empty where it has none."""
    name = pod.metadata.annotations.get(GROUP_ANNOTATION)
    return f"{pod.metadata.namespace or 'default'}/{name}" if name else ""


def _submitted(pod: Pod) -> Pod:
    """A pod as its user submitted it."""
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=None)
    return resubmitted(msgspec.structs.replace(pod, metadata=metadata))


def _without_status(group: PodGroup) -> PodGroup:
    """A group as its user submitted it."""
    notes = {name: text for name, text in group.metadata.annotations.items() if name != READY_ANNOTATION}
    metadata = msgspec.structs.replace(group.metadata, annotations=notes)
    return msgspec.structs.replace(group, metadata=metadata, status=PodGroupStatus())
