"""What a third party's plugin sees, and the hooks it can provide; `maar.plugins` has them for plugins."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any


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
    """The hooks of a plugin; None for those that it does not provide.

    `concerns` is called once for all pods with the same requests and constraints: where it returns False,
    filter and score are not called, and such pods are placed as fast as without the plugin.
    """

    concerns: Concerns | None = None  # whether filter and score concern pods with such requests; None: all
    filter: Filter | None = None  # whether the pod may go to the node
    score: Score | None = None  # the higher, the better
    job_order: JobOrder | None = None  # a key to sort by; the smallest first, all of one length and types
    veto: Veto | None = None  # whether the pod is protected from this action, "reclaim" or "preempt"

    def __post_init__(self) -> None:
        for one in fields(self):
            hook = getattr(self, one.name)
            if hook is not None and not callable(hook):
                raise TypeError(f"{one.name} is {hook!r}; it must be a callable or None")


class PluginError(Exception):
    """A hook of a third party's plugin raised, or returned what it may not."""


def checked(name: str, hooks: PluginHooks) -> PluginHooks:
    """The hooks of a plugin, whose failures name the plugin and what it was called with."""
    called = {
        one.name: _checked(name, one.name, hook)
        for one in fields(hooks)
        if (hook := getattr(hooks, one.name)) is not None
    }
    return replace(hooks, **called)


def _checked(plugin: str, hook: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def failing(arguments: tuple[object, ...], problem: str) -> PluginError:
        about = ", ".join(_described(one) for one in arguments)
        remedy = "correct the plugin, or remove it from the configuration"
        return PluginError(f"the plugin {plugin}: its {hook} {problem} for {about}; {remedy}")

    def hook_of_plugin(*arguments: object) -> object:
        try:
            answer = call(*arguments)
        except Exception as error:
            raise failing(arguments, f"raised {type(error).__name__}: {error}") from error
        if hook == "score" and not (isinstance(answer, int | float) and math.isfinite(answer)):
            raise failing(arguments, f"returned {answer!r}, which is not a finite number,")
        if hook == "job_order" and any(one != one for one in answer):  # noqa: PLR0124  NaN has no order
            raise failing(arguments, "returned a key with NaN, which has no order,")
        return answer

    return hook_of_plugin


def _described(argument: object) -> str:
    match argument:
        case PodView(key=key):
            return f"pod {key}"
        case NodeView(name=name):
            return f"node {name}"
        case GroupView(key=key):
            return f"pod group {key}"
        case _:
            return str(argument)


# From the plugin's arguments, as they are in the configuration.
PluginFactory = Callable[[Mapping[str, object]], PluginHooks]
