"""Sums over pods, kept up to date pod by pod: a change costs the same whatever the number of pods."""

from typing import Final, NamedTuple

import msgspec

from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.resources import Resources

_ENDED: Final = ("Succeeded", "Failed")


class PodFacts(NamedTuple):
    """What rows of jobs and nodes ask about a pod, worked out once."""

    group: str  # the key of its pod group, empty where it has none
    node: str
    phase: str
    request: Resources
    priority: int
    started: float | None
    queue: str = ""  # of its pod group; empty where that is not known

    @classmethod
    def of(cls, pod: Pod) -> "PodFacts":
        """Read a pod."""
        namespace = pod.metadata.namespace or "default"
        name = pod.metadata.annotations.get(GROUP_ANNOTATION, "")
        started = pod.status.start_time
        return cls(
            group=f"{namespace}/{name}" if name else "",
            node=pod.spec.node_name,
            phase=pod.status.phase,
            request=pod.request,
            priority=pod.spec.priority or 0,
            started=started.timestamp() if started and pod.status.phase != "Pending" else None,
        )

    @property
    def is_live(self) -> bool:
        """Whether it holds what it asks for, or will."""
        return self.phase not in _ENDED


class GroupPods:
    """The pods of one group: how many there are in each phase, and what the live ones ask for together.

    There are as many of these as pod groups, so that they are as small as can be.
    """

    __slots__ = ("failed", "keys", "pending", "priority", "request", "running", "started", "succeeded")

    def __init__(self) -> None:
        self.keys = set[str]()
        self.running = self.pending = self.succeeded = self.failed = 0
        self.request: Resources = _NOTHING
        self.priority = 0
        self.started: float | None = None  # the first of those that run; of earlier runs nothing

    def add(self, key: str, pod: PodFacts) -> None:
        """Count a pod."""
        self.keys.add(key)
        self._count(pod.phase, 1)
        if pod.is_live:
            self.request = self.request.plus(pod.request) if self.request else pod.request
        self.priority = pod.priority
        if pod.started is not None:
            self.started = pod.started if self.started is None else min(self.started, pod.started)

    def remove(self, key: str, pod: PodFacts) -> None:
        """Take a pod out as it was counted."""
        self.keys.discard(key)
        self._count(pod.phase, -1)
        if pod.is_live:
            self.request = self.request.minus(pod.request)
        if not self.running and not self.succeeded:
            self.started = None

    def _count(self, phase: str, sign: int) -> None:
        match phase:
            case "Running":
                self.running += sign
            case "Succeeded":
                self.succeeded += sign
            case "Failed":
                self.failed += sign
            case _:
                self.pending += sign


class NodePods:
    """The live pods of one node: what they ask for together, and by queue."""

    __slots__ = ("by_queue", "pods", "used")

    def __init__(self) -> None:
        self.pods = 0
        self.used: dict[str, int] = {}
        self.by_queue: dict[str, dict[str, int]] = {}

    def count(self, pod: PodFacts, sign: int) -> None:
        """Add a pod, or with -1 take it out as it was added."""
        if not pod.is_live:
            return
        self.pods += sign
        _add(self.used, pod.request, sign)
        of_queue = self.by_queue.setdefault(pod.queue, {})
        _add(of_queue, pod.request, sign)
        if not any(of_queue.values()):
            del self.by_queue[pod.queue]


def without_conditions(pod: Pod) -> Pod:
    """A pod as it is kept: no row and no decision reads its conditions, which are a third of it."""
    status = msgspec.structs.replace(pod.status, conditions=())
    return msgspec.structs.replace(pod, status=status)


def _add(sums: dict[str, int], amounts: Resources, sign: int) -> None:
    for name, units in amounts.items():
        sums[name] = sums.get(name, 0) + sign * units


_NOTHING: Final = Resources()
