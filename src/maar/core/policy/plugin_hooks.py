"""What a third party's plugin is shown, and what it can say: the protocol of `maar.plugins`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class PodView:
    """A pod as a plugin sees it; requests are whole units: milli-CPU, bytes, pieces."""

    key: str
    namespace: str
    priority: int
    labels: Mapping[str, str]
    group: str  # the key of its pod group
    requests: Mapping[str, int]


@dataclass(frozen=True)
class NodeView:
    """A node as a plugin sees it."""

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]


@dataclass(frozen=True)
class GroupView:
    """A pod group as a plugin sees it."""

    key: str
    namespace: str
    queue: str
    priority: int
    created: float  # seconds since 1970


Filter = Callable[[PodView, NodeView], bool]
Score = Callable[[PodView, NodeView], float]
JobOrder = Callable[[GroupView], tuple[float | str, ...]]
Veto = Callable[[PodView, str], bool]


@dataclass(frozen=True)
class PluginHooks:
    """What a plugin has to say; it is not asked where it says None."""

    filter: Filter | None = None  # may the pod go to the node?
    score: Score | None = None  # how well it would be there; more is better
    job_order: JobOrder | None = None  # a key; the smallest goes first, and all keys have one shape
    veto: Veto | None = None  # True protects the pod from this action, "reclaim" or "preempt"

    def __post_init__(self) -> None:
        for one in fields(self):
            opinion = getattr(self, one.name)
            if opinion is not None and not callable(opinion):
                raise TypeError(f"{one.name} is {opinion!r}; it must be a callable or None")


PluginFactory = Callable[
    [Mapping[str, object]], PluginHooks
]  # from the plugin's arguments, as they were written
