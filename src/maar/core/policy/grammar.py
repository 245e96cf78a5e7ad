"""The terms of a scheduler configuration: which are known, how they are typed, which have an effect."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Final

from maar.core.model.resources import CPU, MEMORY
from maar.core.policy.values import (
    boolean,
    duration,
    ignored,
    names,
    nonnegative_number,
    number,
    positive,
    positive_duration,
    whole,
)

ACTIONS: Final = ("enqueue", "allocate", "backfill", "reclaim", "preempt", "cleanup")

# What Volcano takes a switch to be where it is not set; the spelling is irregular there, too.
SWITCHES: Final[Mapping[str, bool]] = {
    "enableJobOrder": True, "enableHierarchy": False, "enableJobReady": True, "enableJobPipelined": True,
    "enableTaskOrder": True, "enablePreemptable": True, "enableReclaimable": True, "enablePreemptive": True,
    "enableQueueOrder": True, "enabledClusterOrder": False, "enablePredicate": True, "enableBestNode": True,
    "enableNodeOrder": True, "enableTargetJob": True, "enableReservedNodes": True, "enableJobEnqueued": True,
    "enabledVictim": True, "enableJobStarving": True, "enabledOverused": True, "enabledAllocatable": True,
    "enabledHyperNodeOrder": True, "enabledSubJobReady": True, "enabledSubJobPipelined": True,
    "enabledSubJobOrder": True, "enabledHyperNodeGradient": True,
}  # fmt: skip

ANY_NAME: Final = "<name>"  # at the end of an argument's name: every name may stand there
BINPACK_RESOURCES: Final = "binpack.resources"
FACTOR: Final = "overcommit-factor"
USUAL_FACTOR: Final = Fraction(6, 5)
SLA_WAITING_TIME: Final = "sla-waiting-time"
SLA_DEPTH: Final = "depth"
USUAL_SLA_DEPTH: Final = 1
GRACE: Final = "gracePeriod"
USUAL_GRACE_SECONDS: Final = 60.0
HALF_LIFE: Final = "halfLife"
STRENGTH: Final = "strength"


@dataclass(frozen=True, kw_only=True)
class BinPackWeights:
    """How much packing counts, and each resource in it."""

    weight: int = field(default=1, metadata={"argument": "binpack.weight"})
    resources: Mapping[str, int] = field(default_factory=lambda: {CPU: 1, MEMORY: 1})


@dataclass(frozen=True, kw_only=True)
class NodeOrderWeights:
    """How much each of nodeorder's scores counts."""

    node_affinity: int = field(default=2, metadata={"argument": "nodeaffinity.weight"})
    pod_affinity: int = field(default=2, metadata={"argument": "podaffinity.weight"})
    least_requested: int = field(default=1, metadata={"argument": "leastrequested.weight"})
    most_requested: int = field(default=0, metadata={"argument": "mostrequested.weight"})
    balanced_resource: int = field(default=1, metadata={"argument": "balancedresource.weight"})
    taint_toleration: int = field(default=3, metadata={"argument": "tainttoleration.weight"})
    pod_topology_spread: int = field(default=2, metadata={"argument": "podtopologyspread.weight"})


@dataclass(frozen=True, kw_only=True)
class Predicates:
    """Which filters are enabled; those of resources, the pod count and unschedulable nodes always are."""

    node_affinity: bool = field(default=True, metadata={"argument": "predicate.NodeAffinityEnable"})
    node_ports: bool = field(default=True, metadata={"argument": "predicate.NodePortsEnable"})
    taint_toleration: bool = field(default=True, metadata={"argument": "predicate.TaintTolerationEnable"})
    pod_affinity: bool = field(default=True, metadata={"argument": "predicate.PodAffinityEnable"})
    pod_topology_spread: bool = field(
        default=True, metadata={"argument": "predicate.PodTopologySpreadEnable"}
    )
    volume_binding: bool = field(default=True, metadata={"argument": "predicate.VolumeBindingEnable"})


@dataclass(frozen=True)
class Argument:
    """How an argument is typed, and whether Maar does anything with it."""

    read: Callable[[object], object]
    has_effect: bool = True


@dataclass(frozen=True)
class PluginGrammar:
    """A plugin's switches that have an effect, and its arguments."""

    effective_switches: frozenset[str]
    arguments: Mapping[str, Argument] = field(default_factory=dict)


def set_by(tuned: type[BinPackWeights | NodeOrderWeights | Predicates]) -> dict[str, str]:
    """The fields that arguments set, by the argument's name."""
    return {one.metadata["argument"]: one.name for one in fields(tuned) if one.metadata}


_WITHOUT_EFFECT: Final = {bool: Argument(boolean, has_effect=False), int: Argument(whole, has_effect=False)}

