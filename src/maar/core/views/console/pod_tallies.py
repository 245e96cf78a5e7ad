"""Sums over pods, kept up to date pod by pod: a change costs the same whatever the number of pods."""

from collections import Counter
from typing import NamedTuple

from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.resources import Resources


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
        return self.phase not in ("Succeeded", "Failed")


class GroupPods:
    """The pods of one group: how many there are in each phase, and what the live ones ask for together."""

    __slots__ = ("keys", "phases", "priority", "request", "started")

    def __init__(self) -> None:
        self.keys = set[str]()
        self.phases, self.request = Counter[str](), Counter[str]()
        self.priority = 0
        self.started: float | None = None  # the first of those that run; of earlier runs nothing

    def count(self, key: str, pod: PodFacts, sign: int) -> None:
        """Add a pod, or with -1 take it out as it was added."""
        (self.keys.add if sign > 0 else self.keys.discard)(key)
        self.phases[pod.phase] += sign
        if pod.is_live:
            _add(self.request, pod.request, sign)
        if sign > 0:
            self.priority = pod.priority
            if pod.started is not None:
                self.started = pod.started if self.started is None else min(self.started, pod.started)
        elif not self.phases["Running"] and not self.phases["Succeeded"]:
            self.started = None


class NodePods:
    """The live pods of one node: what they ask for together, and by queue."""

    __slots__ = ("by_queue", "pods", "used")

    def __init__(self) -> None:
        self.pods = 0
        self.used = Counter[str]()
        self.by_queue: dict[str, Counter[str]] = {}

    def count(self, pod: PodFacts, sign: int) -> None:
        """Add a pod, or with -1 take it out as it was added."""
        if not pod.is_live:
            return
        self.pods += sign
        _add(self.used, pod.request, sign)
        of_queue = self.by_queue.setdefault(pod.queue, Counter())
        _add(of_queue, pod.request, sign)
        if not any(of_queue.values()):
            del self.by_queue[pod.queue]


def _add(sums: Counter[str], amounts: Resources, sign: int) -> None:
    for name, units in amounts.items():
        sums[name] += sign * units
