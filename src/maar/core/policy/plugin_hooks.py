"""What a third party's plugin sees, and the hooks it can provide; `maar.plugins` has them for plugins."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields


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
    """A node as a plugin sees it in the middle of a decision.

    In use is what pods hold there that stay, those placed in this decision and nominated ones included;
    victims are gone. `pods` are the same pods; they are read when a plugin asks for them.
    """

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    used: Mapping[str, int] = field(default_factory=dict)
    pods: Sequence[PodView] = ()


@dataclass(frozen=True)
class GroupView:
    """A pod group as a plugin sees it."""

    key: str
    namespace: str
    queue: str
    priority: int
    created: float  # seconds since 1970


Concerns = Callable[[Mapping[str, int]], bool]
Filter = Callable[[PodView, NodeView], bool]
Score = Callable[[PodView, NodeView], float]
JobOrder = Callable[[GroupView], tuple[float | str, ...]]
Veto = Callable[[PodView, str], bool]


@dataclass(frozen=True)
class PluginHooks:
    """The hooks of a plugin; None where it has nothing to say.

    `concerns` is asked once for all pods with the same requests and constraints: where it says no, filter and
    score are not called, and such pods are placed as fast as without the plugin.
    """

    concerns: Concerns | None = (
        None  # of the pod's requests: do filter and score concern such pods? None: all
    )
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
