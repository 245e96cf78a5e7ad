"""The terms of a scheduler configuration: which are known, how they are typed, which have an effect."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Final, TypeVar

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
# Actions of Volcano's: those that Maar's evict whole gangs for anyway, and what it does not have.
ACTIONS_BY_NAME: Final[Mapping[str, str]] = {
    **{name: name for name in ACTIONS},
    "gangpreempt": "preempt",
    "gangreclaim": "reclaim",
}
ACTIONS_NOT_IN_MAAR: Final = frozenset({"shuffle"})

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


ValueT = TypeVar("ValueT", int, bool)


def _set_by(argument: str, default: ValueT, meaning: str) -> ValueT:
    """A field that an argument sets, with what it is for; the reference is made from it."""
    value: ValueT = field(default=default, metadata={"argument": argument, "meaning": meaning})
    return value


@dataclass(frozen=True, kw_only=True)
class BinPackWeights:
    """How much packing counts, and each resource in it."""

    weight: int = _set_by("binpack.weight", 1, "how much packing counts beside other scores")
    resources: Mapping[str, int] = field(default_factory=lambda: {CPU: 1, MEMORY: 1})


@dataclass(frozen=True, kw_only=True)
class NodeOrderWeights:
    """How much each of nodeorder's scores counts."""

    node_affinity: int = _set_by("nodeaffinity.weight", 2, "nodes that the pod prefers by their labels")
    pod_affinity: int = _set_by(
        "podaffinity.weight", 2, "nodes near or far from other pods, as the pod prefers"
    )
    least_requested: int = _set_by("leastrequested.weight", 1, "emptier nodes")
    most_requested: int = _set_by("mostrequested.weight", 0, "fuller nodes")
    balanced_resource: int = _set_by("balancedresource.weight", 1, "nodes whose resources are used evenly")
    taint_toleration: int = _set_by(
        "tainttoleration.weight", 3, "nodes with fewer taints that the pod would rather avoid"
    )
    pod_topology_spread: int = _set_by(
        "podtopologyspread.weight", 2, "nodes that spread the pods as they ask"
    )


@dataclass(frozen=True, kw_only=True)
class Predicates:
    """Which filters are enabled; those of resources, the pod count and unschedulable nodes always are."""

    node_affinity: bool = _set_by(
        "predicate.NodeAffinityEnable", True, "node selectors and required node affinity"
    )
    node_ports: bool = _set_by("predicate.NodePortsEnable", True, "ports of the host that are taken")
    taint_toleration: bool = _set_by(
        "predicate.TaintTolerationEnable", True, "taints that the pod does not tolerate"
    )
    pod_affinity: bool = _set_by(
        "predicate.PodAffinityEnable", True, "required affinity and anti-affinity to other pods"
    )
    pod_topology_spread: bool = _set_by("predicate.PodTopologySpreadEnable", True, "required topology spread")
    volume_binding: bool = _set_by(
        "predicate.VolumeBindingEnable", True, "volumes that only some nodes reach"
    )


@dataclass(frozen=True)
class Argument:
    """How an argument is typed, whether Maar does anything with it, and what it is for."""

    read: Callable[[object], object]
    has_effect: bool = True
    meaning: str = ""  # where it has an effect
    default: str = ""


@dataclass(frozen=True)
class PluginGrammar:
    """What a plugin does, its switches that have an effect, and its arguments."""

    meaning: str
    effective_switches: frozenset[str]
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    stands_for: str = ""  # the plugin that this is another name for


Tuned = type[BinPackWeights | NodeOrderWeights | Predicates]


def set_by(tuned: Tuned) -> dict[str, str]:
    """The fields that arguments set, by the argument's name."""
    return {one.metadata["argument"]: one.name for one in fields(tuned) if one.metadata}


def _arguments_of(tuned: Tuned, read: Callable[[object], object]) -> dict[str, Argument]:
    """The arguments that set the fields of a policy."""
    return {
        one.metadata["argument"]: Argument(
            read, meaning=one.metadata["meaning"], default=str(one.default).lower()
        )
        for one in fields(tuned)
        if one.metadata
    }


_WITHOUT_EFFECT: Final = {bool: Argument(boolean, has_effect=False), int: Argument(whole, has_effect=False)}

_OF_VOLCANOS_USAGE: Final = Argument(ignored, has_effect=False)
_OF_PROPORTION: Final = frozenset({"enableQueueOrder", "enabledAllocatable", "enableJobEnqueued"})

