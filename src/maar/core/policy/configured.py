"""The configuration as a value: plugins as configured, and what follows from them, worked out once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, TypeVar

from maar.core.model.past_use import Usage
from maar.core.model.resources import CPU, MEMORY
from maar.core.policy.grammar import (
    BINPACK_RESOURCES,
    FACTOR,
    HALF_LIFE,
    SLA_DEPTH,
    SLA_WAITING_TIME,
    STRENGTH,
    SWITCHES,
    USUAL_FACTOR,
    USUAL_GRACE_SECONDS,
    USUAL_SLA_DEPTH,
    BinPackWeights,
    NodeOrderWeights,
    Predicates,
    set_by,
)
from maar.core.policy.plugin_hooks import JobOrder, PluginHooks, Veto

EVICTION_SWITCHES: Final = {"preempt": "enablePreemptable", "reclaim": "enableReclaimable"}

T = TypeVar("T")
TunedT = TypeVar("TunedT", BinPackWeights, NodeOrderWeights, Predicates)


@dataclass(frozen=True)
class Plugin:
    """A configured plugin: its tier, counted from 1, and the switches and arguments that are set."""

    name: str
    tier: int
    switches: Mapping[str, bool] = field(default_factory=dict)
    arguments: Mapping[str, object] = field(default_factory=dict)
    hooks: PluginHooks | None = field(default=None, compare=False)  # of a third party; follow from the rest


@dataclass(frozen=True)
class SlaSettings:
    """After how many seconds room is held for a group that states nothing, and for how many groups."""

    waiting_time: float | None
    depth: int


@dataclass(frozen=True)
class Configuration:
    """What an administrator decides about every cycle; plugins are in tier order.

    A configuration never changes, so that whatever follows from it is computed when it is first read.
    """

    actions: tuple[str, ...]
    plugins: tuple[Plugin, ...]
    grace_seconds: float = USUAL_GRACE_SECONDS
    warnings: tuple[str, ...] = ()

    @cached_property
    def enabled(self) -> frozenset[tuple[str, str]]:
        """The switches that are on, each with its plugin: of configured plugins, and not set to off."""
        return frozenset(
            (one.name, switch)
            for one in self.plugins
            for switch, unset in SWITCHES.items()
            if one.switches.get(switch, unset)
        )

    @cached_property
    def overcommit_factor(self) -> Fraction:
        """How much more than the total is admitted; a factor below 1 is not used."""
        factor = self._argument("overcommit", FACTOR, USUAL_FACTOR)
        return factor if factor >= 1 else USUAL_FACTOR

    @cached_property
    def binpack(self) -> BinPackWeights:
        """The weights of binpack: cpu, memory, and the resources that its argument lists."""
        resources = {one: self._argument("binpack", f"binpack.{one}", 1) for one in (CPU, MEMORY)}
        listed: tuple[str, ...] = ()
        for name in self._argument("binpack", BINPACK_RESOURCES, listed):
            resources.setdefault(name, self._argument("binpack", f"{BINPACK_RESOURCES}.{name}", 1))
        return replace(self._tuned("binpack", BinPackWeights()), resources=resources)

    @cached_property
    def node_order(self) -> NodeOrderWeights:
        """The weights of nodeorder."""
        return self._tuned("nodeorder", NodeOrderWeights())

    @cached_property
    def predicates(self) -> Predicates:
        """Which filters of predicates are enabled."""
        return self._tuned("predicates", Predicates())

    @cached_property
    def sla(self) -> SlaSettings | None:
        """When room is held for groups that wait; None where the plugin is not configured."""
        if not any(one.name == "sla" for one in self.plugins):
            return None
        waiting = self._arguments("sla").get(SLA_WAITING_TIME)
        return SlaSettings(
            waiting if isinstance(waiting, float) else None, self._argument("sla", SLA_DEPTH, USUAL_SLA_DEPTH)
        )

    @cached_property
    def usage(self) -> Usage | None:
        """How past use changes weights; None where the plugin is not configured."""
        if all(one.name != "usage" for one in self.plugins):
            return None
        usual = Usage()
        return Usage(
            self._argument("usage", HALF_LIFE, usual.half_life_s),
            self._argument("usage", STRENGTH, usual.strength),
        )

    @cached_property
    def heeds_taints(self) -> bool:
        """Whether taints exclude pods that do not tolerate them."""
        return ("predicates", "enablePredicate") in self.enabled and self.predicates.taint_toleration

    @cached_property
    def node_hooks(self) -> tuple[PluginHooks, ...]:
        """Third parties' filters and scores, in tier order, without those that are switched off."""
        found = [
            replace(
                one.hooks,
                filter=one.hooks.filter if (one.name, "enablePredicate") in self.enabled else None,
                score=one.hooks.score if (one.name, "enableNodeOrder") in self.enabled else None,
            )
            for one in self.plugins
            if one.hooks
        ]
        return tuple(one for one in found if one.filter is not None or one.score is not None)

    @cached_property
    def job_orders(self) -> tuple[JobOrder, ...]:
        """Third parties' orders of jobs, in tier order."""
        return tuple(one.job_order for one in self._hooks("enableJobOrder") if one.job_order is not None)

    @cached_property
    def vetoes(self) -> Mapping[str, tuple[Veto, ...]]:
        """Third parties' vetoes against victims, by action: "reclaim" or "preempt"."""
        return {
            action: tuple(one.veto for one in self._hooks(switch) if one.veto is not None)
            for action, switch in EVICTION_SWITCHES.items()
        }

    def _hooks(self, switch: str) -> Iterator[PluginHooks]:
        return (one.hooks for one in self.plugins if one.hooks and (one.name, switch) in self.enabled)

    def _arguments(self, plugin: str) -> Mapping[str, object]:
        return next((one.arguments for one in self.plugins if one.name == plugin), {})

    def _argument(self, plugin: str, name: str, default: T) -> T:
        value = self._arguments(plugin).get(name, default)
        return value if isinstance(value, type(default)) else default

    def _tuned(self, plugin: str, usual: TunedT) -> TunedT:
        names = set_by(type(usual))
        changes: dict[str, Any] = {
            names[key]: value for key, value in self._arguments(plugin).items() if key in names
        }  # typed when they were parsed
        return replace(usual, **changes)