_OF_VOLCANOS_USAGE: Final = Argument(ignored, has_effect=False)

# The laws of eviction hold whatever is switched: no switch of gang or proportion turns them off.
PLUGINS: Final[Mapping[str, PluginGrammar]] = {
    "priority": PluginGrammar(frozenset({"enableJobOrder", "enableTaskOrder", "enablePreemptable"})),
    "gang": PluginGrammar(frozenset({"enableJobOrder", "enableJobReady"})),
    "conformance": PluginGrammar(frozenset({"enablePreemptable", "enableReclaimable"})),
    "overcommit": PluginGrammar(frozenset({"enableJobEnqueued"}), {FACTOR: Argument(number)}),
    "drf": PluginGrammar(frozenset({"enableJobOrder", "enablePreemptable"})),
    "predicates": PluginGrammar(
        frozenset({"enablePredicate"}),
        dict.fromkeys(set_by(Predicates), Argument(boolean))
        | dict.fromkeys(
            (
                "predicate.NodeVolumeLimitsEnable",
                "predicate.VolumeZoneEnable",
                "predicate.DynamicResourceAllocationEnable",
                "predicate.CacheEnable",
            ),
            _WITHOUT_EFFECT[bool],
        ),
    ),
    "proportion": PluginGrammar(frozenset({"enableQueueOrder", "enabledAllocatable", "enableJobEnqueued"})),
    "nodeorder": PluginGrammar(
        frozenset({"enableNodeOrder"}),
        dict.fromkeys(set_by(NodeOrderWeights), Argument(whole))
        | {"imagelocality.weight": _WITHOUT_EFFECT[int]},
    ),
    "binpack": PluginGrammar(
        frozenset({"enableNodeOrder"}),
        {
            **dict.fromkeys(set_by(BinPackWeights), Argument(whole)),
            f"binpack.{CPU}": Argument(whole),
            f"binpack.{MEMORY}": Argument(whole),
            BINPACK_RESOURCES: Argument(names),
            f"{BINPACK_RESOURCES}.{ANY_NAME}": Argument(whole),
        },
    ),
    "sla": PluginGrammar(frozenset(), {SLA_WAITING_TIME: Argument(duration), SLA_DEPTH: Argument(positive)}),
    "usage": PluginGrammar(
        frozenset(),
        {HALF_LIFE: Argument(positive_duration), STRENGTH: Argument(nonnegative_number)}
        | dict.fromkeys(
            ("usage.weight", "cpu.weight", "memory.weight", "thresholds", "usageWeight"), _OF_VOLCANOS_USAGE
        )
        | dict.fromkeys((f"thresholds.{ANY_NAME}", f"usageWeight.{ANY_NAME}"), _OF_VOLCANOS_USAGE),
    ),
}

# Plugins of Volcano's that Maar does not have: a configuration that names them is accepted with a warning.
NOT_IN_MAAR: Final = frozenset({
    "capacity", "cdp", "crossquota", "deviceshare", "extender", "fairshare", "network-topology-aware",
    "nodegroup", "numa-aware", "pdb", "rescheduling", "reservation", "resource-strategy-fit", "resourcequota",
    "task-topology", "tdm",
})  # fmt: skip

# A third party's plugin is called through its hooks; only the plugin itself knows its arguments.
THIRD_PARTY_SWITCHES: Final = frozenset(
    {"enablePredicate", "enableNodeOrder", "enableJobOrder", "enablePreemptable", "enableReclaimable"}
)

USUAL_TIERS: Final = (
    ("priority", "gang", "conformance"),
    ("overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"),
)

_OF_EVERY_ACTION: Final = {"predicateErrorCacheEnable": _WITHOUT_EFFECT[bool]}
ACTION_ARGUMENTS: Final[Mapping[str, Mapping[str, Argument]]] = dict.fromkeys(ACTIONS, _OF_EVERY_ACTION) | {
    "preempt": _OF_EVERY_ACTION
    | {"enableTopologyAwarePreemption": _WITHOUT_EFFECT[bool]}
    | dict.fromkeys(
        (
            "topologyAwarePreemptWorkerNum",
            "minCandidateNodesPercentage",
            "minCandidateNodesAbsolute",
            "maxCandidateNodesAbsolute",
        ),
        _WITHOUT_EFFECT[int],
    ),
    "cleanup": _OF_EVERY_ACTION | {GRACE: Argument(duration)},
}


def argument_named(name: str, known: Mapping[str, Argument]) -> Argument | None:
    """Find an argument by its name, or by the beginning of it where any name may follow."""
    if name in known and not name.endswith(ANY_NAME):
        return known[name]
    for pattern, argument in known.items():
        prefix = pattern.removesuffix(ANY_NAME)
        if prefix != pattern and name.startswith(prefix) and name != prefix:
            return argument
    return None