# The laws of eviction hold whatever is switched: no switch of gang or proportion turns them off.
PLUGINS: Final[Mapping[str, PluginGrammar]] = {
    "priority": PluginGrammar(
        "Orders jobs and pods by priority, and proposes pods of lower priority as victims of preempt.",
        frozenset({"enableJobOrder", "enableTaskOrder", "enablePreemptable"}),
    ),
    "gang": PluginGrammar(
        "Lets groups that are not ready yet come first, and starts gangs whole.",
        frozenset({"enableJobOrder", "enableJobReady"}),
    ),
    "conformance": PluginGrammar(
        "Protects pods that are critical to the system, and those in kube-system, from eviction.",
        frozenset({"enablePreemptable", "enableReclaimable"}),
    ),
    "overcommit": PluginGrammar(
        "Limits how much is admitted by the size of the cluster.",
        frozenset({"enableJobEnqueued"}),
        {
            FACTOR: Argument(
                number, meaning="times the size of the cluster that may be admitted", default="1.2"
            )
        },
    ),
    "drf": PluginGrammar(
        "Orders namespaces and jobs by their dominant share, and proposes victims of preempt by it.",
        frozenset({"enableJobOrder", "enablePreemptable"}),
    ),
    "predicates": PluginGrammar(
        "Filters the nodes that a pod may run on.",
        frozenset({"enablePredicate"}),
        _arguments_of(Predicates, boolean)
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
    "proportion": PluginGrammar(
        "Gives queues their fair shares: the order of queues, and what each may use.",
        _OF_PROPORTION,
    ),
    "capacity": PluginGrammar(
        "Volcano's name for proportion where queues are a tree with soft guarantees (spec.deserved).",
        _OF_PROPORTION,
        {
            "ancestorReclaimLevel": _WITHOUT_EFFECT[int],
            "capacity.DynamicResourceAllocationEnable": _WITHOUT_EFFECT[bool],
            "capacity.DRAConsumableCapacityEnable": _WITHOUT_EFFECT[bool],
        },
        stands_for="proportion",
    ),
    "nodeorder": PluginGrammar(
        "Scores nodes, as Kubernetes does.",
        frozenset({"enableNodeOrder"}),
        _arguments_of(NodeOrderWeights, whole) | {"imagelocality.weight": _WITHOUT_EFFECT[int]},
    ),
    "binpack": PluginGrammar(
        "Scores fuller nodes higher, so that whole nodes stay free.",
        frozenset({"enableNodeOrder"}),
        {
            **_arguments_of(BinPackWeights, whole),
            f"binpack.{CPU}": Argument(whole, meaning="how much CPUs count in it", default="1"),
            f"binpack.{MEMORY}": Argument(whole, meaning="how much memory counts in it", default="1"),
            BINPACK_RESOURCES: Argument(names, meaning="other resources that count, such as nvidia.com/gpu"),
            f"{BINPACK_RESOURCES}.{ANY_NAME}": Argument(
                whole, meaning="how much one of those resources counts", default="1"
            ),
        },
    ),
    "sla": PluginGrammar(
        "Not in the default. Holds room for groups that have waited long.",
        frozenset(),
        {
            SLA_WAITING_TIME: Argument(
                duration,
                meaning="how long a group waits before room is held for it; its annotation goes before this",
            ),
            SLA_DEPTH: Argument(
                positive, meaning="for how many groups at once room is held", default=str(USUAL_SLA_DEPTH)
            ),
        },
    ),
    "usage": PluginGrammar(
        "Not in the default. Lets queues and namespaces that used more than their part come later.",
        frozenset(),
        {
            HALF_LIFE: Argument(
                positive_duration, meaning="the time after which past use counts half", default="24h"
            ),
            STRENGTH: Argument(
                nonnegative_number, meaning="how much past use changes weights; 0 is not at all", default="1"
            ),
        }
        | dict.fromkeys(
            ("usage.weight", "cpu.weight", "memory.weight", "thresholds", "usageWeight"), _OF_VOLCANOS_USAGE
        )
        | dict.fromkeys((f"thresholds.{ANY_NAME}", f"usageWeight.{ANY_NAME}"), _OF_VOLCANOS_USAGE),
    ),
}

# Plugins of Volcano's that Maar does not have: a configuration that names them is accepted with a warning.
NOT_IN_MAAR: Final = frozenset({
    "cdp", "crossquota", "deviceshare", "extender", "fairshare", "network-topology-aware",
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
_OF_GANG_ACTIONS: Final = _OF_EVERY_ACTION | {
    "maxDomains": _WITHOUT_EFFECT[int],
    "allowWholeBundle": _WITHOUT_EFFECT[bool],
}
ACTION_ARGUMENTS: Final[Mapping[str, Mapping[str, Argument]]] = dict.fromkeys(ACTIONS, _OF_EVERY_ACTION) | {
    "gangpreempt": _OF_GANG_ACTIONS,
    "gangreclaim": _OF_GANG_ACTIONS,
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
    "cleanup": _OF_EVERY_ACTION
    | {
        GRACE: Argument(
            duration,
            meaning="how long a gang may stay incomplete before its pods are taken away",
            default="60s",
        )
    },
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
